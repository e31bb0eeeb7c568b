"""FullTax: what each stage answers (paper T25-T28), what is asked, what became of an answer, what merge decides.

The four Stage* models are the contract that a judge's JSON must meet. Their docstrings, and those of the records in
them, are part of the schema that is sent, and so of the key of every stored answer: do not edit them.
"""

from typing import Annotated, ClassVar

import polars as pl
from pydantic import AfterValidator

from openclawbench.records.vocabulary import (
    AbsorbedSubtype,
    CandidateSubtype,
    Check,
    EvidenceField,
    Family,
    Recoverability,
    RouteLabel,
    RoutingConfidence,
    Severity,
    SpanLabel,
    Subtype,
    Verdict,
)
from openclawbench.tables.record import Keyed, Record

LARGEST = 2**63 - 1  # that an integer column can store


def storable(number: int) -> int:
    """The number; ValueError where no column can store it, so that the answer does not meet its schema."""
    if abs(number) > LARGEST:
        raise ValueError("is larger than any step number")
    return number


Number = Annotated[int, AfterValidator(storable)]


class EvidenceQuote(Record):
    """A cited place: the quote must stand in that field of that step. For user_turn, step_id is the turn's number."""

    step_id: Number
    field: EvidenceField
    quote: str


class SubtypeTrigger(Record):
    """Why Stage A names a candidate."""

    subtype: CandidateSubtype
    step_id: Number
    trigger: str


class Span(Record):
    """Steps start_step to end_step, both included."""

    start_step: Number
    end_step: Number
    label: SpanLabel


class Issue(Record):
    """Something a check found (T28)."""

    check: Check
    message: str


class RequiredFix(Record):
    """A fix that Stage C asks for; `value` is JSON text of the new value."""

    rule_id: str
    field: str
    value: str | None
    reason: str


class Repair(Record):
    """A deterministic repair (T29) that was made; before and after are JSON text."""

    rule_id: str
    field: str
    before: str | None
    after: str | None


class StageA(Record):
    """Paper T25: triage, recall-oriented. Routes; never a label."""

    trajectory_id: str
    route_label: RouteLabel
    candidate_subtypes: list[CandidateSubtype]
    subtype_evidence_triggers: list[SubtypeTrigger]
    reasoning_summary: str
    evidence_steps: list[EvidenceQuote]
    routing_confidence: RoutingConfidence


class StageB1(Record):
    """Paper T26: the closed-set subtype decision. trajectory_is_anomalous is null where it cannot be told."""

    trajectory_id: str
    trajectory_is_anomalous: bool | None
    dominant_episode_exists: bool
    anomaly_type_l1: Family | None
    anomaly_type_l2: Subtype | None
    absorbed_from: AbsorbedSubtype | None
    evidence_steps: list[EvidenceQuote]
    annotator_rationale: str


class StageB2(Record):
    """Paper T27: where it is and how bad."""

    trajectory_id: str
    segment_spans: list[Span]
    earliest_recoverable_onset: Number | None
    earliest_harmful_onset: Number | None
    earliest_state_contamination_onset: Number | None
    recoverability: Recoverability
    severity: Severity
    annotator_rationale_refined: str


class StageC(Record):
    """Paper E.6: is the annotation consistent?"""

    trajectory_id: str
    verdict: Verdict
    issues: list[Issue]
    required_fixes: list[RequiredFix]
    short_rationale: str


class Usage(Record):
    """Tokens of one answer; zeros for a judge that uses none."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int


class JudgeRequest(Keyed):
    """One question to a judge. `previous` is JSON text of the earlier stages' answers that the stage builds on."""

    stage: str
    purpose: str
    schema_id: str
    schema_sha256: str
    prompt_version: str
    prompt_sha256: str
    packet_sha256: str
    fits: bool
    previous: str | None
    request_sha256: str


class FormerAnswer(Record):
    """An answer that does not meet the schema, verbatim. The question was asked once more."""

    text: str
    outcome: str
    request_id: str | None


