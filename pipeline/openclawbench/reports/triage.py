"""The triage report: how many of Stage A's negatives Stage B1 would call anomalous (paper E.3).

A sample of Stage A's negatives, chosen by a hash of the trajectory key, goes through B1 as well, with the purpose
`triage_escape_audit`. Its answers appear in this report and in the raw answers; no label depends on them.
"""

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from openclawbench.fulltax.requests import ESCAPE_AUDIT, LABEL
from openclawbench.records.fulltax import DecisionA, DecisionB1
from openclawbench.records.second_pass import PASS2
from openclawbench.reports import plots
from openclawbench.reports.measures import proportion
from openclawbench.reports.section import Report, Row, Section, Tables
from openclawbench.reports.settings import AgreementRules
from openclawbench.rules.fulltax.control import ControlRules
from openclawbench.tables.record import TRAJECTORY_KEY, Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "triage"
READS: list[type[Record]] = [DecisionA, DecisionB1]
READS_PASS2: list[type[Record]] = [PASS2[record] for record in READS]
COLUMNS = {
    "annotation_pass": "1, or 2 where there is a second pass",
    "source_model": "source model, or all",
    "judged": "trajectories with a readable Stage A answer",
    "routed": "of these, those that go on to B1: routed there, or negative with low confidence",
    "review": "of these, those that Stage A sends to review",
    "negatives": "the others: Stage A's negatives, which end as normal; the sample is drawn from them",
    "sampled": "negatives that also went through B1",
    "unread": "of these, those without a readable B1 answer",
    "undecided": "of these, those that B1 does not decide",
    "decided": "of these, the others",
    "escapes": "of `decided`, those that B1 calls anomalous",
    "escape_share": "`escapes` of `decided`",
    "low_share": "lower end of its Wilson interval",
    "high_share": "upper end",
    "exact_low_share": "lower end of its exact interval (Clopper and Pearson)",
    "exact_high_share": "upper end",
    "estimated_escapes": "`escape_share` times `negatives`: anomalies that Stage A misses, if B1 is right",
    "estimated_low": "the same with the lower end of the Wilson interval",
    "estimated_high": "the same with its upper end",
}


def triage_report(tables: Tables, second: bool) -> Report:
    """The report, from the tables of READS, and of READS_PASS2 if `second` says that there is a second pass. Raises
    NotFound (from `tables`) if one is stale."""
    rules, control = AgreementRules.load(), ControlRules.load()
    passes = {1: READS} | ({2: READS_PASS2} if second else {})
    trajectories = {number: triage_answers(tables, *records) for number, records in passes.items()}
    return Report(
        name=NAME,
        title="Triage report",
        about="What Stage A routes, and what escapes it. A sample of its negatives "
        f"({100 * control.triage_escape_audit_share:g} % of them, chosen by a hash of the trajectory key) goes through "
        "Stage B1 too; what B1 says of them appears here and changes no label. Intervals are at "
        f"{100 * rules.confidence:g} %.",
        sections=[escape_rate(trajectories, rules), escapes(trajectories, rules)],
        rules={rules.FILE: rules.digest, control.FILE: control.digest},
    )


def triage_answers(tables: Tables, triage: type[Record], subtypes: type[Record]) -> pl.DataFrame:
    """One row per trajectory that Stage A judged: its answer, the purpose of its B1 request (null: none), and B1's
    answer."""
    answer = pl.col("answer").struct
    routes = tables(triage).select(
        *TRAJECTORY_KEY,
        route_label=answer.field("route_label"),
        routing_confidence=answer.field("routing_confidence"),
        reasoning_summary=answer.field("reasoning_summary"),
    )
    audited = tables(subtypes).select(
        *TRAJECTORY_KEY,
        "purpose",
        "outcome",
        is_anomalous=answer.field("trajectory_is_anomalous"),
        anomaly_type_l2=answer.field("anomaly_type_l2"),
        annotator_rationale=answer.field("annotator_rationale"),
    )
    return routes.join(audited, on=TRAJECTORY_KEY, how="left").sort(TRAJECTORY_KEY).collect()


