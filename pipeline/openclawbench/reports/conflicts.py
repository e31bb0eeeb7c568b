"""The report on conflicts: decided labels that say the opposite of their outcome (paper D.7).

D.7 sends such a record to review. Here an outcome never moves a label, so the records are listed from the labels that
were decided without it: an own deviation (`outcome_conflict` of the protocol).
"""

import polars as pl

from openclawbench.records.fulltax import Annotation
from openclawbench.records.oracle import Fused
from openclawbench.reports.section import Report, Row, Section, Tables
from openclawbench.tables.record import TRAJECTORY_KEY, Record

NAME = "conflicts"
READS: list[type[Record]] = [Annotation, Fused]
CONFLICTS = {"passed_anomalous": ("pass", True), "failed_normal": ("fail", False)}  # outcome, is_anomalous
COUNTS = {
    "decided": "labels that are accepted, or the baseline's, of trajectories with an outcome",
    "passed_anomalous": "of these, passes whose process is anomalous: what a benchmark of outcomes does not see",
    "failed_normal": "of these, failures whose process is normal: bad luck, a task too hard, or an anomaly overlooked",
}


def conflicts_report(tables: Tables) -> Report:
    """The report, from the tables of READS. Raises NotFound (from `tables`) if one is stale."""
    rows = labels_with_outcomes(tables)
    return Report(
        name=NAME,
        title="Outcomes that contradict the process",
        about="D.7 of the paper sends these records to review. Here an outcome never moves a label (own deviation: "
        "`outcome_conflict` in the protocol), and they are listed from the labels that were decided without it. A "
        "conflict is no fault: that outcome and process differ is what the data set measures.",
        sections=[counts(rows), records(rows)],
    )


def labels_with_outcomes(tables: Tables) -> pl.DataFrame:
    """One row per decided label of a trajectory with an outcome: key, task, outcome, label, `conflict` (null: none)."""
    labels = tables(Annotation).select(
        *TRAJECTORY_KEY, "is_anomalous", "anomaly_type_l2", "quality_tier", "review_cause", "annotator_rationale"
    )
    decided = pl.col("is_anomalous").is_not_null() & pl.col("review_cause").is_null()
    outcomes = tables(Fused).select(*TRAJECTORY_KEY, "task_id", "oracle_outcome")
    conflict = pl.coalesce(
        pl.when((pl.col("oracle_outcome") == outcome) & (pl.col("is_anomalous") == is_anomalous)).then(pl.lit(name))
        for name, (outcome, is_anomalous) in CONFLICTS.items()
    )
    return (
        labels.filter(decided)
        .join(outcomes.filter(pl.col("oracle_outcome").is_not_null()), on=TRAJECTORY_KEY, how="inner")
        .with_columns(conflict=conflict)
        .sort(TRAJECTORY_KEY)
        .collect()
    )


def counts(rows: pl.DataFrame) -> Section:
    """Decided labels and conflicts, of all source models and of each."""
    models = rows["source_model"].unique().sort()
    counted = [count("all", rows), *(count(model, rows.filter(source_model=model)) for model in models)]
    return Section(
        name="counts",
        title="Conflicts by source model",
        about="Labels in review and those of trajectories without an outcome are not counted.",
        columns={"source_model": "source model, or all"} | COUNTS,
        rows=counted,
        facts={name: counted[0][name] for name in COUNTS},
        definitions={name: f"All models: {text}." for name, text in COUNTS.items()},
    )


def count(model: str, rows: pl.DataFrame) -> Row:
    """A row of counts."""
    numbers = {name: int((rows["conflict"] == name).sum()) for name in CONFLICTS}
    return {"source_model": model, "decided": rows.height, **numbers}


def records(rows: pl.DataFrame) -> Section:
    """Every conflict."""
    columns = {
        "conflict": "passed_anomalous or failed_normal",
        "source_model": "source model",
        "trajectory_id": "trajectory",
        "task_id": "task",
        "anomaly_type_l2": "subtype",
        "quality_tier": "tier of the label",
        "annotator_rationale": "the judge's reason",
    }
    return Section(
        name="records",
        title="Records",
        about="`openclawbench explain ID` shows what the label rests on.",
        columns=columns,
        rows=rows.filter(pl.col("conflict").is_not_null())
        .select(*columns)
        .sort("conflict", *TRAJECTORY_KEY)
        .to_dicts(),
    )
