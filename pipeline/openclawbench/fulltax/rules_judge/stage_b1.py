"""Stage B1 of the rules judge (paper E.4, T26): the closed-set decision, by the earliest strong mechanism (D.5)."""

from dataclasses import dataclass, field

from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.fulltax.rules_judge.trigger import Trigger
from openclawbench.fulltax.rules_judge.triggers import cited_quotes, find_triggers, strong_triggers, unread_triggers
from openclawbench.records.fulltax import EvidenceQuote, StageB1
from openclawbench.records.packet import Evidence
from openclawbench.rules.fulltax.judge import JudgeRules
from openclawbench.rules.fulltax.taxonomy import Taxonomy


@dataclass(frozen=True)
class Primary:
    """The trigger that carries the label, or the rivals between which no boundary rule decides."""

    trigger: Trigger | None
    rivals: list[Trigger]
    unread: list[Trigger] = field(default_factory=list)  # those that would carry it if all texts could be read


def primary(triggers: list[Trigger], rules: JudgeRules) -> Primary:
    """The strong trigger with the earliest onset; thinking comes before the act of the same step.

    Triggers of different subtypes that begin at the same place are rivals: a T20 rule decides, or the label stays open.
    """
    candidates = strong_triggers(triggers)
    if not candidates:
        return Primary(None, [], unread_triggers(triggers))
    first = [trigger for trigger in candidates if trigger.begins == candidates[0].begins]
    labels = list(dict.fromkeys(trigger.label for trigger in first))
    winners = [label for label in labels if all(rules.prefers(label, other) for other in labels if other != label)]
    if not winners:
        return Primary(None, first)
    return Primary(next(trigger for trigger in first if trigger.label == winners[0]), [])


def answer_b1(
    evidence: Evidence, rules: JudgeRules, taxonomy: Taxonomy, triggers: list[Trigger] | None = None
) -> StageB1:
    """The subtype decision of one trajectory (T26): true with a subtype, false, or None if the boundary is open.

    `triggers`: those of the trajectory, if they are known already.
    """
    trace = Trace(evidence, rules)
    triggers = find_triggers(trace) if triggers is None else triggers
    decided = primary(triggers, rules)
    chosen = decided.trigger
    if chosen is not None:
        secondary = [trigger for trigger in strong_triggers(triggers) if trigger.label != chosen.label]
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
    undecided_triggers = decided.rivals or decided.unread
    unread = (quote for trigger in decided.unread for quote in trigger.unread)
    languages = () if decided.rivals else (*unread, *trace.unread_replies)
    quotes = [*dict.fromkeys(languages), *cited_quotes(undecided_triggers or triggers, rules.limits.evidence_quotes)]
    return StageB1(
        trajectory_id=evidence.trajectory_id,
        trajectory_is_anomalous=None if decided.rivals or languages else False,
        dominant_episode_exists=False,
        anomaly_type_l1=None,
        anomaly_type_l2=None,
        absorbed_from=None,
        evidence_steps=quotes[: rules.limits.evidence_quotes],
        annotator_rationale=why_none(triggers, decided, languages),
    )


def why_none(triggers: list[Trigger], decided: Primary, languages: tuple[EvidenceQuote, ...]) -> str:
    """Why there is no subtype."""
    if decided.rivals:
        return undecided(decided.rivals)
    if not languages:
        return not_anomalous(triggers)
    places = ", ".join(dict.fromkeys(f"step {quote.step_id}: {quote.quote}" for quote in languages))
    reason = f"What is not said can only be told in a language whose words are known ({places})."
    return f"{reason} {decided.unread[0].reason}" if decided.unread else reason


def undecided(rivals: list[Trigger]) -> str:
    """Why there is no subtype although there are rivals."""
    labels = " and ".join(dict.fromkeys(trigger.label for trigger in rivals))
    return f"{labels} begin at the same place, step {rivals[0].onset}, and no boundary rule decides between them."


def not_anomalous(triggers: list[Trigger]) -> str:
    """Why a trajectory is normal: there is no trigger, or only weak ones."""
    if not triggers:
        return "No mechanism of the taxonomy has a visible cue in the steps."
    seen = " ".join(dict.fromkeys(trigger.reason for trigger in triggers[:2]))
    return f"Only weak cues, not sufficient for any subtype. {seen}"
