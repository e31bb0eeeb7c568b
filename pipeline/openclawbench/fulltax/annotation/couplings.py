"""What a subtype needs in its span (T28): a descriptor shows it, or else a grounded citation does.

Descriptors are computed and can be wrong: a descriptor alone sends no label into review.
"""

from collections.abc import Callable, Iterator

from openclawbench.base.canonical_json import canonical_json
from openclawbench.fulltax.annotation.draft import CheckFinding, Draft, make_finding, step_at
from openclawbench.fulltax.annotation.quote_grounding import is_grounded
from openclawbench.records.fulltax import Repair
from openclawbench.records.packet import Evidence, EvidenceStep
from openclawbench.rules.fulltax.checks import CheckRules, Coupling

CHECK = "subtype_field_coupling"
MOST_NAMED = 4  # steps that a message names


def subtype_field_coupling(draft: Draft, evidence: Evidence, rules: CheckRules) -> Iterator[CheckFinding]:
    """The span has what its subtype needs: a write, or an error before its last risky step.

    A finding names the descriptors that contradict the label. An error before the span is a fault of the span.
    """
    inside = episode(draft, evidence)
    if not draft.structured or not inside:
        return
    for rule in rules.of(draft.anomaly_type_l2):
        if is_described(rule, inside) or cited_step(rule, draft, evidence, inside, rules):
            continue
        if rule.before_last_risky and cue_outside(draft, evidence, rules) is not None:
            message = f"the error lies before the span, which begins at step {inside[0].step_id}"
            yield make_finding(CHECK, message, "subtype_contradiction", "span_from_cue", "segment_spans")
        else:
            yield make_finding(CHECK, f"{rule.message}: {contradicting(rule, inside)}", "subtype_contradiction")


def contaminates(step: EvidenceStep, draft: Draft, evidence: Evidence, rules: CheckRules) -> bool:
    """True for a step that writes the agent's own state: by its descriptors, or by a citation of the call."""
    return (
        step.event_type == "state_write"
        or step.state_write_target is not None
        or is_cited(step, draft, evidence, rules)
    )


def is_cited(step: EvidenceStep, draft: Draft, evidence: Evidence, rules: CheckRules) -> bool:
    """True if a quote of the step's call is grounded, and the call may have written something."""
    return rules.may_write(step) and any(
        quote.step_id == step.step_id and quote.field == "action_text" and is_grounded(evidence, quote)
        for quote in draft.evidence_steps
    )


def episode(draft: Draft, evidence: Evidence) -> list[EvidenceStep]:
    """The steps of the anomalous spans."""
    spans = [span for span in draft.segment_spans if span.label == "anomalous"]
    return [step for step in evidence.steps if any(span.start_step <= step.step_id <= span.end_step for span in spans)]


def relevant_steps(rule: Coupling, inside: list[EvidenceStep]) -> list[EvidenceStep]:
    """The steps of the span that a rule is about."""
    return [step for step in inside if step.step_id < last_risky(inside).step_id] if rule.before_last_risky else inside


def last_risky(inside: list[EvidenceStep]) -> EvidenceStep:
    """The last step of a span with a side effect, else its last step."""
    return next((step for step in reversed(inside) if step.side_effect), inside[-1])


def is_described(rule: Coupling, inside: list[EvidenceStep]) -> bool:
    """True if a descriptor shows what the subtype needs."""
    return any(rule.shown_by(step) for step in relevant_steps(rule, inside))


def cited_step(
    rule: Coupling, draft: Draft, evidence: Evidence, inside: list[EvidenceStep], rules: CheckRules
) -> EvidenceStep | None:
    """The first step whose citation shows what no descriptor does: the call that writes, or the feedback with the
    error; the last risky step, where a notice before it says how a background call ended. None if there is none."""
    steps = {step.step_id: step for step in relevant_steps(rule, inside)}
    last = last_risky(inside)
    cited = []
    for quote in draft.evidence_steps:
        if quote.field not in rule.cited or not is_grounded(evidence, quote):
            continue
        if quote.field == "user_turn":
            if last.user_turn is not None and quote.step_id <= last.user_turn and ends_a_call(quote.step_id, evidence):
                cited.append(last)
        elif (step := steps.get(quote.step_id)) and (quote.field != "action_text" or rules.may_write(step)):
            cited.append(step)
    return min(cited, key=lambda step: step.step_id, default=None)


def ends_a_call(user_turn: int, evidence: Evidence) -> bool:
    """True for a user turn whose notice says that a background call did not end well."""
    return any(step.resolved_by_user_turn == user_turn and step.resolved_status != "ok" for step in evidence.steps)


def cue_outside(draft: Draft, evidence: Evidence, rules: CheckRules) -> int | None:
    """The step of the error that the span leaves out: the first cited one, else the only one. None if there is none,
    or where several are not cited."""
    inside = episode(draft, evidence)
    for rule in rules.of(draft.anomaly_type_l2):
        if not inside or not rule.before_last_risky:
            continue
        before = [step for step in evidence.steps if step.step_id < inside[0].step_id]
        shown = [step.step_id for step in before if rule.shown_by(step)]
        quoted = {
            (quote.step_id, quote.field)
            for quote in draft.evidence_steps
            if quote.field != "user_turn" and is_grounded(evidence, quote)
        }
        cited = [
            step_id
            for step_id, field in sorted(quoted)
            if step_id < inside[0].step_id and (field in rule.cited or step_id in shown)
        ]
        if cited:
            return cited[0]
        if len(shown) == 1:
            return shown[0]
    return None


def contradicting(rule: Coupling, inside: list[EvidenceStep]) -> str:
    """The descriptors that contradict a label, for a message."""
    steps = [f"step {step.step_id} has {rule.descriptor(step)}" for step in relevant_steps(rule, inside)]
    more = f" and {len(steps) - MOST_NAMED} more" if len(steps) > MOST_NAMED else ""
    return "; ".join(steps[:MOST_NAMED]) + more if steps else f"no step stands before step {last_risky(inside).step_id}"


def outvoted_descriptors(draft: Draft, evidence: Evidence, rules: CheckRules) -> list[Repair]:
    """The descriptors that the citations of an accepted label contradict, each as the repair that it amounts to."""
    inside = episode(draft, evidence)
    if not draft.structured or not inside:
        return []
    outvoted: list[tuple[EvidenceStep, str, Callable[[EvidenceStep], object], object]] = []
    for rule in rules.of(draft.anomaly_type_l2):
        step = None if is_described(rule, inside) else cited_step(rule, draft, evidence, inside, rules)
        if step is not None and step in relevant_steps(rule, inside):
            outvoted.append((step, rule.field, rule.value, rule.wanted(step)))
    step = step_at(evidence, draft.earliest_state_contamination_onset)
    if step is not None and step.event_type != "state_write" and step.state_write_target is None:
        outvoted.append((step, "event_type", lambda other: other.event_type, "state_write"))
    return [
        Repair(
            rule_id="descriptor_outvoted",
            field=f"steps.{step.step_id}.{field}",
            before=canonical_json(value(step)),
            after=canonical_json(after),
        )
        for step, field, value, after in outvoted
    ]
