"""Stage B1 of the rules judge (paper E.4, T26): the closed-set decision, by the earliest strong mechanism (D.5)."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from openclawbench.fulltax.rules_judge.detectors import cited, strong, triggers, unread
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.fulltax.rules_judge.trigger import Trigger
from openclawbench.records.fulltax import EvidenceQuote, StageB1
from openclawbench.records.packet import Evidence
from openclawbench.rules.judge import JudgeRules
from openclawbench.rules.taxonomy import Taxonomy


@dataclass(frozen=True)
class Primary:
    """The mechanism that carries the label, or the rivals whose boundary cannot be told."""

    trigger: Trigger | None
    rivals: list[Trigger]
    unread: list[Trigger] = field(default_factory=list)  # what would carry it if all texts could be read


def primary(found: list[Trigger], rules: JudgeRules) -> Primary:
    """The strong firing with the earliest onset; thinking comes before the act of the same step.

    Firings of different subtypes that begin at the same place are rivals: a T20 rule decides, else nobody does.
    """
    candidates = strong(found)
    if not candidates:
        return Primary(None, [], unread(found))
    first = [one for one in candidates if one.begins == candidates[0].begins]
    labels = list(dict.fromkeys(one.label for one in first))
    winners = [label for label in labels if all(rules.prefers(label, other) for other in labels if other != label)]
    if not winners:
        return Primary(None, first)
    return Primary(next(one for one in first if one.label == winners[0]), [])


def answer_b1(evidence: Evidence, rules: JudgeRules, taxonomy: Taxonomy, found: list[Trigger] | None = None) -> StageB1:
    """The subtype decision of one trajectory (T26): true with a subtype, false, or null where the boundary is open.
    `found`: all firings, where they are known already."""
    trace = Trace(evidence, rules)
    found = triggers(trace) if found is None else found
    decided = primary(found, rules)
    chosen = decided.trigger
    if chosen is not None:
        secondary = [one for one in strong(found) if one.label != chosen.label]
        also = f" Secondary: {secondary[0].reason}" if secondary else ""
        return StageB1.model_validate(
            {
                "trajectory_id": evidence.trajectory_id,
                "trajectory_is_anomalous": True,
                "dominant_episode_exists": True,
                "anomaly_type_l1": taxonomy.family(chosen.label),
                "anomaly_type_l2": chosen.label,
                "absorbed_from": chosen.subtype if chosen.into else None,
                "evidence_steps": list(chosen.evidence),
                "annotator_rationale": chosen.reason + also,
            }
        )
    open_to = decided.rivals or decided.unread
    languages = (
        () if decided.rivals else (*(one for some in decided.unread for one in some.unread), *trace.unread_replies)
    )
    quotes = [*dict.fromkeys(languages), *cited(open_to or found, rules.limits.evidence_quotes)]
    return StageB1(
        trajectory_id=evidence.trajectory_id,
        trajectory_is_anomalous=None if decided.rivals or languages else False,
        dominant_episode_exists=False,
        anomaly_type_l1=None,
        anomaly_type_l2=None,
        absorbed_from=None,
        evidence_steps=quotes[: rules.limits.evidence_quotes],
        annotator_rationale=why_none(found, decided, languages),
    )


def why_none(found: list[Trigger], decided: Primary, languages: tuple[EvidenceQuote, ...]) -> str:
    """Why there is no subtype."""
    if decided.rivals:
        return undecided(decided.rivals)
    if not languages:
        return not_anomalous(found)
    read = f"What is not said can only be told in a language whose words are known ({', '.join(named(languages))})."
    return f"{read} {decided.unread[0].reason}" if decided.unread else read


def named(languages: Iterable[EvidenceQuote]) -> list[str]:
    """The citations of languages in words, each once."""
    return list(dict.fromkeys(f"step {one.step_id}: {one.quote}" for one in languages))


def undecided(rivals: list[Trigger]) -> str:
    """Why no subtype is chosen."""
    labels = " and ".join(dict.fromkeys(one.label for one in rivals))
    return f"{labels} begin at the same place, step {rivals[0].onset}, and no boundary rule decides between them."


def not_anomalous(found: list[Trigger]) -> str:
    """Why a trajectory is normal: nothing was found, or nothing strong enough."""
    if not found:
        return "No mechanism of the taxonomy has a visible cue in the steps."
    seen = " ".join(dict.fromkeys(one.reason for one in found[:2]))
    return f"Only weak cues, not sufficient for any subtype. {seen}"
