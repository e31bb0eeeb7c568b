"""Two records of the same trajectory: Packet (T16, what an LLM judge reads) and Evidence (the same without oracle and
risk). Rules judge, checks, repairs and merge decisions take Evidence, so no oracle or risk can reach a label."""

from functools import partial
from typing import Annotated, ClassVar

import polars as pl

from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.risk import OnsetCandidates, RiskSignals
from openclawbench.records.session import Step, UserTurn
from openclawbench.records.vocabulary import EventType, LanguageCoverage
from openclawbench.tables.inherited_columns import InheritedColumns
from openclawbench.tables.nested_steps import nest_steps_and_turns
from openclawbench.tables.record import TRAJECTORY_KEY, Keyed, Record

TEXTS = ("user_turns", "steps")  # columns of lists, which are long
# What is known of a session besides what happened in it.
PRIORS = ("oracle_outcome", "risk_bucket", "risk_score", "slice_label", "risk_signals", "onset_candidates")


class EventTypeCounts(Record):
    """Histogram of event categories, all 13 of T9, zeros included."""

    read: int
    external_write: int
    inspect: int
    reply: int
    web_interaction: int
    query: int
    code_execution: int
    agent_coordination: int
    environment_check: int
    other: int
    system_control: int
    state_write: int
    communication: int


class LanguageCounts(Record):
    """Steps by what is known about the language of the agent's own words; a step counts under the first that fits."""

    uncovered: int
    unsure: int
    covered: int
    no_words: int


class StepLanguage(Record):
    """The language of the agent's own words in one field of a step."""

    step_id: int
    field: str
    language: str | None
    coverage: LanguageCoverage


class PacketUserTurn(Record):
    """A user turn as the judge reads it."""

    user_turn: int
    kinds: list[str]
    text: str


class EvidenceStep(Record):
    """One step with its descriptors; no oracle and no risk on it."""

    step_id: int
    user_turn: int | None
    action_kind: str
    thinking: str | None
    narration: str | None
    narration_position: str | None
    action_text: str | None
    reflection_text: str | None
    tool_name: str | None
    tool_name_raw: str | None
    event_type: EventType
    tool_status: str | None
    side_effect: bool
    artifact_target: str | None
    state_write_target: str | None
    auto_flags: list[str]
    partial: bool
    silent_token: str | None
    orphan: bool
    resolved_by_step: int | None
    resolved_by_user_turn: int | None
    resolved_status: str | None


class SchemaTarget(Record):
    """The contract an answer must meet."""

    schema_id: str
    sha256: str


class AnnotationSchemaTarget(Record):
    """Output schema of each FullTax stage."""

    a: SchemaTarget
    b1: SchemaTarget
    b2: SchemaTarget
    c: SchemaTarget


class Evidence(Keyed):
    """Process evidence alone: what checks, repairs, merge and the rules judge may see."""

    INHERITED: ClassVar[InheritedColumns | None] = InheritedColumns(
        origins=(Step, AlignedDescriptor, UserTurn),
        select_inherited=partial(nest_steps_and_turns, fields=list(EvidenceStep.model_fields)),
        keys=tuple(TRAJECTORY_KEY),
        columns=TEXTS,
    )
    num_steps: int
    truncated: bool
    order_ambiguous: bool
    languages: list[StepLanguage]
    language_counts: LanguageCounts
    compacted: bool
    event_type_counts: EventTypeCounts
    user_turns: list[PacketUserTurn]
    steps: list[EvidenceStep]


class Packet(Keyed):
    """The risk-aware annotation packet (T16, T23): the judge's whole input. Never a label. In a blind packet the fields
    of PRIORS are null."""

    INHERITED: ClassVar[InheritedColumns | None] = InheritedColumns(
        origins=(Evidence,),
        select_inherited=lambda evidence: (evidence,),
        keys=tuple(TRAJECTORY_KEY),
        columns=TEXTS,
        overridden_where="compacted",
    )
    subset: str | None
    oracle_outcome: str | None
    risk_bucket: str | None
    risk_score: float | None
    slice_label: str | None
    risk_signals: RiskSignals | None
    onset_candidates: OnsetCandidates | None
    event_type_counts: EventTypeCounts
    num_steps: int
    truncated: bool
    order_ambiguous: bool
    compacted: bool
    user_turns: list[PacketUserTurn]
    steps: list[EvidenceStep]
    annotation_schema_target: AnnotationSchemaTarget


class PacketIndex(Keyed):
    """What asking needs to know about a packet: its digest, and whether it is to be judged."""

    packet_sha256: str
    to_judge: bool
    estimated_tokens: int
    fits: bool


class PacketCut(Keyed):
    """One shortened text of a packet. Evidence, against which quotes are checked, has the whole text."""

    REASONS: ClassVar[list[str]] = ["rule_id"]
    place: str
    number: int
    field: str
    characters: int
    left_out: int
    rule_id: str


PacketIndexes = Annotated[pl.LazyFrame, PacketIndex]
PacketCuts = Annotated[pl.LazyFrame, PacketCut]
Packets = Annotated[pl.LazyFrame, Packet]
Evidences = Annotated[pl.LazyFrame, Evidence]
