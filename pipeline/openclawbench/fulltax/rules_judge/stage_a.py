"""Stage A of the rules judge (paper E.3, T25): recall-oriented triage. Routes, never labels."""

from openclawbench.fulltax.rules_judge.detectors import cited, strong, triggers
from openclawbench.fulltax.rules_judge.trace import TEXT_FIELDS, Trace
from openclawbench.fulltax.rules_judge.trigger import Trigger
from openclawbench.records.fulltax import StageA, SubtypeTrigger
from openclawbench.records.packet import Evidence
from openclawbench.records.vocabulary import RouteLabel, RoutingConfidence
from openclawbench.rules.judge import JudgeRules
from openclawbench.rules.taxonomy import Taxonomy


def answer_a(evidence: Evidence, rules: JudgeRules, taxonomy: Taxonomy, found: list[Trigger] | None = None) -> StageA:
    """Triage of one trajectory (T25): any firing, strong or weak, sends it on; nothing fired ends it as normal.

    Review is for what cannot be read: no text at all, or a strong finding that rests on the order of results that is
    ambiguous. Own choice: confidence is high for a strong firing, medium for several weak ones, low for one.
    `found`: all firings, where they are known already.
    """
    trace = Trace(evidence, rules)
    found = triggers(trace) if found is None else found
    route, why = routed(trace, found)
    limit = rules.limits.evidence_quotes
    return StageA(
        trajectory_id=evidence.trajectory_id,
        route_label=route,
        candidate_subtypes=list(dict.fromkeys(one.subtype for one in found)),
        subtype_evidence_triggers=[
            SubtypeTrigger(subtype=one.subtype, step_id=one.onset, trigger=f"{one.mechanism} ({one.strength})")
            for one in found
        ],
        reasoning_summary=why,
        evidence_steps=(list(trace.unread_replies) if not found else cited(found, limit))[:limit],
        routing_confidence=confidence(trace, found),
    )


def routed(trace: Trace, found: list[Trigger]) -> tuple[RouteLabel, str]:
    """The route and the sentence that says why."""
    if not any(getattr(step, field) for step in trace.steps for field in TEXT_FIELDS):
        return "review", "No step has any text, so the process cannot be read."
    sensitive = [one for one in strong(found) if one.mechanism in trace.rules.triage.order_sensitive]
    if trace.evidence.order_ambiguous and sensitive:
        return "review", f"Which result belongs to which call is ambiguous, and this rests on it: {sensitive[0].reason}"
    if not found and trace.unread_replies:
        said = f"step {trace.unread_replies[0].step_id}: {trace.unread_replies[0].quote}"
        return (
            "review",
            f"No mechanism has a visible cue, but a reply is in a language whose words are not known ({said}).",
        )
    if found:
        return "structured_annotation", " ".join(dict.fromkeys(one.reason for one in found[:3]))
    return "no_anomaly_evidence", "No mechanism of the taxonomy has a visible cue in the steps."


def confidence(trace: Trace, found: list[Trigger]) -> RoutingConfidence:
    """How sure the route is. An unseen part of the trajectory makes a finding of nothing uncertain."""
    if strong(found):
        return "high"
    if found:
        return "medium" if len(found) >= trace.rules.limits.medium_weak_triggers else "low"
    whole = not (trace.evidence.truncated or trace.evidence.compacted or any(step.partial for step in trace.steps))
    return "high" if whole else "low"
