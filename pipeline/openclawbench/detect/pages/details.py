"""Sections of the leaderboard below the headline: confusion, subtypes, corrected scores, probabilities, onsets."""

from collections.abc import Mapping, Sequence
from typing import Any

from openclawbench.detect.pages import plots
from openclawbench.detect.score.card import HEADLINE
from openclawbench.detect.score.corrected import prior_words
from openclawbench.detect.settings import LABELS, DetectRules
from openclawbench.reports.section import Row, Section

Card = Mapping[str, Any]
DETECTOR = {"detector": "name of the detector"}
ENDS = {"low": "lower end of the interval", "high": "upper end"}


def confusion_section(cards: Sequence[Card], rules: DetectRules) -> Section:
    """Table 43: rows are labels, columns predictions."""
    names = {rule.name: rule.short for rule in rules.labels}
    rows = []
    for card in cards:
        for label, counts in zip(LABELS, card["confusion"], strict=True):
            support, hits = sum(counts), counts[LABELS.index(label)]
            predicted_counts = dict(zip([*names.values(), "unreadable"], counts, strict=True))
            share = {"support": support, "recall": hits / support if support else None}
            rows.append({"detector": card["detector"], "label": label, **predicted_counts, **share})
    return Section(
        name="confusion",
        title="Confusion",
        about="As table 43 of the paper: a row a label, a column what the detector says.",
        columns={
            **DETECTOR,
            "label": "the label",
            **{short: f"predicted {name}" for name, short in names.items()},
            "unreadable": "answers without a label",
            "support": "trajectories with the label",
            "recall": "of these, the part with the same label",
        },
        rows=rows,
        plot=plots.confusions(cards, list(names.values())),
    )


def subtype_section(cards: Sequence[Card]) -> Section:
    """F1 of each label."""
    rows = []
    for card in cards:
        measures = card["conventions"][HEADLINE]["measures"]
        rows += [
            {"detector": card["detector"], "label": label, "support": card["support"][label], **f1_of(measures, label)}
            for label in LABELS
        ]
    return Section(
        name="subtypes",
        title="By label",
        about="F1 of each of the six labels against all others; none where the label does not occur.",
        columns={**DETECTOR, "label": "the label", "support": "trajectories with it", "f1": "F1", **ENDS},
        rows=rows,
    )


def f1_of(measures: Mapping[str, Any], label: str) -> Row:
    """F1 of a label with its interval."""
    f1 = measures[f"f1_{label}"]
    return {"f1": f1["value"], "low": f1["low"], "high": f1["high"]}


def corrected_section(cards: Sequence[Card]) -> Section:
    """Scores against silver labels beside scores corrected by human verdicts."""
    rows = []
    for card in cards:
        silver = card["conventions"][HEADLINE]["measures"]
        for name, corrected in (card.get("corrected") or {"measures": {}})["measures"].items():
            ends = {"silver_low": silver[name]["low"], "silver_high": silver[name]["high"]}
            uncorrected = {"silver": silver[name]["value"], **ends, "corrected": corrected["value"]}
            rows.append(
                {"detector": card["detector"], "measure": name, **uncorrected, **pick(corrected, "low", "high")}
            )
    corrected_cards = [card for card in cards if card.get("corrected")]
    prior = [f" {card['detector']}: {words}" for card in corrected_cards if (words := prior_words(card["corrected"]))]
    return Section(
        name="corrected",
        title="Corrected by verdicts of people",
        about=(
            "Labels err, so scores against them err. In each stratum (risk slice, label, what the detector says) the "
            "verdicts say how many are really anomalous (Jeffreys draws); the scored trajectories are shared out so."
            + "".join(prior)
        ),
        columns={
            **DETECTOR,
            "measure": "the measure",
            "silver": "against the labels",
            "silver_low": "lower end of its interval, by bootstrap over tasks",
            "silver_high": "upper end",
            "corrected": "against what people would say",
            "low": "lower end of its interval, over tasks and verdicts",
            "high": "upper end",
        },
        rows=rows,
    )


