"""How an annotation is repaired (paper T29): the repair that a finding names, and the fix that Stage C asks for."""

import json
from dataclasses import dataclass
from typing import Any

from openclawbench.fulltax.annotation.checks import check
from openclawbench.fulltax.annotation.couplings import cue_outside
from openclawbench.fulltax.annotation.draft import CheckFinding, Draft
from openclawbench.fulltax.annotation.quote_grounding import is_grounded
from openclawbench.records.fulltax import RequiredFix, Span
from openclawbench.records.packet import Evidence
from openclawbench.records.vocabulary import ONSETS
from openclawbench.rules.fulltax.checks import CheckRules
from openclawbench.rules.fulltax.repairs import RepairRules
from openclawbench.rules.fulltax.taxonomy import Taxonomy


@dataclass(frozen=True)
class RuleSet:
    """The rule files that decide an annotation."""

    taxonomy: Taxonomy
    checks: CheckRules
    repairs: RepairRules


def check_and_repair(draft: Draft, evidence: Evidence, rules: RuleSet) -> list[CheckFinding]:
    """The findings that remain after every structural and unambiguous repair."""
    for finding in check(draft, evidence, rules.taxonomy, rules.checks):
        apply_repair(draft, evidence, finding, rules)
    return check(draft, evidence, rules.taxonomy, rules.checks)


def apply_repair(draft: Draft, evidence: Evidence, finding: CheckFinding, rules: RuleSet) -> None:
    """Make the repair that a finding names, unless an earlier finding led to it already."""
    if finding.repair == "l1_from_l2":
        family = rules.taxonomy.family(draft.anomaly_type_l2) if draft.anomaly_type_l2 else None
        draft.repair("l1_from_l2", "anomaly_type_l1", family)
    elif finding.repair == "unsupported_onset" and finding.field and getattr(draft, finding.field) is not None:
        draft.repair("unsupported_onset", finding.field, None)
    elif finding.repair == "malformed_span":
        span = span_of_evidence(draft, evidence)
        if span is not None and draft.segment_spans != [span]:
            draft.repair("malformed_span", "segment_spans", [span])
    elif finding.repair == "span_from_cue":
        first_step = cue_outside(draft, evidence, rules.checks)
        if first_step is not None:
            draft.repair("span_from_cue", "segment_spans", widened(draft.segment_spans, first_step))
    elif finding.repair == "unfound_quote":
        grounded = [quote for quote in draft.evidence_steps if is_grounded(evidence, quote)]
        if grounded != draft.evidence_steps:
            draft.repair("unfound_quote", "evidence_steps", grounded)


def span_of_evidence(draft: Draft, evidence: Evidence) -> Span | None:
    """The first to the last step with a grounded quote; None if no step has one."""
    steps = [
        quote.step_id for quote in draft.evidence_steps if quote.field != "user_turn" and is_grounded(evidence, quote)
    ]
    return Span(start_step=min(steps), end_step=max(steps), label="anomalous") if steps else None


def widened(spans: list[Span], first_step: int) -> list[Span]:
    """The spans with the first anomalous one beginning at this step. Other spans end before it; those inside it go."""
    first = min((span for span in spans if span.label == "anomalous"), key=lambda span: span.start_step)
    before = [
        span.model_copy(update={"end_step": min(span.end_step, first_step - 1)})
        for span in spans
        if span.label != "anomalous" and span.start_step < first_step
    ]
    after = [span for span in spans if span is not first and span.start_step > first.start_step]
    return [*before, first.model_copy(update={"start_step": first_step}), *after]


def apply_fix(draft: Draft, fix: RequiredFix, rules: RepairRules) -> bool:
    """Apply a fix that Stage C requires; false where no T29 rule allows it on that B2 field, or its value is wrong."""
    if fix.field not in rules.fixes.get(fix.rule_id, []):
        return False
    name = "annotator_rationale" if fix.field == "annotator_rationale_refined" else fix.field
    try:
        value: Any = None if fix.value is None else json.loads(fix.value)
        if fix.field == "segment_spans":
            draft.repair(fix.rule_id, name, [Span.model_validate(span) for span in value])
        elif (fix.field in ONSETS and value is None) or (name == "annotator_rationale" and isinstance(value, str)):
            draft.repair(fix.rule_id, name, value)
        else:
            return False
    except (ValueError, TypeError):
        return False
    return True
