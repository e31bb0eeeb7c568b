"""Raw sessions and what normalize makes of them: trajectories, ReAct steps, user turns (paper T7, B.1-B.2)."""

from typing import Annotated, ClassVar

import polars as pl

from openclawbench.tables.record import Count, Integer, Keyed, Record


class SourceFile(Record):
    """One session's bytes: a file under the raw folder, or a member of a file that holds several sessions (a database,
    a results file). `content` is null where it could not be read; `error` then says why."""

    source_model: str
    path: str
    member: str | None
    base_line: int
    base_offset: int
    sha256: str | None
    adapter: str | None
    identity: str
    content: list[bytes] | None  # in one piece; a list, so that a table of one row can be passed on without copying it
    context: str | None
    error: str | None


class CollectionProvenance(Record):
    """What made a collected session (own choice; paper App. A names the agent, the models and BFCL); null where the run
    manifest does not say it."""

    plan: str | None = None
    openclaw: str | None = None
    evaluator: str | None = None
    model: str | None = None
    endpoint_host: str | None = None
    parameters: str | None = None
    network: str | None = None


class RunManifestRow(Record):
    """A line of raw/run_manifest.jsonl: which session ran which task (BFCL trees name no session)."""

    source_model: str
    native_session_basename: str
    task_id: str | None
    subset: str | None
    run_id: str | None
    attempt: Integer | None
    scored: bool | None = None
    mode: str | None = None
    collection: CollectionProvenance | None = None


class RawRecord(Record):
    """Place of one raw record of a step: its bytes in the source file, or in the one that continues it."""

    part: str
    line: int
    offset: int
    length: int
    file: str | None


class AbandonedStep(Record):
    """A call that was executed on a branch which the session later left."""

    line: int
    tool_name_raw: str | None
    action_text: str | None
    reflection_text: str | None


class RemovedRecord(Record):
    """A message, result or turn that the program took out of a session's file and a copy of it still holds: its place
    there."""

    part: str
    line: int
    offset: int
    length: int
    source_file: str
    source_member: str | None
    source_base_line: int
    source_base_offset: int
    source_sha256: str


class MessageUsage(Record):
    """What one message of the model used, as it reports it; null where it does not say."""

    input_tokens: int | None
    cached_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    total_tokens: int | None
    cost_usd: float | None


class Harness(Record):
    """The program that ran the agent, as the source names it; null where it does not."""

    name: str | None
    version: str | None
    tool_definitions: str | None


class RunSummary(Record):
    """What happened to the run as a whole, as its records say. Runner noise is counted here and makes no agent step."""

    provider_errors: int
    run_errors: int
    unexecuted_calls: int
    empty_replies: int
    silent_replies: int
    runner_texts: int
    mirrored_replies: int
    unreported_usage: int
    unpriced_usage: int
    impossible_usage: int
    end: str
    stop_reason: str | None
    first_provider_error: str | None
    first_provider_error_after: int | None
    input_tokens: int | None
    cached_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    total_tokens: int | None
    cost_usd: float | None
    wall_time_s: float | None
    started_at: str | None
    ended_at: str | None


class RunContext(Record):
    """What the files beside a session say about its run; null where they are missing or do not say."""

    aborted_last_run: bool | None
    status: str | None
    session_key: str | None
    spawned_by: str | None
    parent_session: str | None
    spawn_depth: int | None
    subagent_role: str | None
    label: str | None
    estimated_cost_usd: float | None
    compaction_count: int | None


class TraceSummary(Record):
    """Trace summary of a trajectory: counts, tokens, cost, time, and the class of behaviour with its rule."""

    user_turns: int
    tool_calls: int
    replies: int
    tool_errors: int
    calls_without_result: int
    first_error: str | None
    first_error_step: int | None
    provider_errors: int
    run_errors: int
    unexecuted_calls: int
    empty_replies: int
    silent_replies: int
    runner_texts: int
    mirrored_replies: int
    unreported_usage: int
    unpriced_usage: int
    impossible_usage: int
    end: str
    stop_reason: str | None
    input_tokens: int | None
    cached_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    total_tokens: int | None
    cost_usd: float | None
    wall_time_s: float | None
    started_at: str | None
    ended_at: str | None
    behaviour: str
    behaviour_rule: str