def strata_section(cards: Sequence[Card]) -> Section:
    """The strata of the correction."""
    rows = [
        {"detector": card["detector"], **row}
        for card in cards
        for row in (card.get("corrected") or {"strata": []})["strata"]
    ]
    return Section(
        name="strata",
        title="Verdicts by stratum",
        about="What the correction rests on. Few verdicts make wide intervals.",
        columns={
            **DETECTOR,
            "stratum": "risk slice, label, and what the detector says",
            "trajectories": "scored trajectories of the stratum",
            "human_anomalous": "verdicts that say anomalous",
            "human_normal": "verdicts that say normal",
            "borrowed": "no verdict of its own: those of the slice and label are used, whatever the detector says; "
            "where there is none either, one half with its whole width",
        },
        rows=rows,
    )


def human_section(cards: Sequence[Card]) -> Section:
    """The human subset, apart from silver labels."""
    rows = [human_row(card) for card in cards if card.get("human")]
    return Section(
        name="human",
        title="Against people",
        about=(
            "On trajectories with a settled verdict of people and a prediction; apart from the silver test. Slices "
            "have the shares of the sample that was reviewed, which need not be those of the corpus."
        ),
        columns={
            **DETECTOR,
            "trajectories": "with a verdict and a prediction",
            "anomalous": "of these, those that people call anomalous",
            "f1": "F1",
            **ENDS,
            "precision": "precision",
            "recall": "recall",
            "false_alarm_rate": "false alarms",
            "macro_f1": "macro F1",
        },
        rows=rows,
    )


def human_row(card: Card) -> Row:
    """A detector's scores against human labels."""
    human = card["human"]
    measures = human["conventions"][HEADLINE]["measures"]
    f1 = measures["f1"]
    rest = {name: measures[name]["value"] for name in ("precision", "recall", "false_alarm_rate", "macro_f1")}
    counts = {"trajectories": human["trajectories"], "anomalous": human["anomalous"]}
    return {"detector": card["detector"], **counts, "f1": f1["value"], **pick(f1, "low", "high"), **rest}


def probability_section(cards: Sequence[Card]) -> Section:
    """Areas and calibration of detectors with probabilities, and their curves."""
    rated = [card for card in cards if card["probabilities"]]
    rows = []
    for card in rated:
        probabilities = card["probabilities"]
        outside = probabilities["outside_mass"] or {"mean": None, "largest": None}
        rows.append(
            {
                "detector": card["detector"],
                "trajectories": probabilities["of"],
                "roc_auc": probabilities["roc_auc"],
                "average_precision": probabilities["average_precision"],
                "brier": probabilities["brier"]["value"],
                **pick(probabilities["brier"], "low", "high"),
                "brier_six": probabilities["brier_six"]["value"],
                "ece": probabilities["ece"],
                "outside_mean": outside["mean"],
                "outside_largest": outside["largest"],
            }
        )
    return Section(
        name="probabilities",
        title="Probabilities",
        about="Of the score 1 - p(normal), for detectors that give probabilities.",
        columns={
            **DETECTOR,
            "trajectories": "with probabilities",
            "roc_auc": "area under the ROC curve",
            "average_precision": "area under the precision-recall curve",
            "brier": "Brier score of anomalous or normal",
            **ENDS,
            "brier_six": "Brier score over the six labels, from 0 to 2",
            "ece": "expected calibration error",
            "outside_mean": "mean probability that lay outside the six symbols before scaling",
            "outside_largest": "the largest",
        },
        rows=rows,
        plot=plots.curves(rated) if any(card["probabilities"]["pr_curve"] for card in rated) else None,
    )


SWEPT = ("threshold", "f1", "precision", "recall", "false_alarm_rate", "predicted_share", "accuracy")


SWEPT_COLUMNS = {
    **DETECTOR,
    "threshold": "the threshold",
    "f1": "F1",
    "precision": "precision",
    "recall": "recall",
    "false_alarm_rate": "false alarms",
    "predicted_share": "share that is called anomalous",
    "accuracy": "agreement with the labels, or with people",
}


