"""How an annotation is decided: accepted, or in review with a cause (paper T22, T30). records/tiers.py names the tier.

The control flow is laid out in docs/why/decisions/.
"""

from typing import Any

from openclawbench.fulltax.annotation.draft import CheckFinding, Draft
from openclawbench.fulltax.annotation.quote_grounding import cites_unread_language
from openclawbench.fulltax.annotation.repairs import RuleSet, apply_fix, check_and_repair
from openclawbench.records.fulltax import EvidenceQuote, StageA, StageB1, StageB2, StageC
from openclawbench.records.packet import Evidence

StageDecisions = dict[str, dict[str, Any] | None]  # stage -> its Decision row; None if it was not asked
Conclusion = tuple[str | None, list[CheckFinding]]  # review cause (null: accepted), and the findings that remain
UNREAD = {"missing_fields": "missing_structural_fields", "too_long": "too_long"}  # failure -> review cause


def conclude(draft: Draft, evidence: Evidence, decisions: StageDecisions, rules: RuleSet) -> Conclusion:
    """Fill the draft from the decisions of all stages, check and repair it; the review cause and what remains."""
    if evidence.num_steps == 0:
        return "no_agent_action", []
    if decisions["a"] is None:
        return "unmatched_oracle", []
    if unread := next((row for row in decisions.values() if row and row["outcome"] != "parsed"), None):
        return UNREAD.get(unread["failure"], "truncation_or_parse_failure"), []
    triage = StageA.model_validate(decisions["a"]["answer"])
    if triage.route_label == "review":
        return cause_of_doubt(evidence, triage.evidence_steps, "stage_a_review"), []
    if decisions["b1"] is None:
        draft.is_anomalous = False
        draft.annotator_rationale = triage.reasoning_summary
    else:
        draft.take_b1(StageB1.model_validate(decisions["b1"]["answer"]))
        if draft.is_anomalous is None or (draft.is_anomalous and draft.anomaly_type_l2 is None):
            return cause_of_doubt(evidence, draft.evidence_steps, "no_supported_subtype"), []
    if decisions["b2"]:
        draft.take_b2(StageB2.model_validate(decisions["b2"]["answer"]))
    remaining = check_and_repair(draft, evidence, rules)
    if remaining:
        return cause_of_findings(remaining, draft), remaining
    return verify(draft, evidence, decisions["c"], rules)


def cause_of_doubt(evidence: Evidence, quotes: list[EvidenceQuote], otherwise: str) -> str:
    """The review cause of an answer that decides nothing: a language that cannot be read, where it cites one."""
    return "language_not_covered" if cites_unread_language(evidence, quotes) else otherwise


def cause_of_findings(remaining: list[CheckFinding], draft: Draft) -> str:
    """The review cause of the findings that remain: the first one's, or T22's for an onset set to null beside them."""
    onset_removed = any(repair.rule_id == "unsupported_onset" for repair in draft.repairs)
    structural = all(finding.cause in ("malformed_span", "missing_structural_fields") for finding in remaining)
    return "unsupported_onset_with_other_issues" if onset_removed and structural else remaining[0].cause


def verify(draft: Draft, evidence: Evidence, verification: dict[str, Any] | None, rules: RuleSet) -> Conclusion:
    """Apply the verdict of Stage C to an annotation that passed the deterministic checks."""
    if verification is None:
        return None, []
    answer = StageC.model_validate(verification["answer"])
    if answer.verdict == "accept":
        return None, []
    fixes = answer.required_fixes if answer.verdict == "revise" else []
    if not fixes or not all(apply_fix(draft, fix, rules.repairs) for fix in fixes):
        return "verifier_review", []
    remaining = check_and_repair(draft, evidence, rules)
    return (cause_of_findings(remaining, draft), remaining) if remaining else (None, [])
