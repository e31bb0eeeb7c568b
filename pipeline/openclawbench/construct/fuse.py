"""Fuse: trajectory + task outcome (paper C.1, T11). The oracle is context; a missing outcome is never inferred."""

from functools import cache

import polars as pl

from openclawbench.records.evidence import AlignedDescriptors
from openclawbench.records.oracle import (
    FAILURES_ONLY,
    SILENT_STATUSES,
    Evaluator,
    EventDescriptors,
    FusedTrajectories,
    OracleRecord,
    OracleRows,
    SourceOutcomes,
)
from openclawbench.records.session import Trajectories
from openclawbench.runtime.stage import stage
from openclawbench.tables.collect import collect_unoptimized
from openclawbench.tables.record import STEP_KEY, TRAJECTORY_KEY
from openclawbench.tables.schema import schema

FIELDS = list(OracleRecord.model_fields)
TASK = pl.coalesce("task_id_canonical", "task_id")
SPEAKS = ~pl.col("status").is_in(SILENT_STATUSES)
AGREEABLE = ["native_session_basename", "session_id", "run_id", "attempt", "task_id", "task_id_canonical", "subset"]


@stage(scope="shard")
def fuse(
    trajectories: Trajectories, aligned: AlignedDescriptors, oracle: OracleRows, outcomes: SourceOutcomes
) -> tuple[FusedTrajectories, EventDescriptors]:
    """Join outcomes to trajectories by native-session basename within the source model: the basename of the file, of a
    copy of it, or of the place where it was written.

    A basename that names several sessions is joined by session_id or not at all. Rows that agree count once; rows that
    contradict each other give no outcome, and a record of status unscorable. A row that says nothing of the run
    (unscorable, not_scored) contradicts none that does: it is set aside. An outcome that the source itself carries is
    one more row. oracle_outcome = pass iff oracle.success is true, fail iff it is false (paper T11). Of rows that agree
    the record is the first, and one whose category tells passes too before a failure of which that is not known: the
    flag FAILURES_ONLY says that all of them are such failures.
    """
    fused = collect_unoptimized(join_outcomes(trajectories, oracle, outcomes)).lazy()
    context = fused.select(
        *TRAJECTORY_KEY,
        "subset",
        "task_id",
        "oracle_outcome",
        oracle_success=pl.col("oracle").struct.field("success"),
    )
    columns = ["event_type", "tool_name", "tool_status", "side_effect", "artifact_target", "state_write_target"]
    steps = aligned.select(*STEP_KEY, *columns, "auto_flags").join(
        context, on=TRAJECTORY_KEY, how="left", maintain_order="left"
    )
    return fused, steps


def join_outcomes(trajectories: pl.LazyFrame, oracle: pl.LazyFrame, outcomes: pl.LazyFrame) -> pl.LazyFrame:
    """Columns of Fused, one row per trajectory, in the order of trajectories."""
    pairs = pl.concat([match_oracle_rows(trajectories, oracle), source_outcome_rows(outcomes)]).sort(
        [*TRAJECTORY_KEY, "row_id"]
    )
    pairs = collect_unoptimized(pairs.with_columns(counts=SPEAKS | ~SPEAKS.any().over(TRAJECTORY_KEY))).lazy()
    aside = pairs.filter(~pl.col("counts")).group_by(TRAJECTORY_KEY).agg(oracle_rows_set_aside="row_id")
    matches = pairs.filter("counts").group_by(TRAJECTORY_KEY, maintain_order=True).agg(oracle_row_aggregates())
    joined = trajectories.select(*TRAJECTORY_KEY, "subset", "task_id", "attempt")
    for columns in (matches, aside):
        joined = joined.join(columns, on=TRAJECTORY_KEY, how="left", maintain_order="left")
    return joined.select(fused_columns())


@cache
def oracle_row_aggregates() -> list[pl.Expr]:
    """Aggregates of the oracle rows that count for a session."""
    alone = pl.col("flags").list.contains(FAILURES_ONLY)
    verdict = pl.struct("success", verdict=pl.when(SPEAKS).then("status"), task=TASK)
    return [
        pl.struct(FIELDS).sort_by(alone, maintain_order=True).first().alias("first"),
        pl.col("row_id").alias("oracle_rows"),
        (verdict.n_unique() == 1).alias("agreed"),
        pl.struct([agreed_value(name) for name in AGREEABLE]).alias("agreed_values"),
        agreed_value("attempt").alias("oracle_attempt"),
    ]


