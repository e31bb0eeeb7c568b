"""Coverage: how sessions and oracle rows met, per source model and subset (paper C.1); rows that are in conflict."""

import polars as pl

from pipeline.records.base import TRAJECTORY_KEY
from pipeline.records.oracle import (
    Contradiction,
    Contradictions,
    Coverage,
    Coverages,
    FusedTrajectories,
    OracleRows,
    SourceOutcomes,
)
from pipeline.stage import stage
from pipeline.tables import schema

OF_MODEL = ["source_model", "subset"]
STATUSES = {"infra_errors": "infra_error", "not_scored": "not_scored", "unscorable": "unscorable"}
COUNTS = [name for name in Coverage.model_fields if name not in OF_MODEL]


@stage(scope="corpus")
def coverage(
    fused: FusedTrajectories, oracle: OracleRows, outcomes: SourceOutcomes
) -> tuple[Coverages, Contradictions]:
    """Counts of sessions and rows, sorted by model and subset (null last), and every row of a contradiction.

    A session counts under its own subset (run manifest, else oracle), an oracle row under that of its session; one
    without a session under the subset that it names.
    A session's outcome that its source carries makes it matched, and is no oracle row.
    """
    counted = (
        of_sessions(fused)
        .join(of_rows(fused, oracle), on=OF_MODEL, how="full", coalesce=True, nulls_equal=True)
        .select(*OF_MODEL, *[pl.col(name).fill_null(0) for name in COUNTS])
        .sort(OF_MODEL, nulls_last=True)
    )
    return counted, contradictions(fused, oracle, outcomes)


def of_sessions(fused: pl.LazyFrame) -> pl.LazyFrame:
    """The session counts of each model and subset."""
    match, outcome = pl.col("oracle_match"), pl.col("oracle_outcome")
    status = pl.col("oracle").struct.field("status")
    without_success = (match != "unmatched") & outcome.is_null() & (status == "scored")  # scored, but success is null
    number = {
        "matched": match != "unmatched",
        "scored": outcome.is_not_null(),
        "passed": outcome == "pass",
        **{name: status == value for name, value in STATUSES.items()},
        "unmatched_sessions": match == "unmatched",
        "contradictions": match == "contradiction",
    }
    number["not_scored"] = number["not_scored"] | without_success
    extra = pl.when(match == "duplicate_rows").then(pl.col("oracle_rows").list.len().cast(pl.Int64) - 1)
    return fused.group_by(OF_MODEL).agg(
        sessions=pl.len().cast(pl.Int64),
        duplicate_rows=extra.sum(),
        **{name: condition.fill_null(False).sum().cast(pl.Int64) for name, condition in number.items()},
    )


def of_rows(fused: pl.LazyFrame, oracle: pl.LazyFrame) -> pl.LazyFrame:
    """The row counts of each model and subset. A row may stand in several shards: it counts once."""
    met = fused.select(met="subset", row_id="oracle_rows").explode("row_id").drop_nulls("row_id")
    rows = oracle.unique("row_id").select("row_id", *OF_MODEL, "sessions_named", "unjoined")
    found = met.sort("row_id", "met").unique("row_id", keep="first", maintain_order=True).with_columns(lost=False)
    left = rows.join(found, on="row_id", how="left").with_columns(
        subset=pl.when(pl.col("lost").is_null()).then("subset").otherwise("met"),
        lost=pl.col("lost").is_null(),
        reason=pl.col("unjoined").fill_null(""),
    )
    ambiguous = (pl.col("sessions_named") > 1) & (pl.col("reason") == "")
    number = {
        "unmatched_rows": pl.col("lost"),
        "no_manifest_row": pl.col("lost") & (pl.col("reason") == "no_manifest_row"),
        "ambiguous_attempts": pl.col("lost") & (pl.col("reason") == "ambiguous_attempts"),
        "ambiguous_basenames": pl.col("lost") & ambiguous,
    }
    return left.group_by(OF_MODEL).agg(
        oracle_rows=pl.len().cast(pl.Int64),
        **{name: condition.sum().cast(pl.Int64) for name, condition in number.items()},
    )


def contradictions(fused: pl.LazyFrame, oracle: pl.LazyFrame, outcomes: pl.LazyFrame) -> pl.LazyFrame:
    """Every row of each session whose rows contradict each other, sorted."""
    said = ["task_id", "success", "status", "error_type"]
    carried = outcomes.select(
        pl.format("source:{}", "trajectory_id").alias("row_id"),
        "source_model",
        *[pl.col("oracle").struct.field(name) for name in said],
    )
    rows = pl.concat([oracle.unique("row_id").select("row_id", "source_model", *said), carried])
    return (
        fused.filter(pl.col("oracle_match") == "contradiction")
        .select(*TRAJECTORY_KEY, row_id="oracle_rows")
        .explode("row_id")
        .join(rows, on=["row_id", "source_model"], how="left")
        .select(list(schema(Contradiction)))
        .sort(*TRAJECTORY_KEY, "row_id")
    )
