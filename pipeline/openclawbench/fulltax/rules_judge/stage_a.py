"""Stage A of the rules judge (paper E.3, T25): recall-oriented triage. Routes, never labels."""

from openclawbench.fulltax.rules_judge.trace import TEXT_FIELDS, Trace
from openclawbench.fulltax.rules_judge.trigger import Trigger
from openclawbench.fulltax.rules_judge.triggers import cited_quotes, find_triggers, strong_triggers
from openclawbench.records.fulltax import StageA, SubtypeTrigger
from openclawbench.records.packet import Evidence
from openclawbench.records.vocabulary import RouteLabel, RoutingConfidence
from openclawbench.rules.fulltax.judge import JudgeRules
from openclawbench.rules.fulltax.taxonomy import Taxonomy


def answer_a(
    evidence: Evidence, rules: JudgeRules, taxonomy: Taxonomy, triggers: list[Trigger] | None = None
) -> StageA:
    """Triage of one trajectory (T25): any trigger, strong or weak, routes it to stage B1; without one it is normal.

    Review is for what cannot be read: no text at all, or a strong trigger that rests on an ambiguous order of results.
    Own choice: confidence is high for a strong trigger, medium for several weak ones, low for one.
    `triggers`: those of the trajectory, if they are known already.
    """
    trace = Trace(evidence, rules)
    triggers = find_triggers(trace) if triggers is None else triggers
    route, why = routed(trace, triggers)
    limit = rules.limits.evidence_quotes
    return StageA(
        trajectory_id=evidence.trajectory_id,
        route_label=route,
        candidate_subtypes=list(dict.fromkeys(trigger.subtype for trigger in triggers)),
        subtype_evidence_triggers=[
            SubtypeTrigger(
                subtype=trigger.subtype, step_id=trigger.onset, trigger=f"{trigger.mechanism} ({trigger.strength})"
            )
            for trigger in triggers
        ],
        reasoning_summary=why,
        evidence_steps=(list(trace.unread_replies) if not triggers else cited_quotes(triggers, limit))[:limit],
        routing_confidence=confidence(trace, triggers),
    )


def routed(trace: Trace, triggers: list[Trigger]) -> tuple[RouteLabel, str]:
    """The route and the reason for it."""
    if not any(getattr(step, field) for step in trace.steps for field in TEXT_FIELDS):
        return "review", "No step has any text, so the process cannot be read."
    sensitive = [
        trigger for trigger in strong_triggers(triggers) if trigger.mechanism in trace.rules.triage.order_sensitive
    ]
    if trace.evidence.order_ambiguous and sensitive:
        return "review", f"Which result belongs to which call is ambiguous, and this rests on it: {sensitive[0].reason}"
    if not triggers and trace.unread_replies:
        place = f"step {trace.unread_replies[0].step_id}: {trace.unread_replies[0].quote}"
        return (
            "review",
            f"No mechanism has a visible cue, but a reply is in a language whose words are not known ({place}).",
        )
    if triggers:
        return "structured_annotation", " ".join(dict.fromkeys(trigger.reason for trigger in triggers[:3]))
    return "no_anomaly_evidence", "No mechanism of the taxonomy has a visible cue in the steps."


def confidence(trace: Trace, triggers: list[Trigger]) -> RoutingConfidence:
    """How sure the route is. Without a trigger, an unseen part of the trajectory makes it uncertain."""
    if strong_triggers(triggers):
        return "high"
    if triggers:
        return "medium" if len(triggers) >= trace.rules.limits.medium_weak_triggers else "low"
    is_whole = not (trace.evidence.truncated or trace.evidence.compacted or any(step.partial for step in trace.steps))
    return "high" if is_whole else "low"