def escape_counts(rows: pl.DataFrame, annotation_pass: int, model: str, rules: AgreementRules) -> Row:
    """A row of COLUMNS, of one source model or of all."""
    judged = rows.filter(pl.col("route_label").is_not_null())
    routed = judged.filter(pl.col("purpose").eq(LABEL).fill_null(False)).height
    review = judged.filter(pl.col("route_label") == "review").height
    sample = judged.filter(pl.col("purpose") == ESCAPE_AUDIT)
    unread = sample.filter(pl.col("outcome") != "parsed").height
    decided = sample.filter(pl.col("is_anomalous").is_not_null())
    escaped, negatives = int(decided["is_anomalous"].sum()), judged.height - routed - review
    wilson = proportion(escaped, decided.height, rules.confidence)
    exact = proportion(escaped, decided.height, rules.confidence, "exact")
    return {
        "annotation_pass": annotation_pass,
        "source_model": model,
        "judged": judged.height,
        "routed": routed,
        "review": review,
        "negatives": negatives,
        "sampled": sample.height,
        "unread": unread,
        "undecided": sample.height - unread - decided.height,
        "decided": decided.height,
        "escapes": escaped,
        "escape_share": wilson.value,
        "low_share": wilson.low,
        "high_share": wilson.high,
        "exact_low_share": exact.low,
        "exact_high_share": exact.high,
        "estimated_escapes": times(wilson.value, negatives),
        "estimated_low": times(wilson.low, negatives),
        "estimated_high": times(wilson.high, negatives),
    }


def times(share: float | None, total: int) -> float | None:
    """share * total, rounded to one place; None if the share is None."""
    return None if share is None else round(share * total, 1)


def escape_rate(passes: dict[int, pl.DataFrame], rules: AgreementRules) -> Section:
    """The escape rate of each pass, over the corpus and over each source model."""
    rows = []
    for number, trajectories in passes.items():
        rows.append(escape_counts(trajectories, number, "all", rules))
        models = trajectories["source_model"].unique().sort()
        rows += [escape_counts(trajectories.filter(source_model=model), number, model, rules) for model in models]
    total = rows[0]
    left_out = ("annotation_pass", "source_model", "judged", "routed", "review", "unread", "undecided")
    shown = [name for name in COLUMNS if name not in left_out]
    return Section(
        name="escape_rate",
        title="Escapes of the triage",
        about="judged = routed + review + negatives; sampled = unread + undecided + decided. The estimate assumes "
        "that B1 is right and that the sample is drawn evenly. A rate of 0 still has an upper end.",
        columns=COLUMNS,
        rows=rows,
        facts={name: total[name] for name in shown},
        definitions={name: f"First pass, all models: {COLUMNS[name]}." for name in shown},
        plot=partial(picture, rows),
    )


def escapes(passes: dict[int, pl.DataFrame], rules: AgreementRules) -> Section:
    """Every sampled negative that B1 calls anomalous or does not decide."""
    columns = {
        "annotation_pass": "pass",
        "source_model": "source model",
        "trajectory_id": "trajectory",
        "b1": "anomalous, undecided, or unread: the answer could not be read",
        "anomaly_type_l2": "subtype that B1 names",
        "routing_confidence": "Stage A's confidence",
        "annotator_rationale": "B1's reason",
        "reasoning_summary": "Stage A's reason",
    }
    rows: list[Row] = []
    for number, trajectories in passes.items():
        unread, undecided = pl.col("outcome") != "parsed", pl.col("is_anomalous").is_null()
        outcome = pl.when(unread).then(pl.lit("unread")).when(undecided).then(pl.lit("undecided"))
        sample = trajectories.filter(pl.col("purpose") == ESCAPE_AUDIT).filter(pl.col("is_anomalous").fill_null(True))
        rows += (
            sample.with_columns(b1=outcome.otherwise(pl.lit("anomalous")), annotation_pass=pl.lit(number))
            .select(*columns)
            .to_dicts()
        )
    return Section(
        name="escapes",
        title="Sampled negatives that B1 does not call normal",
        about="Their labels stay as they are: the sample measures how often the triage errs. "
        "`openclawbench explain ID` shows what Stage A saw.",
        columns=columns,
        rows=rows,
        shown=rules.escape_rows,
    )


def picture(rows: list[Row]) -> "Figure":
    """The rate with its Wilson interval, a line per source model and pass."""
    figure, (axes,) = plots.new_figure(8, 1.6 + 0.34 * len(rows))
    names = [f"{row['source_model']} (pass {row['annotation_pass']}, {row['decided']:,})" for row in rows]
    plots.marks(axes, names, [(row["escape_share"], row["low_share"], row["high_share"]) for row in rows])
    axes.set_xlim(left=0)
    axes.set_xlabel("% of the sampled negatives that B1 decides (their number in brackets)")
    axes.set_title("Escapes of the triage, with their Wilson interval", loc="left")
    return figure
