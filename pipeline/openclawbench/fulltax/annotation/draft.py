"""A draft of an annotation: the fields that B1 and B2 decided, as checks read them and repairs change them."""

import json
from dataclasses import dataclass, field
from typing import Any

from openclawbench.records.fulltax import EvidenceQuote, Issue, Repair, Span, StageB1, StageB2
from openclawbench.records.packet import Evidence, EvidenceStep
from openclawbench.records.vocabulary import ONSETS


@dataclass
class Draft:
    """Made from evidence and answers alone."""

    is_anomalous: bool | None = None
    anomaly_type_l1: str | None = None
    anomaly_type_l2: str | None = None
    absorbed_from: str | None = None
    dominant_episode_exists: bool | None = None
    evidence_steps: list[EvidenceQuote] = field(default_factory=list)
    segment_spans: list[Span] = field(default_factory=list)
    earliest_recoverable_onset: int | None = None
    earliest_harmful_onset: int | None = None
    earliest_state_contamination_onset: int | None = None
    severity: str | None = None
    recoverability: str | None = None
    annotator_rationale: str | None = None
    structured: bool = False  # B2 has a readable answer
    repairs: list[Repair] = field(default_factory=list)

    @classmethod
    def as_answered(cls, b1: StageB1 | None, b2: StageB2 | None) -> "Draft":
        """The draft of these answers, neither checked nor repaired."""
        draft = cls()
        if b1 is not None:
            draft.take_b1(b1)
        if b2 is not None:
            draft.take_b2(b2)
        return draft

    def take_b1(self, b1: StageB1) -> None:
        """Take over B1's decision."""
        self.is_anomalous = b1.trajectory_is_anomalous
        self.anomaly_type_l1, self.anomaly_type_l2 = b1.anomaly_type_l1, b1.anomaly_type_l2
        self.absorbed_from = b1.absorbed_from
        self.dominant_episode_exists = b1.dominant_episode_exists
        self.evidence_steps = list(b1.evidence_steps)
        self.annotator_rationale = b1.annotator_rationale

    def take_b2(self, b2: StageB2) -> None:
        """Take over B2's structure. Its refined rationale, if any, replaces B1's."""
        self.segment_spans = list(b2.segment_spans)
        for name in ONSETS:
            setattr(self, name, getattr(b2, name))
        self.severity, self.recoverability = b2.severity, b2.recoverability
        self.annotator_rationale = b2.annotator_rationale_refined or self.annotator_rationale
        self.structured = True

    def repair(self, rule_id: str, name: str, after: Any) -> None:
        """Change one field and record it."""
        before = getattr(self, name)
        setattr(self, name, after)
        self.repairs.append(Repair(rule_id=rule_id, field=name, before=as_json(before), after=as_json(after)))


DECIDED = [name for name in Draft.__dataclass_fields__ if name not in ("structured", "repairs")]  # fields of a label


def as_json(value: Any) -> str | None:
    """JSON text of a field's value; None stays None."""
    if value is None:
        return None
    return json.dumps([item.model_dump() for item in value] if isinstance(value, list) else value, ensure_ascii=False)


@dataclass(frozen=True)
class CheckFinding:
    """An issue, the review cause that it leads to if it remains, and the repair that may resolve it."""

    issue: Issue
    cause: str
    repair: str | None = None  # repair rule id
    field: str | None = None


def make_finding(
    check: Any, message: str, cause: str, repair: str | None = None, field: str | None = None
) -> CheckFinding:
    """One finding of a check."""
    return CheckFinding(Issue(check=check, message=message), cause, repair, field)


def step_at(evidence: Evidence, step_id: int | None) -> EvidenceStep | None:
    """The step with this number, or None."""
    return next((step for step in evidence.steps if step.step_id == step_id), None)