@cache
def fused_columns() -> list[pl.Expr]:
    """Columns of Fused, from a trajectory's columns and the aggregates of its oracle rows."""
    rows, agreed_values, first = pl.col("oracle_rows"), pl.col("agreed_values").struct, pl.col("first").struct
    agreed = pl.col("agreed").fill_null(False)
    success = pl.when(agreed & (first.field("status") == "scored")).then(first.field("success"))
    match = (
        pl.when(rows.is_null())
        .then(pl.lit("unmatched"))
        .when(~agreed)
        .then(pl.lit("contradiction"))
        .when(rows.list.len() > 1)
        .then(pl.lit("duplicate_rows"))
        .otherwise(pl.lit("matched"))
    )
    return [
        *map(pl.col, TRAJECTORY_KEY),
        pl.coalesce("subset", agreed_values.field("subset")).alias("subset"),
        pl.coalesce("task_id", agreed_values.field("task_id")).alias("task_id"),
        pl.coalesce("attempt", "oracle_attempt").alias("attempt"),
        match.alias("oracle_match"),
        rows.fill_null([]),
        pl.col("oracle_rows_set_aside").fill_null([]),
        pl.when(success).then(pl.lit("pass")).when(~success).then(pl.lit("fail")).alias("oracle_outcome"),
        pl.when(agreed).then("first").when(rows.is_not_null()).then(contradiction_record()).alias("oracle"),
    ]


def match_oracle_rows(trajectories: pl.LazyFrame, oracle: pl.LazyFrame) -> pl.LazyFrame:
    """(key, row_id, OracleRecord fields) of each oracle row that identifies exactly one trajectory: by one of its
    names; by its session id if the row has no name; or by both if several sessions have the name."""
    own = trajectories.select(
        *TRAJECTORY_KEY,
        own_session_id="session_id",
        basename=pl.concat_list("native_session_basename", "aliases").list.unique(maintain_order=True),
    ).explode("basename")
    rows = oracle.filter(pl.col("sessions_named") == 1)
    in_model = ["source_model", "own_session_id"]
    by_name = own.with_columns(
        same_name=pl.len().over("source_model", "basename"), same_both=pl.len().over(*in_model, "basename")
    ).join(rows, on=["source_model", "basename"], how="inner", maintain_order="left_right")
    same_id = (pl.col("session_id") == pl.col("own_session_id")).fill_null(False)
    by_name = by_name.filter(
        pl.when("by_session_id").then(same_id & (pl.col("same_both") == 1)).otherwise(pl.col("same_name") == 1)
    )
    ids = trajectories.select(*TRAJECTORY_KEY, own_session_id="session_id").drop_nulls("own_session_id")
    nameless = rows.filter(pl.col("basename").is_null()).with_columns(own_session_id="session_id")
    by_id = ids.filter(pl.len().over(in_model) == 1).join(
        nameless, on=in_model, how="inner", maintain_order="left_right"
    )
    columns = [*TRAJECTORY_KEY, "row_id", *(name for name in FIELDS if name != "source_model")]
    return pl.concat([by_name.select(columns), by_id.select(columns)]).unique(
        [*TRAJECTORY_KEY, "row_id"], keep="first", maintain_order=True
    )


def source_outcome_rows(outcomes: pl.LazyFrame) -> pl.LazyFrame:
    """The outcomes that sources themselves contain, in the columns of oracle rows."""
    return outcomes.select(
        *TRAJECTORY_KEY,
        source_row_id(),
        *[pl.col("oracle").struct.field(name) for name in FIELDS if name != "source_model"],
    )


def source_row_id() -> pl.Expr:
    """row_id of an outcome that a source contains: source:<trajectory id>; a second one ends in #2."""
    number, first = pl.int_range(1, pl.len() + 1).over(TRAJECTORY_KEY), pl.format("source:{}", "trajectory_id")
    return pl.when(number == 1).then(first).otherwise(pl.format("{}#{}", first, number)).alias("row_id")


@cache
def contradiction_record() -> pl.Expr:
    """The OracleRecord of rows that contradict each other: status unscorable, with the fields on which they agree. The
    rows themselves are in Contradiction."""
    agreed_values = pl.col("agreed_values").struct
    known: dict[str, pl.Expr] = {name: agreed_values.field(name) for name in AGREEABLE} | {
        "source_model": pl.col("source_model"),
        "status": pl.lit("unscorable"),
        "flags": pl.lit(["contradicting_rows"]),
        "evaluator": pl.struct([pl.lit(None, kind).alias(name) for name, kind in schema(Evaluator).items()]),
    }
    return pl.struct([known.get(name, pl.lit(None, kind)).alias(name) for name, kind in schema(OracleRecord).items()])


def agreed_value(name: str) -> pl.Expr:
    """The value on which all rows of a session agree; None if they name several."""
    return pl.when(pl.col(name).n_unique() == 1).then(pl.col(name).first()).alias(name)