def swept_rows(cards: Sequence[tuple[str, Card]]) -> list[Row]:
    """One row per threshold of each (detector, scores) with probabilities."""
    return [
        {"detector": detector, **pick(row, *SWEPT)}
        for detector, scores in cards
        if scores["probabilities"]
        for row in scores["probabilities"]["sweep"]
    ]


def sweep_section(cards: Sequence[Card]) -> Section:
    """Measures at each threshold (paper F.9)."""
    return Section(
        name="sweep",
        title="Thresholds",
        about="Anomalous where 1 - p(normal) reaches the threshold. Choose one on other trajectories than these.",
        columns=SWEPT_COLUMNS,
        rows=swept_rows([(card["detector"], card) for card in cards]),
        plot=plots.reliability([card for card in cards if card["probabilities"]]),
    )


def human_sweep_section(cards: Sequence[Card]) -> Section:
    """Measures at each threshold on the human subset (paper F.8)."""
    return Section(
        name="human_sweep",
        title="Thresholds, against people",
        about=(
            "The same on trajectories with a verdict of people, as F.8 asks. A threshold that is chosen here must be "
            "stated; this page chooses none."
        ),
        columns=SWEPT_COLUMNS,
        rows=swept_rows([(card["detector"], card["human"]) for card in cards if card.get("human")]),
    )


def location_section(cards: Sequence[Card]) -> Section:
    """Onsets and spans."""
    rows = []
    for card in cards:
        for over in ("of_all", "of_found") if card["location"] else ():
            onset, span = card["location"]["onset"][over], card["location"]["span"][over]
            rows.append(
                {
                    "detector": card["detector"],
                    "over": over,
                    "onsets": onset["trajectories"],
                    "with_onset": onset["with_onset"],
                    **interval_columns("exact", onset["exact"]),
                    "within_one": onset["within_one"]["value"],
                    "mean_distance": onset["mean_distance"]["value"],
                    "spans": span["trajectories"],
                    **interval_columns("mean_iou", span["mean_iou"]),
                }
            )
    return Section(
        name="location",
        title="Onset and span",
        about=(
            "On anomalous trajectories, for detectors that name steps. `of_all`: a missed anomaly or onset counts as "
            "wrong; `of_found`: of the anomalies that the detector finds."
        ),
        columns={
            **DETECTOR,
            "over": "over which trajectories",
            "onsets": "trajectories with an annotated onset",
            "with_onset": "of these, those with a predicted one",
            "exact": "share with the same step",
            "exact_low": "lower end of its interval, by bootstrap over tasks",
            "exact_high": "upper end",
            "within_one": "share within one step",
            "mean_distance": "steps between the two, where both are named",
            "spans": "trajectories with an annotated span",
            "mean_iou": "mean overlap: intersection over union of the steps",
            "mean_iou_low": "lower end of its interval",
            "mean_iou_high": "upper end",
        },
        rows=rows,
    )


def mcnemar_section(compared: Sequence[Mapping[str, Any]]) -> Section:
    """Each pair of detectors."""
    return Section(
        name="mcnemar",
        title="One detector against another",
        about=(
            "Who is right about anomalous or normal, on the trajectories of both; McNemar's exact test. It takes "
            "trajectories as independent, which those of one task are not: p is too small where tasks have several."
        ),
        columns={
            "first": "one detector",
            "second": "the other",
            "pairs": "trajectories of both",
            "only_first": "only the first is right",
            "only_second": "only the second is right",
            "p_value": "probability of a difference as large by chance",
        },
        rows=[dict(row) for row in compared],
    )


def interval_columns(name: str, estimate: Mapping[str, Any]) -> Row:
    """A measure with its interval."""
    return {name: estimate["value"], f"{name}_low": estimate["low"], f"{name}_high": estimate["high"]}


def pick(row: Mapping[str, Any], *names: str) -> Row:
    """These columns of a row."""
    return {name: row[name] for name in names}
