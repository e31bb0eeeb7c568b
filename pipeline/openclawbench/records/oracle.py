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
    """An oracle record as fusion reads it: where it was found, and which session it can be joined with."""

    row_id: str  # "<file>:<line>", the file relative to the folder that was named
    basename: str | None  # the session basename that it names, as the sessions here are called; null: it names none
    sessions_named: int  # distinct sessions of this source model that it can mean; it joins only where it is one
    by_session_id: bool  # its session id decides, because it names no basename, or one that several sessions have
    unjoined: (
        str | None
    )  # why it names no session: no_manifest_row | other_run | ambiguous_attempts | other_task; null: it does


class OracleCategory(Record):
    """What a BFCL tree says of one category of one model, and whether its passes can be told from its failures."""

    source_model: str
    subset: str
    category: str  # canonical spelling
    tree: str  # folder of result/ and score/, relative to the folder that was named
    result_file: str | None
    score_file: str | None
    results: int | None  # lines of the result file
    total_count: int | None  # of the score file's header
    correct_count: int | None
    passed: int | None  # ids of the result file without those of the score file; null where one of the files is missing
    failed: int | None  # ids of the score file
    inference_errors: int  # results that are no answer: infra_error
    no_manifest_row: int  # rows for which the run manifest names no session
    ambiguous_attempts: int  # rows for which it names several, and not which of them was scored
    other_run: int  # rows for which it names sessions of other runs or attempts only
    verdict: str  # scored | unscorable | failures_only | no_score
    reason: str | None  # of `unscorable`
    message: str | None  # the sentence a person reads


class SourceOutcome(Keyed):
    """An outcome that a source itself carries (an evaluation beside it); several where copies of a session carry
    different ones. Context, never a label."""

    oracle: OracleRecord


# Statuses that say nothing of a run: beside a row that does, such a row is set aside and contradicts nothing.
SILENT_STATUSES = ("unscorable", "not_scored")
FAILURES_ONLY = "bfcl_failures_only"  # flag of a failure whose category's passes are unknown


def failures_only() -> pl.Expr:
    """True where an outcome (`oracle`) is a failure of a category whose passes are unknown: it is in no share of
    passes, or the category would read 0 %."""
    record = pl.col("oracle").struct
    return (record.field("flags").list.contains(FAILURES_ONLY) & ~record.field("success")).fill_null(False)


class Fused(Keyed):
    """A trajectory with its oracle outcome; null where unmatched or not scored, never inferred from text."""

    REASONS: ClassVar[list[str]] = ["source_model", "oracle_match", "oracle_outcome"]
    subset: str | None
    task_id: str | None
    attempt: int | None
    oracle_match: str  # matched | unmatched | duplicate_rows | contradiction
    oracle_rows: list[str]  # row ids that name this session, and count
    oracle_rows_set_aside: list[str]  # those that say nothing of the run (SILENT_STATUSES) beside others that do
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
    unmatched_rows counts every row that no session got, also those of the three reasons after it; each stands in
    UnmatchedRow by name.
    """

    source_model: str
    subset: str | None
    sessions: int
    matched: int
    scored: int
    passed: int
    failures_only: int  # of `scored`, failures of BFCL categories whose passes are unknown; in no share of passes
    infra_errors: int
    not_scored: int
    unscorable: int  # contradictions among them
    unmatched_sessions: int
    contradictions: int
    oracle_rows: int
    unmatched_rows: int
    no_manifest_row: int
    ambiguous_attempts: int
    ambiguous_basenames: int
    duplicate_rows: int  # rows beyond the first of a session whose rows agree
    set_aside_rows: int  # rows that say nothing of a run beside others that do


class UnmatchedRow(Record):
    """An oracle row of which no trajectory has its outcome, and why."""

    REASONS: ClassVar[list[str]] = ["reason"]
    source_model: str
    subset: str | None  # as the row says
    row_id: str  # "<file>:<line>"
    native_session_basename: str | None  # as the row writes it
    session_id: str | None
    task_id: str | None
    sessions_named: int  # sessions here that it can mean
    # no_session | no_trajectory | ambiguous_basename | no_manifest_row | other_run | ambiguous_attempts | other_task |
    # set_aside
    reason: str


class Contradiction(Keyed):
    """One of several oracle rows of a session that contradict each other; all of them are kept here."""

    row_id: str
    task_id: str | None
    success: bool | None
    status: str
    error_type: str | None
    source_path: str | None  # the evaluator's file that says it


SourceOutcomes = Annotated[pl.LazyFrame, SourceOutcome]
OracleRows = Annotated[pl.LazyFrame, OracleRow]
FusedTrajectories = Annotated[pl.LazyFrame, Fused]
EventDescriptors = Annotated[pl.LazyFrame, EventDescriptor]
UnmatchedRows = Annotated[pl.LazyFrame, UnmatchedRow]
Coverages = Annotated[pl.LazyFrame, Coverage]
Contradictions = Annotated[pl.LazyFrame, Contradiction]
