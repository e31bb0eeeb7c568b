"""What people said about what the pipeline did (paper T33). Nothing is called audited without one of these."""

from typing import Literal

from openclawbench.tables.record import Record

ErrorType = Literal["missing", "over_specific", "under_specific", "wrong_category", "ambiguous"]  # paper T33


class EventSampleRow(Record):
    """One step of an event-evidence sample, as a reviewer sees it. Texts are whole; null where there is none."""

    sample: str  # id of the sample that it belongs to
    row: str  # id of the row, unique in the sample
    source_model: str
    trajectory_id: str
    step_id: int
    event_type: str  # the descriptor under review
    event_rule: str
    tool_name: str | None
    tool_name_raw: str | None
    tool_status: str | None
    status_rule: str | None
    side_effect: bool
    side_effect_rule: str
    artifact_target: str | None
    state_write_target: str | None
    auto_flags: list[str]
    flag_evidence: list[str]  # flag, rule and the text that fired it
    alignment_rule: str | None
    user_turn: str | None  # what the user had said
    before: str | None  # the step before, in short
    thinking: str | None
    narration: str | None
    action_text: str | None
    reflection_text: str | None
    after: str | None  # the step after, in short
    trace: str  # the command that prints the raw records


class EventReview(Record):
    """A reviewer's verdict on one step's event descriptor (T33's fields, who, when, and from which sheet)."""

    sample: str
    row: str
    source_model: str
    trajectory_id: str
    step_id: int
    event_type: str
    is_supported: bool
    error_type: ErrorType | None  # null where it is supported
    review_comment: str | None
    reviewer: str
    reviewed_at: str  # ISO 8601
    sheet_sha256: str


class EventSample(Record):
    """What an event-evidence sample was drawn from, and how."""

    sample: str
    seed: int
    asked: int
    drawn: dict[str, int]  # category -> steps in the sample
    population: dict[str, int]  # category -> steps in the corpus
    descriptors: str  # digest of the descriptor table
    rules: dict[str, str]  # rule file -> digest
