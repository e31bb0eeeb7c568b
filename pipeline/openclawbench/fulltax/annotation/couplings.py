"""What a subtype needs in its span (T28): a descriptor shows it, or else a citation that stands. Descriptors are
computed and can be wrong: one alone sends no label into review."""

from collections.abc import Callable, Iterator

from openclawbench.base.canonical_json import canonical_json
from openclawbench.fulltax.annotation.draft import Draft, Finding, finding, step_at
from openclawbench.fulltax.annotation.quote_grounding import is_grounded
from openclawbench.records.fulltax import Repair
from openclawbench.records.packet import Evidence, EvidenceStep
from openclawbench.rules.checks import CheckRules, Coupling

NAME = "subtype_field_coupling"
NAMED = 4  # steps that a message names


def subtype_field_coupling(draft: Draft, evidence: Evidence, rules: CheckRules) -> Iterator[Finding]:
    """A write in the span; in the span an error before its last risky step. What is missing names the descriptors that
    stand against the label; an error that lies before the span is a matter of the span."""
    inside = episode(draft, evidence)
    if not draft.structured or not inside:
        return
    for rule in rules.of(draft.anomaly_type_l2):
        if described(rule, inside) or cited(rule, draft, evidence, inside, rules):
            continue
        if rule.before_last_risky and cue_outside(draft, evidence, rules) is not None:
            message = f"the error lies before the span, which begins at step {inside[0].step_id}"
            yield finding(NAME, message, "subtype_contradiction", "span_from_cue", "segment_spans")
        else:
            yield finding(NAME, f"{rule.message}: {against(rule, inside)}", "subtype_contradiction")


def contaminates(step: EvidenceStep, draft: Draft, evidence: Evidence, rules: CheckRules) -> bool:
    """True for a step that writes the agent's own state: by its descriptors, or by a citation of the call."""
    return (
        step.event_type == "state_write"
        or step.state_write_target is not None
        or is_cited(step, draft, evidence, rules)
    )


def is_cited(step: EvidenceStep, draft: Draft, evidence: Evidence, rules: CheckRules) -> bool:
    """True where a quote of the step's call stands, and the call may have written something."""
    return rules.may_write(step) and any(
        quote.step_id == step.step_id and quote.field == "action_text" and is_grounded(evidence, quote)
        for quote in draft.evidence_steps
    )


def episode(draft: Draft, evidence: Evidence) -> list[EvidenceStep]:
    """The steps of the anomalous spans."""
    spans = [one for one in draft.segment_spans if one.label == "anomalous"]
    return [step for step in evidence.steps if any(one.start_step <= step.step_id <= one.end_step for one in spans)]


def looked_at(rule: Coupling, inside: list[EvidenceStep]) -> list[EvidenceStep]:
    """The steps of the span in which a rule looks."""
    return [step for step in inside if step.step_id < last_risky(inside).step_id] if rule.before_last_risky else inside


def last_risky(inside: list[EvidenceStep]) -> EvidenceStep:
    """The last step of a span with a side effect, else its last step."""
    return next((step for step in reversed(inside) if step.side_effect), inside[-1])


def described(rule: Coupling, inside: list[EvidenceStep]) -> bool:
    """True where a descriptor shows what the subtype needs."""
    return any(rule.shown_by(step) for step in looked_at(rule, inside))


def cited(
    rule: Coupling, draft: Draft, evidence: Evidence, inside: list[EvidenceStep], rules: CheckRules
) -> EvidenceStep | None:
    """The first step whose citation shows what no descriptor does: the call that writes, or the feedback with the
    error; the last risky step where a notice before it says how a background call ended."""
    steps = {step.step_id: step for step in looked_at(rule, inside)}
    last = last_risky(inside)
    found = []
    for quote in draft.evidence_steps:
        if quote.field not in rule.cited or not is_grounded(evidence, quote):
            continue
        if quote.field == "user_turn":
            if last.user_turn is not None and quote.step_id <= last.user_turn and ends_a_call(quote.step_id, evidence):
                found.append(last)
        elif (step := steps.get(quote.step_id)) and (quote.field != "action_text" or rules.may_write(step)):
            found.append(step)
    return min(found, key=lambda step: step.step_id, default=None)


def ends_a_call(user_turn: int, evidence: Evidence) -> bool:
    """True for a user turn whose notice says how a background call ended, other than well."""
    return any(one.resolved_by_user_turn == user_turn and one.resolved_status != "ok" for one in evidence.steps)


def cue_outside(draft: Draft, evidence: Evidence, rules: CheckRules) -> int | None:
    """Where the error is that the span leaves out: the first that is cited, else the only one that there is. Null where
    none is, or where it is open which."""
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
        named = [
            step_id
            for step_id, field in sorted(quoted)
            if step_id < inside[0].step_id and (field in rule.cited or step_id in shown)
        ]
        if named:
            return named[0]
        if len(shown) == 1:
            return shown[0]
    return None


def against(rule: Coupling, inside: list[EvidenceStep]) -> str:
    """The descriptors that stand against a label."""
    steps = [f"step {one.step_id} has {rule.descriptor(one)}" for one in looked_at(rule, inside)]
    more = f" and {len(steps) - NAMED} more" if len(steps) > NAMED else ""
    return "; ".join(steps[:NAMED]) + more if steps else f"no step stands before step {last_risky(inside).step_id}"


def outvoted(draft: Draft, evidence: Evidence, rules: CheckRules) -> list[Repair]:
    """Of an accepted label the descriptors that a citation stands against: how each was taken."""
    inside = episode(draft, evidence)
    if not draft.structured or not inside:
        return []
    taken: list[tuple[EvidenceStep, str, Callable[[EvidenceStep], object], object]] = []
    for rule in rules.of(draft.anomaly_type_l2):
        step = None if described(rule, inside) else cited(rule, draft, evidence, inside, rules)
        if step is not None and step in looked_at(rule, inside):
            taken.append((step, rule.field, rule.value, rule.wanted(step)))
    step = step_at(evidence, draft.earliest_state_contamination_onset)
    if step is not None and step.event_type != "state_write" and step.state_write_target is None:
        taken.append((step, "event_type", lambda one: one.event_type, "state_write"))
    return [
        Repair(
            rule_id="descriptor_outvoted",
            field=f"steps.{step.step_id}.{field}",
            before=canonical_json(value(step)),
            after=canonical_json(after),
        )
        for step, field, value, after in taken
    ]