class BenchmarkRow(Record):
    """What a row of OpenClaw LLM Benchmark results says of its call, word for word; null where it does not."""

    provider: str | None
    model: str | None
    thinking_level: str | None
    availability_status: str | None
    success: bool | None
    failure_type: str | None
    objective_pass: bool | None
    e2e_ms: float | None
    ttft_ms: float | None
    tool_use_success: bool | None


class Trajectory(Keyed):
    """One session on its active branch. Pointers (source_*) are construction-only (paper T7)."""

    parent_trajectory_id: str | None
    continues_trajectory_id: str | None
    session_id: str | None
    native_session_basename: str
    aliases: list[str]
    subset: str | None
    task_id: str | None
    attempt: int | None
    mode: str | None
    collection: CollectionProvenance | None
    source_format: str
    session_version: str | None
    models: list[str]
    harness: Harness
    num_steps: int
    truncated: bool
    order_ambiguous: bool
    several_sessions: bool
    divergent: bool
    head_drop: bool
    completeness: str | None
    escaped_fields: list[str]
    unknown_blocks: list[Count]
    abandoned_steps: list[AbandonedStep]
    removed_records: list[RemovedRecord]
    run: RunSummary
    context: RunContext
    benchmark: BenchmarkRow | None
    source_file: str
    source_member: str | None
    source_base_line: int
    source_base_offset: int
    source_sha256: str


class Step(Keyed):
    """One executed agent action with what preceded it and what it returned (paper B.1: s_t = (h_t, a_t, r_t))."""

    step_id: int
    user_turn: int | None
    message_index: int
    action_kind: str
    thinking: str | None
    narration: str | None
    narration_position: str | None
    action_text: str | None
    reflection_text: str | None
    tool_name_raw: str | None
    call_id: str | None
    arguments: str | None
    result_is_error: bool | None
    result_details: str | None
    result_synthetic: bool
    has_result: bool
    followed: bool
    partial: bool
    silent_token: str | None
    orphan: bool
    order_ambiguous: bool
    resolved_by_step: int | None
    resolved_by_user_turn: int | None
    resolved_status: str | None
    timestamp: str | None
    model: str | None
    usage: MessageUsage | None
    metadata: str | None
    raw: list[RawRecord]


class UserTurn(Keyed):
    """What a user (or the runner in a user's name) said before some step."""

    user_turn: int
    kinds: list[str]
    text: str
    raw_text: str
    before_step: int | None
    timestamp: str | None
    line: int


class TraceSummaryRow(Keyed):
    """The trace summary of a trajectory, keyed."""

    REASONS: ClassVar[list[str]] = ["behaviour"]
    behaviour: str
    trace_summary: TraceSummary


class Warned(Record):
    """A fault that did not stop a file: how often it occurs, and where first."""

    name: str
    count: int
    line: int


class FileOutcome(Record):
    """What became of one input file; every input is accounted for."""

    REASONS: ClassVar[list[str]] = ["source_model", "disposition", "reason"]
    COUNTS: ClassVar[list[str]] = ["warnings", "record_counts"]
    source_model: str
    path: str
    member: str | None
    sha256: str | None
    disposition: str
    trajectory_id: str | None
    reason: str | None
    license: str | None
    context_sha256: str | None
    base_line: int
    line: int | None
    message: str | None
    warnings: list[Warned]
    first_warning_line: int | None
    records_in: int
    record_counts: list[Count]


SourceFiles = Annotated[pl.LazyFrame, SourceFile]
RunManifest = Annotated[pl.LazyFrame, RunManifestRow]
Trajectories = Annotated[pl.LazyFrame, Trajectory]
Steps = Annotated[pl.LazyFrame, Step]
TraceSummaries = Annotated[pl.LazyFrame, TraceSummaryRow]
UserTurns = Annotated[pl.LazyFrame, UserTurn]
FileOutcomes = Annotated[pl.LazyFrame, FileOutcome]
