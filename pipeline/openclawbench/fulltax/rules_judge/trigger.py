"""A trigger: a mechanism of judge.toml that fired, with its onset, its consequence and its citations."""

from collections.abc import Iterable
from dataclasses import dataclass

from openclawbench.fulltax.rules_judge.trace import Place, Trace
from openclawbench.records.fulltax import EvidenceQuote
from openclawbench.records.packet import EvidenceStep
from openclawbench.records.vocabulary import CandidateSubtype, EvidenceField, Subtype
from openclawbench.rules.fulltax.judge import Strength

FIELD_ORDER: tuple[EvidenceField, ...] = (
    "user_turn",
    "thinking",
    "narration",
    "action_text",
    "reflection_text",
    "descriptor",
)


@dataclass(frozen=True)
class Trigger:
    """One firing of a mechanism. The first citation is the cue at the onset. `into`: set for an absorbed candidate."""

    mechanism: str
    subtype: CandidateSubtype
    into: Subtype | None
    strength: Strength
    onset: int
    consequence: int
    evidence: tuple[EvidenceQuote, ...]
    reason: str
    unread: tuple[EvidenceQuote, ...] = ()  # languages of unreadable texts on whose silence it rests

    @property
    def label(self) -> str:
        """The released subtype that the trigger supports."""
        return self.into or self.subtype

    @property
    def begins(self) -> tuple[int, int]:
        """Place of the onset: the step, and the order of the field in it (thinking before the act, T20 and D.5)."""
        return self.onset, FIELD_ORDER.index(self.evidence[0].field)


def fire(
    trace: Trace,
    mechanism: str,
    onset: EvidenceStep,
    consequence: EvidenceStep,
    *evidence: EvidenceQuote,
    silent: Iterable[Place] = (),
) -> Trigger:
    """The trigger of a mechanism of judge.toml. Citations without text are left out, and none is cited twice.

    `silent`: the texts whose words would have kept the mechanism from firing.
    """
    rule = trace.rules.by_mechanism[mechanism]
    cited = tuple(dict.fromkeys(quote for quote in evidence if quote.quote))
    return Trigger(
        mechanism=rule.id,
        subtype=rule.subtype,
        into=rule.into,
        strength=rule.strength,
        onset=onset.step_id,
        consequence=consequence.step_id,
        evidence=cited or (trace.descriptor(onset, "event_type", onset.event_type),),
        reason=rule.reason.format(onset=onset.step_id, consequence=consequence.step_id),
        unread=trace.unread(silent),
    )
