"""Matches and coverage: how sessions and oracle rows met, per source model and subset (paper C.1); rows that are in
conflict, and rows that no session got, by name."""

import polars as pl

from openclawbench.construct.fuse import source_row_id
from openclawbench.records.oracle import (
    Contradiction,
    Contradictions,
    Coverage,
    Coverages,
    FusedTrajectories,
    OpenRow,
    OpenRows,
    OracleRows,
    ShardCoverages,
    SourceOutcomes,
    UnmatchedRow,
    UnmatchedRows,
    failures_only,
)
from openclawbench.runtime.stage import stage
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.tables.schema import schema

OF_MODEL = ["source_model", "subset"]
STATUSES = {"infra_errors": "infra_error", "not_scored": "not_scored", "unscorable": "unscorable"}
COUNTS = [name for name in Coverage.model_fields if name not in OF_MODEL]
IS_SHARED = pl.col("shards") > 1


@stage(scope="shard")
def matches(
    fused: FusedTrajectories, oracle: OracleRows, outcomes: SourceOutcomes
) -> tuple[ShardCoverages, Contradictions, OpenRows]:
    """Counts of the sessions of a shard and of the rows that it alone has; every row of a contradiction; every row of
    which no session here has the outcome, or that another shard has too.

    A session counts under its own subset (run manifest, else oracle), an oracle row under that of its session; one
    without a session under the subset that it names.
    A session's outcome that its source carries makes it matched, and is not an oracle row.
    """
    rows = fates(met_rows(fused), oracle)
    counted = of_sessions(fused).join(
        of_rows(rows.filter(~IS_SHARED)), on=OF_MODEL, how="full", coalesce=True, nulls_equal=True
    )
    opened = rows.filter(IS_SHARED | pl.col("reason").is_not_null()).sort("row_id")
    return (
        counted.pipe(sum_by_subset),
        contradictions(fused, oracle, outcomes),
        opened.select(list(OpenRow.model_fields)),
    )


@stage(scope="corpus")
def coverage(counts: ShardCoverages, rows: OpenRows) -> tuple[Coverages, UnmatchedRows]:
    """The counts of all shards, sorted by model and subset (null last); every row whose outcome no session has,
    with the reason, in the order of files and lines."""
    met = rows.drop_nulls("set_aside").select("row_id", "set_aside", "met")
    decided = fates(met, rows.drop("set_aside", "met"))
    counted = sum_by_subset(pl.concat([counts, of_rows(decided.filter(IS_SHARED))], how="diagonal"))
    line = pl.col("row_id").str.extract(r":([0-9]+)$").cast(pl.Int64)
    unmatched = decided.drop_nulls("reason").sort(pl.col("row_id").str.replace(r":[0-9]+$", ""), line)
    return counted, unmatched.select(list(schema(UnmatchedRow)))


def sum_by_subset(counts: pl.LazyFrame) -> pl.LazyFrame:
    """One row of Coverage per model and subset, sorted; a missing count is 0."""
    sums = pl.col(COUNTS).fill_null(0).sum()
    return counts.group_by(OF_MODEL).agg(sums).select(*OF_MODEL, *COUNTS).sort(OF_MODEL, nulls_last=True)


def of_sessions(fused: pl.LazyFrame) -> pl.LazyFrame:
    """The session counts of each model and subset."""
    match, outcome = pl.col("oracle_match"), pl.col("oracle_outcome")
    status = pl.col("oracle").struct.field("status")
    number = {
        "matched": match != "unmatched",
        "scored": outcome.is_not_null(),
        "passed": outcome == "pass",
        "failures_only": failures_only(),
        **{name: status == value for name, value in STATUSES.items()},
        "unmatched_sessions": match == "unmatched",
        "contradictions": match == "contradiction",
    }
    extra = pl.when(match == "duplicate_rows").then(pl.col("oracle_rows").list.len().cast(pl.Int64) - 1)
    return fused.group_by(OF_MODEL).agg(
        sessions=pl.len().cast(pl.Int64),
        duplicate_rows=extra.sum(),
        **{name: condition.fill_null(False).sum().cast(pl.Int64) for name, condition in number.items()},
    )


def of_rows(row_fates: pl.LazyFrame) -> pl.LazyFrame:
    """The row counts of each model and subset. `row_fates`: of fates()."""
    number = {
        "unmatched_rows": pl.col("lost"),
        "no_manifest_row": pl.col("reason") == "no_manifest_row",
        "ambiguous_attempts": pl.col("reason") == "ambiguous_attempts",
        "ambiguous_basenames": pl.col("reason") == "ambiguous_basename",
        "set_aside_rows": pl.col("reason") == "set_aside",
    }
    under = row_fates.with_columns(subset=pl.when("lost").then("subset").otherwise("met"))
    return under.group_by(OF_MODEL).agg(
        oracle_rows=pl.len().cast(pl.Int64),
        **{name: condition.fill_null(False).sum().cast(pl.Int64) for name, condition in number.items()},
    )


def met_rows(fused: pl.LazyFrame) -> pl.LazyFrame:
    """Each oracle row of each session: the session's subset as `met`, and whether the row is set aside."""
    lists = ("oracle_rows", "oracle_rows_set_aside")
    rows = pl.concat(fused.select(met="subset", row_id=name, set_aside=pl.lit(name != lists[0])) for name in lists)
    return rows.explode("row_id").drop_nulls("row_id")


def fates(met: pl.LazyFrame, oracle: pl.LazyFrame) -> pl.LazyFrame:
    """Each oracle row once (it may be in several shards), with `lost` (no session got it), `met` (the subset of the
    session that did) and `reason` why no session has its outcome (None if one has). `met`: of met_rows()."""
    firsts = met.sort("row_id", "set_aside", "met").unique("row_id", keep="first", maintain_order=True)
    lost = pl.col("set_aside").is_null()
    why = (
        pl.when(pl.col("sessions_named") > 1)
        .then(pl.lit("ambiguous_basename"))
        .when(pl.col("sessions_named") == 1)
        .then(pl.lit("no_trajectory"))
        .otherwise(pl.lit("no_session"))
    )
    reason = pl.when(lost).then(pl.coalesce("unjoined", why)).when("set_aside").then(pl.lit("set_aside"))
    return oracle.unique("row_id").join(firsts, on="row_id", how="left").with_columns(lost=lost, reason=reason)


def contradictions(fused: pl.LazyFrame, oracle: pl.LazyFrame, outcomes: pl.LazyFrame) -> pl.LazyFrame:
    """Every row of each session whose rows contradict each other, sorted."""
    statements = ["task_id", "success", "status", "error_type"]
    file = pl.col("evaluator").struct.field("source_path")
    carried = outcomes.select(
        source_row_id(),
        "source_model",
        *[pl.col("oracle").struct.field(name) for name in [*statements, "evaluator"]],
    )
    named = fused.filter(pl.col("oracle_match") == "contradiction").select(*TRAJECTORY_KEY, row_id="oracle_rows")
    conflicting = named.explode("row_id")
    own = oracle.join(conflicting, on="row_id", how="semi").unique("row_id")
    rows = pl.concat([own.select("row_id", "source_model", *statements, "evaluator"), carried]).with_columns(
        source_path=file
    )
    return (
        conflicting.join(rows, on=["row_id", "source_model"], how="left")
        .select(list(schema(Contradiction)))
        .sort(*TRAJECTORY_KEY, "row_id")
    )
