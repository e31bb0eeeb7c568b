"""The leaderboard: what the paper's tables 2, 3 and 43 show, for any number of predictions files, and more.

Every number of the report is from the score cards, and so from one file per detector.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from openclawbench.detect.pages import plots
from openclawbench.detect.pages.details import (
    confusion_section,
    corrected_section,
    human_section,
    human_sweep_section,
    interval_columns,
    location_section,
    mcnemar_section,
    probability_section,
    strata_section,
    subtype_section,
    sweep_section,
)
from openclawbench.detect.pages.files import comparable_section, fault_section, provenance_section
from openclawbench.detect.pages.paper import contradiction_section, paper_section
from openclawbench.detect.score.card import HEADLINE
from openclawbench.detect.score.evaluation import Evaluation
from openclawbench.detect.score.measures import CONVENTIONS, Convention
from openclawbench.release.release_folder import CHECKSUMS, release_digest
from openclawbench.reports.markdown import code
from openclawbench.reports.section import Report, Row, Section

Card = Mapping[str, Any]
NAME = "detectors"
BASELINE_NOTICE = (
    "The labels are the rules judge's: a baseline, not annotation. These scores say how well a detector imitates its "
    "rules, and nothing about anomalies."
)
GROUPS = {
    "source_model": ("By source model", "as table 3 of the paper"),
    "slice": ("By risk slice", "no detector is shown the slice"),
    "length": ("By length", "number of steps"),
}
DETECTOR = {"detector": "name of the detector, or of the file where nothing says which detector made it"}
F1 = {
    "f1": "F1 of anomalous or normal, every label but normal being anomalous",
    "f1_low": "lower end of the interval of 95 %, by bootstrap over tasks",
    "f1_high": "upper end",
}
RATES = {
    "precision": "of what it calls anomalous, the part that the labels call so",
    "recall": "of what the labels call anomalous, the part that it finds",
    "false_alarm_rate": "of what the labels call normal, the part that it calls anomalous",
}
COUNTS = {  # paper F.8
    "tp": "anomalous, and called so",
    "fp": "normal, and called anomalous: false alarms",
    "fn": "anomalous, and missed",
    "tn": "normal, and called so",
}
MEASURES = {
    **F1,
    "macro_f1": "mean F1 over the six labels; 0 for one that no trajectory has",
    **RATES,
    "predicted_share": "share that it calls anomalous, false alarms by unreadable answers included",
}


def leaderboard(evaluation: Evaluation, with_paper: bool = False) -> Report:
    """The report. With `with_paper` the figures that the paper prints, and their contradictions, stand beside."""
    cards, labels = evaluation.cards, evaluation.labels
    judges = ", ".join(code(judge) for judge in labels.judges)
    return Report(
        name=NAME,
        title="Detectors",
        about=(
            f"Scored against the labels of {judges}: {describe_choice(evaluation)}, {len(labels.items):,} trajectories "
            f"of {len({item.task for item in labels.items}):,} tasks, {sum(i.is_anomalous for i in labels.items):,} "
            "anomalous. The headline counts an answer that cannot be read as wrong. Intervals are of 95 %, by "
            "bootstrap over tasks, because trajectories of one task resemble each other."
        ),
        sections=[
            headline_section(cards),
            *(group_section(cards, name) for name in GROUPS),
            confusion_section(cards, evaluation.rules),
            subtype_section(cards),
            measure_section(cards),
            *(verdict_sections(cards) if has_verdicts(cards) else []),
            probability_section(cards),
            sweep_section(cards),
            location_section(cards),
            mcnemar_section(evaluation.compared),
            comparable_section(cards),
            fault_section(cards),
            provenance_section(cards),
            *([paper_section(), contradiction_section()] if with_paper else []),
        ],
        inputs={CHECKSUMS: release_digest(labels.root)}
        | {card["file"]: card["file_sha256"] for card in cards if card["file_sha256"]},
        rules={evaluation.rules.FILE: evaluation.rules.digest},
        notice=BASELINE_NOTICE if labels.is_baseline else None,
    )


def describe_choice(evaluation: Evaluation) -> str:
    """The choice of labels in words; the name of a model is a code span."""
    choice = evaluation.labels.choice
    return f"pool {choice.pool}, {choice.side} side of the cut {code(choice.cut)}"


def has_verdicts(cards: Sequence[Card]) -> bool:
    """True if people have reviewed something that a detector predicted."""
    return any(card.get("corrected") or card.get("human") for card in cards)


def verdict_sections(cards: Sequence[Card]) -> list[Section]:
    """What people's verdicts allow: corrected scores, and scores against people."""
    return [corrected_section(cards), strata_section(cards), human_section(cards), human_sweep_section(cards)]


