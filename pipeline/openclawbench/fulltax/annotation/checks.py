"""Deterministic Stage C (paper T28): checks on every annotation, normals included, from Evidence alone."""

from collections.abc import Iterator

from openclawbench.fulltax.annotation.couplings import contaminates, subtype_field_coupling
from openclawbench.fulltax.annotation.draft import CheckFinding, Draft, make_finding, step_at
from openclawbench.fulltax.annotation.quote_grounding import is_grounded
from openclawbench.records.packet import Evidence
from openclawbench.records.vocabulary import ONSETS
from openclawbench.rules.fulltax.checks import CheckRules
from openclawbench.rules.fulltax.taxonomy import Taxonomy


def check(draft: Draft, evidence: Evidence, taxonomy: Taxonomy, rules: CheckRules) -> list[CheckFinding]:
    """All findings, in the order of T28."""
    return [
        *taxonomy_correctness(draft, taxonomy),
        *schema_completeness(draft),
        *span_consistency(draft, evidence),
        *onset_consistency(draft, evidence, rules),
        *subtype_field_coupling(draft, evidence, rules),
        *rationale_grounding(draft, evidence, rules),
    ]


def taxonomy_correctness(draft: Draft, taxonomy: Taxonomy) -> Iterator[CheckFinding]:
    """Labels belong to the closed set; the family is the subtype's; absorption follows the table."""
    name = "taxonomy_correctness"
    l2 = draft.anomaly_type_l2
    if not draft.is_anomalous:
        if l2 is not None or draft.absorbed_from is not None:
            yield make_finding(name, f"not anomalous, yet a subtype is named: {l2}", "subtype_contradiction")
        elif draft.anomaly_type_l1 is not None:
            yield make_finding(
                name, "not anomalous, yet a family is named", "subtype_contradiction", "l1_from_l2", "anomaly_type_l1"
            )
        return
    if l2 is None:
        return
    family = taxonomy.family(l2)
    if family is None:
        yield make_finding(name, f"{l2} is not in the closed set", "subtype_contradiction")
    elif draft.anomaly_type_l1 != family:
        yield make_finding(
            name, f"the family of {l2} is {family}", "subtype_contradiction", "l1_from_l2", "anomaly_type_l1"
        )
    if draft.absorbed_from is not None and not taxonomy.absorbs(draft.absorbed_from, l2):
        yield make_finding(name, f"{l2} does not absorb {draft.absorbed_from}", "subtype_contradiction")


def schema_completeness(draft: Draft) -> Iterator[CheckFinding]:
    """An anomalous annotation has its structure and a rationale."""
    if draft.is_anomalous and draft.anomaly_type_l2 is not None:
        for name in ("severity", "recoverability"):
            if draft.structured and getattr(draft, name) is None:
                yield make_finding("schema_completeness", f"{name} is missing", "missing_structural_fields")
        if not (draft.annotator_rationale or "").strip():
            yield make_finding("schema_completeness", "the rationale is empty", "missing_structural_fields")


def span_consistency(draft: Draft, evidence: Evidence) -> Iterator[CheckFinding]:
    """Spans lie inside the trajectory, start before they end, and one of them is anomalous."""
    if not draft.structured:
        return
    bad = [span for span in draft.segment_spans if not 1 <= span.start_step <= span.end_step <= evidence.num_steps]
    repair = ("malformed_span", "segment_spans")
    for span in bad:
        message = f"span {span.start_step}-{span.end_step} is not inside steps 1-{evidence.num_steps}"
        yield make_finding("span_consistency", message, "malformed_span", *repair)
    if not bad and not any(span.label == "anomalous" for span in draft.segment_spans):
        yield make_finding("span_consistency", "no span is labelled anomalous", "malformed_span", *repair)


def onset_consistency(draft: Draft, evidence: Evidence, rules: CheckRules) -> Iterator[CheckFinding]:
    """Onsets lie inside the trajectory, recoverable not after harmful; contamination begins at a state write."""
    cause = "unsupported_onset_with_other_issues"
    for name in ONSETS:
        onset = getattr(draft, name)
        if onset is not None and not 1 <= onset <= evidence.num_steps:
            yield make_finding("onset_consistency", f"{name} {onset} is no step", cause, "unsupported_onset", name)
    recoverable, harmful = draft.earliest_recoverable_onset, draft.earliest_harmful_onset
    if recoverable is not None and harmful is not None and recoverable > harmful:
        message = f"recoverable onset {recoverable} comes after harmful onset {harmful}"
        for name in ONSETS[:2]:
            yield make_finding("onset_consistency", message, cause, "unsupported_onset", name)
    state = draft.earliest_state_contamination_onset
    step = step_at(evidence, state)
    if step is not None and not contaminates(step, draft, evidence, rules):
        message = f"step {state} writes no state (event_type={step.event_type}), and no call of it is cited that does"
        yield make_finding("onset_consistency", message, cause, "unsupported_onset", ONSETS[2])


def rationale_grounding(draft: Draft, evidence: Evidence, rules: CheckRules) -> Iterator[CheckFinding]:
    """Every quote is grounded. If some are not, they are dropped; if none is, nothing supports the label."""
    quotes = draft.evidence_steps
    unfound = [quote for quote in quotes if not is_grounded(evidence, quote)]
    if draft.is_anomalous and draft.anomaly_type_l2 is not None and len(unfound) == len(quotes):
        if any(rules.names_oracle(quote.quote) for quote in quotes) or (
            not quotes and rules.names_oracle(draft.annotator_rationale or "")
        ):
            yield make_finding(
                "oracle_not_sole_evidence", "only the outcome or a prior is cited", "oracle_only_evidence"
            )
        else:
            yield make_finding("rationale_grounding", "no quote stands where it says", "ungrounded_evidence")
        return
    for quote in unfound:
        message = f"the quote of {quote.field} does not stand in step {quote.step_id}"
        yield make_finding("rationale_grounding", message, "ungrounded_evidence", "unfound_quote", "evidence_steps")
