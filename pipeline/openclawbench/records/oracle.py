"""Oracle records and their fusion with trajectories (paper T11). Context, never a label."""

from typing import Annotated, ClassVar

import polars as pl

from openclawbench.tables.record import Integer, Keyed, Record


class Evaluator(Record):
    """Who scored, with which version, from which file."""

    name: str | None
    version: str | None
    data_version: str | None
    mode: str | None
    source_path: str | None
    source_sha256: str | None


class OracleRecord(Record):
    """One task outcome. `success` is null unless `status` is scored."""

    schema_version: str | None
    source_model: str
    native_session_basename: str | None
    session_id: str | None
    run_id: str | None
    attempt: Integer | None
    task_id: str | None
    task_id_canonical: str | None
    subset: str | None
    success: bool | None
    status: str
    score: float | None
    error_type: str | None
    error_message: str | None
    flags: list[str]
    evaluator: Evaluator
    evaluated_at: str | None


class OracleRow(OracleRecord):
    """An oracle record as fusion reads it: its place, and which session it can be joined with."""

    row_id: str
    basename: str | None
    sessions_named: int
    by_session_id: bool
    unjoined: str | None
    shards: int


class OracleCategory(Record):
    """One category of one model in a BFCL tree, and whether its passes can be told from its failures."""

    source_model: str
    subset: str
    category: str
    tree: str
    result_file: str | None
    score_file: str | None
    results: int | None
    total_count: int | None
    correct_count: int | None
    passed: int | None
    failed: int | None
    inference_errors: int
    no_manifest_row: int
    ambiguous_attempts: int
    other_run: int
    verdict: str
    reason: str | None
    message: str | None


class SourceOutcome(Keyed):
    """An outcome that a source itself carries (an evaluation beside the session). Several, where copies of a session
    carry different ones. Context, never a label."""

    oracle: OracleRecord


# Statuses that say nothing about a run: beside another row, such a row is set aside and contradicts nothing.
SILENT_STATUSES = ("unscorable", "not_scored")
FAILURES_ONLY = "bfcl_failures_only"  # flag of a failure whose category's passes are unknown


def failures_only() -> pl.Expr:
    """True where an outcome (`oracle`) is a failure in a category whose passes are unknown. It counts in no share of
    passes, which would otherwise be 0 % for the category."""
    record = pl.col("oracle").struct
    return (record.field("flags").list.contains(FAILURES_ONLY) & ~record.field("success")).fill_null(False)


class Fused(Keyed):
    """A trajectory with its oracle outcome; null where unmatched or not scored, never inferred from text."""

    REASONS: ClassVar[list[str]] = ["source_model", "oracle_match", "oracle_outcome"]
    subset: str | None
    task_id: str | None
    attempt: int | None
    oracle_match: str
    oracle_rows: list[str]
    oracle_rows_set_aside: list[str]
    oracle_outcome: str | None
    oracle: OracleRecord | None


class EventDescriptor(Keyed):
    """Paper T8, letter for letter: the step-level descriptor after fusion."""

    subset: str | None
    task_id: str | None
    step_id: int
    event_type: str
    tool_name: str | None
    tool_status: str | None
    side_effect: bool
    artifact_target: str | None
    state_write_target: str | None
    auto_flags: list[str]
    oracle_success: bool | None
    oracle_outcome: str | None


class Coverage(Record):
    """Fusion coverage of one source model and subset; rows and sessions both add up.

    sessions = matched + unmatched_sessions; matched = scored + infra_errors + not_scored + unscorable.
    unmatched_rows counts every row that no session got, including those of the three reasons after it. UnmatchedRow
    lists each of them.
    """

    source_model: str
    subset: str | None
    sessions: int
    matched: int
    scored: int
    passed: int
    failures_only: int
    infra_errors: int
    not_scored: int
    unscorable: int
    unmatched_sessions: int
    contradictions: int
    oracle_rows: int
    unmatched_rows: int
    no_manifest_row: int
    ambiguous_attempts: int
    ambiguous_basenames: int
    duplicate_rows: int
    set_aside_rows: int


class ShardCoverage(Coverage):
    """What one shard adds to Coverage: its sessions, and the oracle rows that no other shard has."""


class RowNames(Record):
    """What an oracle row names, and how many sessions that fits."""

    source_model: str
    subset: str | None
    row_id: str
    native_session_basename: str | None
    session_id: str | None
    task_id: str | None
    sessions_named: int


class OpenRow(RowNames):
    """An oracle row whose outcome no session of a shard has, or that several shards have."""

    unjoined: str | None
    shards: int
    set_aside: bool | None
    met: str | None


class UnmatchedRow(RowNames):
    """An oracle row whose outcome no trajectory has, and why."""

    REASONS: ClassVar[list[str]] = ["reason"]
    reason: str


class Contradiction(Keyed):
    """One of several oracle rows of a session that contradict each other. All of them are kept."""

    row_id: str
    task_id: str | None
    success: bool | None
    status: str
    error_type: str | None
    source_path: str | None


SourceOutcomes = Annotated[pl.LazyFrame, SourceOutcome]
OracleRows = Annotated[pl.LazyFrame, OracleRow]
FusedTrajectories = Annotated[pl.LazyFrame, Fused]
EventDescriptors = Annotated[pl.LazyFrame, EventDescriptor]
ShardCoverages = Annotated[pl.LazyFrame, ShardCoverage]
OpenRows = Annotated[pl.LazyFrame, OpenRow]
UnmatchedRows = Annotated[pl.LazyFrame, UnmatchedRow]
Coverages = Annotated[pl.LazyFrame, Coverage]
Contradictions = Annotated[pl.LazyFrame, Contradiction]
