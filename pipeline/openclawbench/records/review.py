"""Reviews of event descriptors by people (paper T33). Nothing is called audited without one of these."""

from typing import Literal

from pydantic import Field

from openclawbench.tables.record import Record

ErrorType = Literal["missing", "over_specific", "under_specific", "wrong_category", "ambiguous"]  # paper T33
ReviewedField = Literal[
    "event_type", "tool_name", "tool_status", "side_effect", "artifact_target", "state_write_target", "auto_flags"
]
Structure = Literal["wrong_step", "missing_step", "surplus_step", "wrong_turn_kind", "wrong_trajectory"]


class EventSampleRow(Record):
    """One step of an event-evidence sample, as a reviewer sees it. Texts are whole."""

    sample: str
    row: str
    source_model: str
    trajectory_id: str
    step_id: int
    event_type: str
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
    flag_evidence: list[str]
    alignment_rule: str | None
    user_turn: str | None
    before: str | None
    thinking: str | None
    narration: str | None
    action_text: str | None
    reflection_text: str | None
    after: str | None
    trace: str


class EventReview(Record):
    """A reviewer's verdict on one step's event descriptor (the fields of T33, who, when, and from which sheet).

    `wrong_fields`: the fields of the descriptor that the step does not support. `structure`: what is wrong with the
    step itself, one beside it, its user turn or the whole trajectory. Both are our own.
    """

    sample: str
    row: str
    source_model: str
    trajectory_id: str
    step_id: int
    event_type: str
    is_supported: bool
    error_type: ErrorType | None
    wrong_fields: list[ReviewedField] = Field(default=[])
    structure: Structure | None = None
    review_comment: str | None
    reviewer: str
    reviewed_at: str
    sheet_sha256: str


class EventSample(Record):
    """What an event-evidence sample was drawn from, and how."""

    sample: str
    seed: int
    asked: int
    drawn: dict[str, int]
    population: dict[str, int]
    descriptors: str
    rules: dict[str, str]