class JudgeAnswer(Keyed):
    """An answer, verbatim, before it is parsed. Usage and cost include those of a former answer."""

    purpose: str
    request_sha256: str
    response_text: str
    finish: str
    text_from: str
    reasoning: str | None
    former: FormerAnswer | None
    judge: str
    judge_model: str
    usage: Usage
    cost_usd: float
    request_id: str | None


class Decision(Keyed):
    """What became of an answer. The table of each stage adds its parsed answer."""

    REASONS: ClassVar[list[str]] = ["purpose", "outcome", "failure"]
    purpose: str
    outcome: str
    failure: str | None
    prompt_version: str
    judge: str
    judge_model: str
    usage: Usage
    cost_usd: float
    request_id: str | None
    request_sha256: str
    packet_sha256: str
    response_text: str
    reasoning: str | None
    former: FormerAnswer | None
    issues: list[Issue]
    repairs: list[Repair]


class RequestA(JudgeRequest):
    """Stage A questions."""


class RequestB1(JudgeRequest):
    """Stage B1 questions."""


class RequestB2(JudgeRequest):
    """Stage B2 questions."""


class RequestC(JudgeRequest):
    """Stage C questions."""


class AnswerA(JudgeAnswer):
    """Stage A answers."""


class AnswerB1(JudgeAnswer):
    """Stage B1 answers."""


class AnswerB2(JudgeAnswer):
    """Stage B2 answers."""


class AnswerC(JudgeAnswer):
    """Stage C answers."""


class DecisionA(Decision):
    """T25 of a trajectory."""

    answer: StageA | None


class DecisionB1(Decision):
    """T26 of a trajectory."""

    answer: StageB1 | None


class DecisionB2(Decision):
    """T27 of a trajectory."""

    answer: StageB2 | None


class DecisionC(Decision):
    """T28 of a trajectory."""

    answer: StageC | None


class PromptVersions(Record):
    """Version of the prompt of each stage; null where the stage was not asked."""

    a: str | None
    b1: str | None
    b2: str | None
    c: str | None


class JudgeProvenance(Record):
    """What made a label."""

    judge: str | None
    judge_model: str | None
    prompt_versions: PromptVersions
    packet_sha256: str
    usage: Usage
    cost_usd: float
    request_ids: list[str]


class Annotation(Keyed):
    """The label of one trajectory after checks and repairs, with its tier. Made from evidence and answers alone."""

    REASONS: ClassVar[list[str]] = ["source_model", "quality_tier", "review_cause"]
    is_anomalous: bool | None
    anomaly_type_l1: str | None
    anomaly_type_l2: str | None
    absorbed_from: str | None
    dominant_episode_exists: bool | None
    evidence_steps: list[EvidenceQuote]
    segment_spans: list[Span]
    earliest_recoverable_onset: int | None
    earliest_harmful_onset: int | None
    earliest_state_contamination_onset: int | None
    severity: str | None
    recoverability: str | None
    annotator_rationale: str | None
    quality_tier: str | None
    review_cause: str | None
    issues: list[Issue]
    repairs: list[Repair]
    stage_a: StageA | None
    stage_b1: StageB1 | None
    stage_b2: StageB2 | None
    stage_c: StageC | None
    provenance: JudgeProvenance


RequestsA = Annotated[pl.LazyFrame, RequestA]
RequestsB1 = Annotated[pl.LazyFrame, RequestB1]
RequestsB2 = Annotated[pl.LazyFrame, RequestB2]
RequestsC = Annotated[pl.LazyFrame, RequestC]
AnswersA = Annotated[pl.LazyFrame, AnswerA]
AnswersB1 = Annotated[pl.LazyFrame, AnswerB1]
AnswersB2 = Annotated[pl.LazyFrame, AnswerB2]
AnswersC = Annotated[pl.LazyFrame, AnswerC]
DecisionsA = Annotated[pl.LazyFrame, DecisionA]
DecisionsB1 = Annotated[pl.LazyFrame, DecisionB1]
DecisionsB2 = Annotated[pl.LazyFrame, DecisionB2]
DecisionsC = Annotated[pl.LazyFrame, DecisionC]
Annotations = Annotated[pl.LazyFrame, Annotation]
