"""Raw sessions and what normalize makes of them: trajectories, ReAct steps, user turns (paper T7, B.1-B.2)."""

from typing import Annotated, ClassVar

import polars as pl

from openclawbench.tables.record import Count, Integer, Keyed, Record


class SourceFile(Record):
    """One session's bytes: a file under the raw folder, or a member of one that holds several (a database, a results
    file). `content` is null where it could not be read; then `error` says why."""

    source_model: str
    path: str  # relative to the raw folder, with forward slashes
    member: str | None  # null: the file is the session
    base_line: int  # line of the file at which the content begins, from 1
    base_offset: int  # byte of the (decompressed) file at which it begins
    sha256: str | None  # of the content
    content: list[bytes] | None  # in one piece; a list, so that a table of one row can be passed on without copying it
    context: str | None  # JSON text: what lay beside it (session index, trial record, evaluation)
    error: str | None


class RunManifestRow(Record):
    """A line of raw/run_manifest.jsonl: which session ran which task (BFCL trees name no session)."""

    source_model: str
    native_session_basename: str
    task_id: str | None
    subset: str | None
    run_id: str | None
    attempt: Integer | None
    scored: bool | None = None  # of several attempts at a task: true for the one that an oracle's only score is of


class RawRecord(Record):
    """Pointer to one raw record of a step: where its bytes are in the source file."""

    part: str  # call | result | reply | narration | mirror
    line: int  # 1-based
    offset: int  # bytes from the start of the file
    length: int  # bytes


class AbandonedStep(Record):
    """A call that was executed on a branch which the session later left."""

    line: int
    tool_name_raw: str | None
    action_text: str | None
    reflection_text: str | None


class RunSummary(Record):
    """What happened to the run as a whole, as its records say; runner noise is counted, it is no agent step."""

    provider_errors: int  # messages that ended in an error, whether or not something was done before it
    run_errors: int  # user turns whose run was aborted, timed out or failed, as a run error or an aborted message says
    unexecuted_calls: int
    empty_replies: int
    silent_replies: int  # replies that nobody was shown: nothing but a silent token
    runner_texts: int  # messages with a text that the program wrote in the agent's place
    mirrored_replies: int  # replies known only from the line that their delivery left behind
    impossible_usage: int  # figures of tokens, USD or time that cannot be, below zero for example: their sum is null
    end: str  # completed | error | aborted | timeout | unanswered | dangling_call | no_reply
    stop_reason: str | None
    first_provider_error: str | None  # first error of a provider or a run, as text
    first_provider_error_after: int | None  # steps before it; null where the format does not say
    input_tokens: int | None
    output_tokens: int | None
    total_tokens: int | None
    cost_usd: float | None
    wall_time_s: float | None
    started_at: str | None
    ended_at: str | None


class RunContext(Record):
    """What the files beside a session say about its run; null where they are not there or do not say."""

    aborted_last_run: bool | None
    status: str | None
    session_key: str | None
    spawned_by: str | None  # session key of the parent
    parent_session: str | None  # basename of the parent's session file, as the header names it
    spawn_depth: int | None
    subagent_role: str | None
    label: str | None
    estimated_cost_usd: float | None
    compaction_count: int | None


class TraceSummary(Record):
    """Trace summary of a trajectory (seed 000): counts, cost and a behavioural class with the rule that decided it."""

    user_turns: int
    tool_calls: int
    replies: int
    tool_errors: int  # calls whose result, or a notice of how they ended, says that they failed
    calls_without_result: int  # calls of which no result is known; one that the runner made up is none
    first_error: str | None  # what the session says of the first failure of a tool, a provider or a run
    first_error_step: int | None  # the step that failed; null where it was a provider or a run
    provider_errors: int
    run_errors: int  # user turns whose run was aborted, timed out or failed
    unexecuted_calls: int
    empty_replies: int
    silent_replies: int
    runner_texts: int  # messages with a text that the program wrote in the agent's place
    mirrored_replies: int  # replies known only from the line that their delivery left behind
    impossible_usage: int  # figures of tokens, USD or time that cannot be: their sum is null
    end: str
    stop_reason: str | None
    input_tokens: int | None
    output_tokens: int | None
    total_tokens: int | None
    cost_usd: float | None
    wall_time_s: float | None
    started_at: str | None
    ended_at: str | None
    behaviour: str  # completed | gave_up | errored_out | timed_out | aborted | looping | empty
    behaviour_rule: str


