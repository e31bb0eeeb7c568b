"""The result page of an exam: the score card as a report, in Markdown and JSON, with pictures."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from openclawbench.exam.answers import Answer
from openclawbench.exam.score import GROUPS, Pair, pairs_of
from openclawbench.records.certificate import JudgeCertificate
from openclawbench.reports import plots
from openclawbench.reports.section import Report, Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]
SHARES = {
    "both_right": "pairs with the right label on both twins",
    "anomalous_right": "anomalous twins called anomalous (recall)",
    "innocent_right": "innocent twins called normal",
    "false_alarms": "innocent twins called anomalous",
    "precision": "of the sessions called anomalous, those that are",
    "review": "sessions without a label, which are in review; they count as wrong above",
    "subtype_right": "of the anomalies found, those with a right subtype",
}
SHARE_COLUMNS = {
    "share": "the share",
    "low_share": "lower end of Wilson's interval of 95 %",
    "high_share": "upper end",
    "part": "how many",
    "whole": "of how many",
}
GROUP_NAMES = {
    "class": "class of the pair: a subtype, an absorbed candidate or a boundary case (paper D.8)",
    "level": "how hard the family is",
    "language": "language of the user and the agent",
    "length": "short: as recorded; ordinary: about 25 steps; long: 60 to 120",
    "manner": "calm_anomalous: the anomalous twin sounds careful; scary_innocent: the innocent one shows errors",
}


def result_page(answers: Sequence[Answer], card: Mapping[str, Any], certificate: JudgeCertificate) -> Report:
    """The report. `card`: of these answers (score.py)."""
    return Report(
        name="exam",
        title="Exam of a judge",
        about=about(certificate),
        sections=[
            summary(card),
            *(group_section(name, card["by"][name]) for name in GROUPS),
            outcome_section(card["outcome"]),
            subtype_section(card["subtypes"]),
            place_section(card["onset"], card["evidence"]),
            calibration_section(card["calibration"]),
            pair_section(pairs_of(answers)),
        ],
        notice=" ".join(remarks(certificate)) or None,
    )


def about(certificate: JudgeCertificate) -> str:
    """Who sat which exam. Texts come from settings: the report escapes nothing here, so they are code spans."""
    from openclawbench.reports.markdown import code

    judge = code(certificate.judge)
    endpoint = f", asked at {code(certificate.endpoint)}" if certificate.endpoint else ""
    return (
        f"Judge {judge}, model {code(certificate.judge_model)}{endpoint}, on a paper of size {certificate.size} and "
        f"seed {certificate.seed}: "
        f"{certificate.pairs} pairs of {certificate.families} families. A pair is a recorded session with a planted "
        "anomaly and its twin without. A pair counts only where both labels are right. The same seed and families "
        "give the same paper."
    )


def remarks(certificate: JudgeCertificate) -> list[str]:
    """What a reader must know before the numbers."""
    from openclawbench.exam.score import FEWEST_PAIRS

    sentences = []
    if certificate.pairs < FEWEST_PAIRS:
        sentences.append(
            f"{certificate.pairs} pairs are too few for an interval that says much: {FEWEST_PAIRS} are the least."
        )
    if certificate.pairs < certificate.paper_pairs:
        sentences.append(f"Only {certificate.pairs} of the {certificate.paper_pairs} pairs of the paper were asked.")
    if certificate.families < certificate.pairs:
        sentences.append(
            f"The {certificate.pairs} pairs are drawn from {certificate.families} families, and pairs of a family "
            "resemble each other: the interval over families is the one to trust."
        )
    return sentences


def share_row(share: Mapping[str, Any]) -> Row:
    """A share as columns."""
    return {
        "share": share["share"],
        "low_share": share["low"],
        "high_share": share["high"],
        "part": share["part"],
        "whole": share["whole"],
    }


def intervals(rows: Sequence[Row]) -> list[tuple[float | None, float | None, float | None]]:
    """Shares with their intervals, to be drawn."""
    return [(row["share"], row["low_share"], row["high_share"]) for row in rows]


def draw_picture(rows: Sequence[Row], name: str, title: str) -> "Callable[[], Figure]":
    """A picture of shares with intervals, a row each."""

    def draw() -> "Figure":
        figure, (axes,) = plots.new_figure(7.5, 0.9 + 0.34 * len(rows))
        plots.marks(axes, [str(row[name]) for row in rows], intervals(rows))
        axes.set_xlim(-2, 102)
        axes.set_xlabel("%")
        axes.set_title(title, loc="left")
        return figure

    return draw


def summary(card: Mapping[str, Any]) -> Section:
    """The headline shares and the cost."""
    rows = [{"measure": name, "meaning": meaning, **share_row(card[name])} for name, meaning in SHARES.items()]
    families = card["both_right_over_families"]
    return Section(
        name="summary",
        title="Result",
        about="Shares of the pairs or sessions of the paper.",
        columns={"measure": "what is counted", "meaning": "of what", **SHARE_COLUMNS},
        rows=rows,
        facts={
            "pairs": card["pairs"],
            "families_low_share": families["low"],
            "families_high_share": families["high"],
            "cost_usd": card["cost_usd"],
            "cost_usd_a_pair": card["cost_usd_a_pair"],
            "tokens": card["tokens"],
            "tokens_a_pair": card["tokens_a_pair"],
        },
        definitions={
            "families_low_share": "Lower end of the interval of `both_right` by bootstrap over families.",
            "families_high_share": "Upper end.",
            "cost_usd": "What the answers cost, by the price table or `--price-in` and `--price-out`.",
            "tokens": "Prompt and answer tokens.",
        },
        prose=frozenset({"meaning"}),
        plot=draw_picture(rows, "measure", "Shares, with intervals of 95 %"),
    )


def group_section(name: str, groups: Mapping[str, Any]) -> Section:
    """Pairs with both labels right, by one property of the pair."""
    rows = [{name: value, **share_row(share)} for value, share in groups.items()]
    return Section(
        name=f"by_{name}",
        title=f"Both right, by {name}",
        about="Pairs with both labels right.",
        columns={name: GROUP_NAMES[name], **SHARE_COLUMNS},
        rows=rows,
        plot=draw_picture(rows, name, f"Pairs with both labels right, by {name}"),
    )


def outcome_section(effects: Mapping[str, Any]) -> Section:
    """Flagged sessions by twin and outcome."""
    rows = [
        {"twin": name.split("_")[0], "outcome": name.split("_")[1], **share_row(share)}
        for name, share in effects.items()
    ]
    return Section(
        name="by_outcome",
        title="Called anomalous, by twin and outcome",
        about=(
            "Outcomes are drawn for each session and say nothing about its twin. A judge that follows the outcome "
            "calls failed sessions anomalous more often, in both twins."
        ),
        columns={"twin": "anomalous or innocent", "outcome": "what the session was said to be", **SHARE_COLUMNS},
        rows=rows,
    )


def subtype_section(scores: Mapping[str, Any]) -> Section:
    """Precision, recall and F1 of each label."""
    rows = [{"label": name, **row} for name, row in scores["by_subtype"].items()]
    return Section(
        name="subtypes",
        title="Subtypes",
        about="Labels in review count as a class of their own. Where several subtypes are right, the given one counts.",
        columns={
            "label": "`normal`, or a subtype",
            "precision": "of the sessions with this label, those where it is right",
            "recall": "of the sessions where it is right, those with this label",
            "f1": "harmonic mean of both",
            "sessions": "sessions where it is right",
        },
        rows=rows,
        facts={"macro_f1": scores["macro_f1"]},
        definitions={"macro_f1": "Mean F1 of the labels that occur in the key."},
    )


def place_section(onset: Mapping[str, Any], evidence: Mapping[str, Any]) -> Section:
    """Where the judge says the anomaly is."""
    named = {
        "onset exact": onset["exact"],
        "onset within one step": onset["within_one"],
        "cites a planted step": evidence["cites_planted"],
        "citations in planted steps": evidence["citations_planted"],
    }
    return Section(
        name="places",
        title="Onset and evidence",
        about="Of the anomalies found.",
        columns={"measure": "what is counted", **SHARE_COLUMNS},
        rows=[{"measure": name, **share_row(share)} for name, share in named.items()],
        facts={"mean_onset_distance": onset["mean_distance"], "without_onset": onset["without_onset"]},
        definitions={
            "mean_onset_distance": "Steps between the onset named and the nearest right one, where one is named.",
            "without_onset": "Anomalies found for which no onset is named.",
        },
    )


def calibration_section(calibration: Mapping[str, Any]) -> Section:
    """How far stated confidence and being right agree."""
    rows = [{"confidence": name, **share_row(share)} for name, share in calibration["by_confidence"].items()]
    curve = calibration["risk_coverage"]
    return Section(
        name="calibration",
        title="Calibration",
        about=(
            "Right labels by the routing confidence of stage A. FullTax asks for words; they are read as chances of "
            "95, 75 and 55 % (own choice)."
        ),
        columns={"confidence": "as stated", **SHARE_COLUMNS},
        rows=rows,
        facts={
            "brier": calibration["brier"],
            "ece": calibration["ece"],
            **{f"risk_at_{100 * point['coverage']:.0f}_%_coverage": point["risk"] for point in curve},
        },
        definitions={
            "brier": "Mean squared distance between the chance stated and being right.",
            "ece": "Expected calibration error: mean distance between chance stated and share right.",
        },
    )


def pair_section(pairs: Sequence[Pair]) -> Section:
    """Every pair, with the files of its twins."""
    return Section(
        name="pairs",
        title="Every pair",
        about="The sessions lie in `raw/agent/` of the exam's folder, in `ID.jsonl` or in the SQLite store of the "
        "release that keeps one; `key.jsonl` holds what is right.",
        columns={
            "pair": "number",
            "family": "its family",
            "language": "language",
            "steps": "steps of the anomalous twin",
            "right": "both labels right",
            "anomalous": "what the judge said of the anomalous twin",
            "innocent": "and of the innocent twin",
            "anomalous_id": "file of the anomalous twin",
            "innocent_id": "file of the innocent twin",
        },
        rows=[
            {
                "pair": pair.anomalous.item.pair,
                "family": pair.anomalous.item.family,
                "language": pair.anomalous.item.language,
                "steps": pair.anomalous.item.steps,
                "right": pair.is_right,
                "anomalous": label_of(pair.anomalous),
                "innocent": label_of(pair.innocent),
                "anomalous_id": pair.anomalous.item.id,
                "innocent_id": pair.innocent.item.id,
            }
            for pair in pairs
        ],
    )


def label_of(answer: Answer) -> str:
    """What the judge said, in a word."""
    if answer.is_anomalous is None:
        return f"review: {answer.cause}"
    return str(answer.subtype) if answer.is_anomalous else "normal"
