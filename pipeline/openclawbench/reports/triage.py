"""The triage report: what Stage A calls free of anomalies, and how much of it Stage B1 would not (paper E.3).

A sample of Stage A's negatives, chosen by a hash of the trajectory key, goes through B1 as well, with the purpose
`triage_escape_audit`. It stands in this report and in the raw answers; no label depends on it.
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
from openclawbench.rules.control import ControlRules
from openclawbench.tables.record import TRAJECTORY_KEY, Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "triage"
READS: list[type[Record]] = [DecisionA, DecisionB1]
READS_PASS2: list[type[Record]] = [PASS2[record] for record in READS]
NEGATIVE = "no_anomaly_evidence"
COLUMNS = {
    "annotation_pass": "1, or 2 where there is a second pass",
    "source_model": "source model, or all",
    "judged": "trajectories whose Stage A answer could be read",
    "routed": "of these, those that go on to B1: routed there, or negative with a doubtful confidence",
    "review": "of these, those that Stage A sends to review",
    "negatives": "the others: Stage A's negatives, which end as normal; the sample is drawn from them",
    "sampled": "negatives that B1 was asked about as well",
    "unread": "of these, those whose B1 answer could not be read",
    "undecided": "of these, those for which B1 says that it cannot tell",
    "decided": "of these, the others",
    "escapes": "of `decided`, those that B1 calls anomalous",
    "escape_share": "`escapes` of `decided`",
    "low_share": "lower end of its Wilson interval",
    "high_share": "upper end",
    "exact_low_share": "lower end of its exact interval (Clopper and Pearson)",
    "exact_high_share": "upper end",
    "estimated_escapes": "`escape_share` times `negatives`: anomalies that Stage A lets pass, if B1 is right",
    "estimated_low": "the same with the lower end of the Wilson interval",
    "estimated_high": "the same with its upper end",
}


def triage_report(tables: Tables, second: bool) -> Report:
    """Every section; `second`: the tables of a second pass are there as well. Raises NotFound (from `tables`) where
    one is stale."""
    rules, control = AgreementRules.load(), ControlRules.load()
    passes = {1: READS} | ({2: READS_PASS2} if second else {})
    trajectories = {number: table(tables, *records) for number, records in passes.items()}
    return Report(
        name=NAME,
        title="Triage report",
        about="What Stage A routes, and what it lets escape. A sample of its negatives "
        f"({100 * control.triage_escape_audit_share:g} % of them, chosen by a hash of the trajectory key) goes through "
        "Stage B1 too; what B1 says of them stands here and touches no label. Intervals are of "
        f"{100 * rules.confidence:g} %.",
        sections=[escape_rate(trajectories, rules), escapes(trajectories, rules)],
        rules={rules.FILE: rules.digest, control.FILE: control.digest},
    )


def table(tables: Tables, triage: type[Record], subtypes: type[Record]) -> pl.DataFrame:
    """A row a trajectory that Stage A was asked about: route_label, purpose of its B1 question (null: none), and what
    B1 says."""
    a, b1 = pl.col("answer").struct, pl.col("answer").struct
    routes = tables(triage).select(
        *TRAJECTORY_KEY,
        route_label=a.field("route_label"),
        routing_confidence=a.field("routing_confidence"),
        reasoning_summary=a.field("reasoning_summary"),
    )
    asked = tables(subtypes).select(
        *TRAJECTORY_KEY,
        "purpose",
        "outcome",
        is_anomalous=b1.field("trajectory_is_anomalous"),
        anomaly_type_l2=b1.field("anomaly_type_l2"),
        annotator_rationale=b1.field("annotator_rationale"),
    )
    return routes.join(asked, on=TRAJECTORY_KEY, how="left").sort(TRAJECTORY_KEY).collect()


def counted(rows: pl.DataFrame, annotation_pass: int, model: str, rules: AgreementRules) -> Row:
    """A row of COLUMNS."""
    judged = rows.filter(pl.col("route_label").is_not_null())
    routed = judged.filter(pl.col("purpose").eq(LABEL).fill_null(False)).height
    review = judged.filter(pl.col("route_label") == "review").height
    sample = judged.filter(pl.col("purpose") == ESCAPE_AUDIT)
    unread = sample.filter(pl.col("outcome") != "parsed").height
    decided = sample.filter(pl.col("is_anomalous").is_not_null())
    found, negatives = int(decided["is_anomalous"].sum()), judged.height - routed - review
    wilson = proportion(found, decided.height, rules.confidence)
    exact = proportion(found, decided.height, rules.confidence, "exact")
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
        "escapes": found,
        "escape_share": wilson.value,
        "low_share": wilson.low,
        "high_share": wilson.high,
        "exact_low_share": exact.low,
        "exact_high_share": exact.high,
        "estimated_escapes": times(wilson.value, negatives),
        "estimated_low": times(wilson.low, negatives),
        "estimated_high": times(wilson.high, negatives),
    }


def times(share: float | None, whole: int) -> float | None:
    """A share of a number of trajectories, to one place."""
    return None if share is None else round(share * whole, 1)


def escape_rate(passes: dict[int, pl.DataFrame], rules: AgreementRules) -> Section:
    """The rate of each pass, of the corpus and of each source model."""
    rows = []
    for number, found in passes.items():
        rows.append(counted(found, number, "all", rules))
        models = found["source_model"].unique().sort()
        rows += [counted(found.filter(source_model=model), number, model, rules) for model in models]
    whole = rows[0]
    names = (
        "negatives",
        "sampled",
        "decided",
        "escapes",
        "escape_share",
        "low_share",
        "high_share",
        "exact_low_share",
        "exact_high_share",
    )
    shown = (*names, "estimated_escapes", "estimated_low", "estimated_high")
    return Section(
        name="escape_rate",
        title="What the triage lets escape",
        about="judged = routed + review + negatives; sampled = unread + undecided + decided. The estimate supposes "
        "that B1 is right and that the sample is drawn evenly; a rate of 0 escapes still has an upper end.",
        columns=COLUMNS,
        rows=rows,
        facts={name: whole[name] for name in shown},
        definitions={name: f"First pass, all models: {COLUMNS[name]}." for name in shown},
        plot=partial(picture, rows),
    )


def escapes(passes: dict[int, pl.DataFrame], rules: AgreementRules) -> Section:
    """Every sampled negative that B1 calls anomalous, or cannot decide."""
    columns = {
        "annotation_pass": "pass",
        "source_model": "source model",
        "trajectory_id": "trajectory",
        "b1": "anomalous, undecided, or unread: the answer could not be read",
        "anomaly_type_l2": "subtype that B1 names",
        "routing_confidence": "how sure Stage A was",
        "annotator_rationale": "why B1 says so",
        "reasoning_summary": "why Stage A said otherwise",
    }
    rows: list[Row] = []
    for number, found in passes.items():
        unread, undecided = pl.col("outcome") != "parsed", pl.col("is_anomalous").is_null()
        told = pl.when(unread).then(pl.lit("unread")).when(undecided).then(pl.lit("undecided"))
        sample = found.filter(pl.col("purpose") == ESCAPE_AUDIT).filter(pl.col("is_anomalous").fill_null(True))
        rows += (
            sample.with_columns(b1=told.otherwise(pl.lit("anomalous")), annotation_pass=pl.lit(number))
            .select(*columns)
            .to_dicts()
        )
    return Section(
        name="escapes",
        title="Sampled negatives that B1 does not call normal",
        about="Their labels stay as they are: a sample says how often the triage errs, and mends nothing. "
        "`openclawbench explain ID` shows what Stage A saw.",
        columns=columns,
        rows=rows,
        shown=rules.escape_rows,
    )


def picture(rows: list[Row]) -> "Figure":
    """The rate with its Wilson interval, a line a model and pass."""
    figure, (axes,) = plots.new_figure(8, 1.6 + 0.34 * len(rows))
    for place, row in enumerate(rows):
        if row["escape_share"] is not None:
            axes.plot([100 * row["low_share"], 100 * row["high_share"]], [place, place], color=plots.BAR, linewidth=2)
            axes.plot(100 * row["escape_share"], place, "o", color=plots.BAR, markersize=5)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    plots.name_rows(axes, [f"{r['source_model']} (pass {r['annotation_pass']}, {r['decided']:,})" for r in rows])
    axes.set_xlim(left=0)
    axes.grid(axis="x", linewidth=0.3)
    axes.set_xlabel("% of the sampled negatives that B1 decides (their number in brackets)")
    axes.set_title("Escapes of the triage, with their Wilson interval", loc="left")
    return figure