class Trajectory(Keyed):
    """One session on its active branch. Pointers (source_*) are construction-only (paper T7)."""

    parent_trajectory_id: str | None
    session_id: str | None
    native_session_basename: str
    aliases: list[str]  # other basenames that mean it: of its copies, and the one where it was written
    subset: str | None
    task_id: str | None
    attempt: int | None
    source_format: str
    session_version: str | None
    models: list[str]
    num_steps: int
    truncated: bool
    order_ambiguous: bool
    several_sessions: bool
    divergent: bool
    head_drop: bool  # messages at the head of the session are missing from the file
    completeness: str | None  # partial | complete, of a trial record
    escaped_fields: list[str]
    unknown_blocks: list[Count]  # content blocks of types that no rule knows, by type; they say nothing in any step
    abandoned_steps: list[AbandonedStep]
    run: RunSummary
    context: RunContext
    source_file: str
    source_member: str | None
    source_base_line: int
    source_base_offset: int
    source_sha256: str


class Step(Keyed):
    """One executed agent action with what preceded and what came back (paper B.1: s_t = (h_t, a_t, r_t))."""

    step_id: int  # from 1
    user_turn: int | None  # the user turn it answers, from 1; null before the first
    message_index: int  # agent message that issued it; parallel calls share it, an orphan has one of its own
    action_kind: str  # tool_call | reply
    thinking: str | None
    narration: str | None  # text said beside a tool call, visible to the user
    narration_position: str | None  # before | after | both: relative to the call
    action_text: str | None  # a reply's text, or "tool {arguments}"
    reflection_text: str | None
    tool_name_raw: str | None
    arguments: str | None  # JSON text as written by the agent; null when unknown
    result_is_error: bool | None
    result_details: str | None  # JSON text of the result's details, long strings left out
    result_synthetic: bool
    has_result: bool
    followed: bool  # something follows in the session
    partial: bool
    silent_token: str | None  # rule of the token that the whole reply is: it was shown to nobody
    orphan: bool
    order_ambiguous: bool
    resolved_by_step: int | None  # the poll or log that tells how a command left running ended
    resolved_by_user_turn: int | None  # the user turn with a notice that tells it
    resolved_status: str | None  # how it ended, as that notice says, in the words of tool_status
    timestamp: str | None
    raw: list[RawRecord]


class UserTurn(Keyed):
    """What a user (or the runner in a user's name) said before some step."""

    user_turn: int  # from 1
    kinds: list[str]
    text: str  # the user's own words, envelope removed; empty when there are none
    raw_text: str  # as written
    before_step: int | None  # first step that follows; null at the end
    line: int


class TraceSummaryRow(Keyed):
    """A trajectory's trace summary."""

    REASONS: ClassVar[list[str]] = ["behaviour"]
    behaviour: str
    trace_summary: TraceSummary


class Warned(Record):
    """How often a fault that did not stop a file was found in it, and where first."""

    name: str  # reason code
    count: int
    line: int  # of the first one, 1-based


class FileOutcome(Record):
    """What became of one input file; every input is accounted for."""

    REASONS: ClassVar[list[str]] = ["source_model", "disposition", "reason"]
    COUNTS: ClassVar[list[str]] = ["warnings", "record_counts"]
    source_model: str
    path: str
    member: str | None
    sha256: str | None
    disposition: str  # trajectory | copy | quarantined | sidecar
    trajectory_id: str | None
    reason: str | None  # reason code: why it is a copy, quarantined or no session
    line: int | None  # offending line, 1-based
    message: str | None  # the sentence a person reads
    warnings: list[Warned]  # faults that did not stop the file, by reason code
    first_warning_line: int | None  # the smallest of theirs
    records_in: int
    record_counts: list[Count]  # where the records went: steps, metadata, named reasons; sums to records_in


SourceFiles = Annotated[pl.LazyFrame, SourceFile]
RunManifest = Annotated[pl.LazyFrame, RunManifestRow]
Trajectories = Annotated[pl.LazyFrame, Trajectory]
Steps = Annotated[pl.LazyFrame, Step]
TraceSummaries = Annotated[pl.LazyFrame, TraceSummaryRow]
UserTurns = Annotated[pl.LazyFrame, UserTurn]
FileOutcomes = Annotated[pl.LazyFrame, FileOutcome]
