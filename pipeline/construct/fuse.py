"""Fuse: trajectory + task outcome (paper C.1, T11). The oracle is context; a missing outcome is never inferred."""

from functools import cache

import polars as pl

from pipeline.records.base import STEP_KEY, TRAJECTORY_KEY
from pipeline.records.evidence import AlignedDescriptors
from pipeline.records.oracle import (
    FAILURES_ONLY,
    SILENT_STATUSES,
    Evaluator,
    EventDescriptors,
    FusedTrajectories,
    OracleRecord,
    OracleRows,
    SourceOutcomes,
)
from pipeline.records.session import Trajectories
from pipeline.stage import stage
from pipeline.tables import schema

FIELDS = list(OracleRecord.model_fields)
TASK = pl.coalesce("task_id_canonical", "task_id")
AGREEABLE = ["native_session_basename", "session_id", "run_id", "attempt", "task_id", "task_id_canonical", "subset"]


@stage(scope="shard")
def fuse(
    trajectories: Trajectories, aligned: AlignedDescriptors, oracle: OracleRows, outcomes: SourceOutcomes
) -> tuple[FusedTrajectories, EventDescriptors]:
    """Join by native-session basename within the source model: the file's, a copy's, or the one where it was written.

    A basename that names several sessions is joined by session_id or not at all. Rows that agree count once; rows that
    contradict each other give no outcome, and a record of status unscorable. A row that says nothing of the run
    (unscorable, not_scored) contradicts none that does: it is set aside. An outcome that the source itself carries is
    one more row. oracle_outcome = pass iff oracle.success is true, fail iff it is false (paper T11). Of rows that agree
    the record is the first, and one whose category tells passes too before a failure of which that is not known: the
    flag FAILURES_ONLY says that all of them are such failures.
    """
    fused = join(trajectories, oracle, outcomes).collect().lazy()
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


def join(trajectories: pl.LazyFrame, oracle: pl.LazyFrame, outcomes: pl.LazyFrame) -> pl.LazyFrame:
    """Columns of Fused, one row a trajectory, in the order of trajectories."""
    pairs = pl.concat([named(trajectories, oracle), carried(outcomes)]).sort([*TRAJECTORY_KEY, "row_id"])
    speaks = ~pl.col("status").is_in(SILENT_STATUSES)
    pairs = pairs.with_columns(counts=speaks | ~speaks.any().over(TRAJECTORY_KEY)).collect().lazy()
    aside = pairs.filter(~pl.col("counts")).group_by(TRAJECTORY_KEY).agg(oracle_rows_set_aside="row_id")
    found = (
        pairs.filter("counts")
        .group_by(TRAJECTORY_KEY, maintain_order=True)
        .agg(
            first=pl.struct(FIELDS).sort_by(pl.col("flags").list.contains(FAILURES_ONLY), maintain_order=True).first(),
            oracle_rows=pl.col("row_id"),
            agreed=pl.struct("success", said=pl.when(speaks).then("status"), task=TASK).n_unique() == 1,
            told=pl.struct([agreed_value(name) for name in AGREEABLE]),
            oracle_attempt=agreed_value("attempt"),
        )
    )
    agreed, told, first = pl.col("agreed").fill_null(False), pl.col("told").struct, pl.col("first").struct
    success = pl.when(agreed & (first.field("status") == "scored")).then(first.field("success"))
    joined = trajectories.join(found, on=TRAJECTORY_KEY, how="left", maintain_order="left")
    return joined.join(aside, on=TRAJECTORY_KEY, how="left", maintain_order="left").select(
        *TRAJECTORY_KEY,
        subset=pl.coalesce("subset", told.field("subset")),
        task_id=pl.coalesce("task_id", told.field("task_id")),
        attempt=pl.coalesce("attempt", "oracle_attempt"),
        oracle_match=pl.when(pl.col("oracle_rows").is_null())
        .then(pl.lit("unmatched"))
        .when(~agreed)
        .then(pl.lit("contradiction"))
        .when(pl.col("oracle_rows").list.len() > 1)
        .then(pl.lit("duplicate_rows"))
        .otherwise(pl.lit("matched")),
        oracle_rows=pl.col("oracle_rows").fill_null([]),
        oracle_rows_set_aside=pl.col("oracle_rows_set_aside").fill_null([]),
        oracle_outcome=pl.when(success).then(pl.lit("pass")).when(~success).then(pl.lit("fail")),
        oracle=pl.when(agreed).then(pl.col("first")).when(pl.col("oracle_rows").is_not_null()).then(contradicted()),
    )


def named(trajectories: pl.LazyFrame, oracle: pl.LazyFrame) -> pl.LazyFrame:
    """(key, row_id, OracleRecord fields) of each oracle row that means exactly one trajectory: by one of its names, by
    its session id where a row names none, or by both where several sessions have the name."""
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


def carried(outcomes: pl.LazyFrame) -> pl.LazyFrame:
    """The outcomes that sources carry themselves, as rows."""
    return outcomes.select(
        *TRAJECTORY_KEY,
        carried_id(),
        *[pl.col("oracle").struct.field(name) for name in FIELDS if name != "source_model"],
    )


def carried_id() -> pl.Expr:
    """row_id of each outcome that a source carries: source:<trajectory id>, with #2 … behind it after the first."""
    number, first = pl.int_range(1, pl.len() + 1).over(TRAJECTORY_KEY), pl.format("source:{}", "trajectory_id")
    return pl.when(number == 1).then(first).otherwise(pl.format("{}#{}", first, number)).alias("row_id")


@cache
def contradicted() -> pl.Expr:
    """An OracleRecord of rows that contradict each other: what they agree on, unscorable. The rows themselves stand in
    Contradiction."""
    told = pl.col("told").struct
    known: dict[str, pl.Expr] = {name: told.field(name) for name in AGREEABLE} | {
        "source_model": pl.col("source_model"),
        "status": pl.lit("unscorable"),
        "flags": pl.lit(["contradicting_rows"]),
        "evaluator": pl.struct([pl.lit(None, kind).alias(name) for name, kind in schema(Evaluator).items()]),
    }
    return pl.struct([known.get(name, pl.lit(None, kind)).alias(name) for name, kind in schema(OracleRecord).items()])


def agreed_value(name: str) -> pl.Expr:
    """The value on which all rows of a session agree; null where they name several."""
    return pl.when(pl.col(name).n_unique() == 1).then(pl.col(name).first()).alias(name)