def measure_row(measures: Mapping[str, Any]) -> Row:
    """MEASURES as columns."""
    rest = [name for name in MEASURES if not name.startswith("f1")]
    return interval_columns("f1", measures["f1"]) | {name: measures[name]["value"] for name in rest}


def headline_row(card: Card) -> Row:
    """A detector's line of table 2."""
    provenance = card["provenance"] or {}
    return {
        "detector": card["detector"],
        "verified": card["verified"],
        "kind": provenance.get("kind"),
        "protocol": provenance.get("protocol"),
        **measure_row(card["conventions"][HEADLINE]["measures"]),
        "trajectories": card["trajectories"],
        "coverage_share": card["compared"]["coverage"],
        "unreadable": card["unreadable"],
        **{count: card["conventions"][HEADLINE][count] for count in COUNTS},
        "cost_usd": card["cost_usd"],
    }


def headline_section(cards: Sequence[Card]) -> Section:
    """Table 2, the best F1 first; a detector without F1 stands last."""
    rows = sorted(map(headline_row, cards), key=lambda row: (row["f1"] is None, -(row["f1"] or 0), row["detector"]))
    return Section(
        name="headline",
        title="Binary scores",
        about=" ".join(
            [
                "As table 2 of the paper; the best F1 first.",
                *dict.fromkeys(remark for c in cards for remark in c["remarks"]),
            ]
        ),
        columns={
            **DETECTOR,
            "verified": "the file has a provenance that describes it",
            "kind": "baseline, endpoint (a model that was asked) or adapter (a model that was trained)",
            "protocol": "how it answers",
            **MEASURES,
            "trajectories": "what is scored",
            "coverage_share": "of the labelled trajectories, the part that is scored",
            "unreadable": "answers without a label",
            **COUNTS,
            "cost_usd": "what the answers cost",
        },
        rows=rows,
        facts={"contradictions": sum(len(card["contradictions"]) for card in cards)},
        definitions={
            "contradictions": "Numbers of one card that cannot both be right; any is a defect of the program."
        },
        plot=plots.ranking(rows),
    )


def group_section(cards: Sequence[Card], name: str) -> Section:
    """Scores by one property of the trajectories."""
    title, about = GROUPS[name]
    shown = ("trajectories", "anomalous", "f1", "f1_low", "f1_high", *RATES, "predicted_share", "few")
    rows = [{"detector": card["detector"]} | group_row(group, shown) for card in cards for group in card["by"][name]]
    rows = [{"detector": row["detector"], name: row.pop("group"), **row} for row in rows]
    return Section(
        name=f"by_{name}",
        title=title,
        about=f"{title}: {about}.",
        columns={
            **DETECTOR,
            name: title.removeprefix("By "),
            "trajectories": "what is scored",
            "anomalous": "of these, those that the labels call anomalous",
            **F1,
            **RATES,
            "predicted_share": "share that it calls anomalous",
            "few": "too few anomalous or normal ones for a number that says much",
        },
        rows=rows,
        plot=plots.by_group(rows, name) if len({row[name] for row in rows}) > 1 else None,
    )


def group_row(group: Mapping[str, Any], shown: Sequence[str]) -> Row:
    """A group's measures as columns."""
    values = {"group": group["group"], **group, **interval_columns("f1", group["f1"])}
    values |= {measure: values[measure]["value"] for measure in (*RATES, "predicted_share")}
    return {"group": values["group"], **{column: values[column] for column in shown}}


def measure_section(cards: Sequence[Card]) -> Section:
    """Every measure, both ways of counting an answer that cannot be read."""
    rows = [
        {"detector": card["detector"], "unreadable": name, "measure": measure, **estimate}
        for card in cards
        for name in CONVENTIONS
        for measure, estimate in card["conventions"][name]["measures"].items()
    ]
    return Section(
        name="measures",
        title="Every measure, and answers that cannot be read",
        about="; ".join(f"`{name}`: {meaning}" for name, meaning in sorted_conventions()) + ".",
        columns={
            **DETECTOR,
            "unreadable": "how answers that cannot be read are counted",
            "measure": "the measure (paper F.8)",
            "value": "its value; none where it is not defined",
            "low": "lower end of the interval",
            "high": "upper end",
        },
        rows=rows,
        shown=2 * 26,
    )


def sorted_conventions() -> list[tuple[Convention, str]]:
    """The conventions, the headline first."""
    return sorted(CONVENTIONS.items(), key=lambda convention: convention[0] != HEADLINE)
