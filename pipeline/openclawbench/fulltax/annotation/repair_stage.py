"""Repair: checks, deterministic repairs, quality tier (paper E.6-E.8, T28-T30), from Evidence and answers alone."""

import json
from dataclasses import dataclass
from typing import Any

import polars as pl

from openclawbench.fulltax.annotation.checks import check
from openclawbench.fulltax.annotation.couplings import cue_outside, outvoted
from openclawbench.fulltax.annotation.draft import ONSETS, Draft, Finding
from openclawbench.fulltax.annotation.quote_grounding import cites_unread_language, is_grounded
from openclawbench.fulltax.requests import LABEL, by_key
from openclawbench.records.fulltax import (
    Annotation,
    Annotations,
    DecisionsA,
    DecisionsB1,
    DecisionsB2,
    DecisionsC,
    EvidenceQuote,
    RequiredFix,
    Span,
    StageA,
    StageB1,
    StageB2,
    StageC,
)
from openclawbench.records.packet import Evidence, Evidences, PacketIndexes
from openclawbench.records.tiers import tier_of
from openclawbench.rules.checks import CheckRules
from openclawbench.rules.repairs import RepairRules
from openclawbench.rules.taxonomy import Taxonomy
from openclawbench.runtime.stage import stage
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.tables.schema import from_records

UNREAD = {"missing_fields": "missing_structural_fields", "too_long": "too_long"}  # failure -> review cause


@dataclass(frozen=True)
class RuleSet:
    """The rule files that merging decisions reads."""

    taxonomy: Taxonomy
    checks: CheckRules
    repairs: RepairRules


@stage(scope="shard")
def repair(
    packets: PacketIndexes,
    evidence: Evidences,
    triage: DecisionsA,
    subtypes: DecisionsB1,
    structures: DecisionsB2,
    verdicts: DecisionsC,
    taxonomy: Taxonomy,
    checks: CheckRules,
    repairs: RepairRules,
) -> Annotations:
    """One annotation a trajectory, with tier and review cause; every stage's decision kept."""
    rules = RuleSet(taxonomy, checks, repairs)
    digests = by_key(packets.collect().iter_rows(named=True))
    tables = {"a": triage, "b1": subtypes, "b2": structures, "c": verdicts}
    decisions = {
        name: by_key(row for row in table.collect().iter_rows(named=True) if row["purpose"] == LABEL)
        for name, table in tables.items()
    }
    rows = []
    for row in with_what_is_cited(evidence, subtypes).collect().iter_rows(named=True):
        key = (row["source_model"], row["trajectory_id"])
        given = {name: found.get(key) for name, found in decisions.items()}
        packet_sha256 = digests[key]["packet_sha256"]
        rows.append(annotate(Evidence.model_validate(row), given, packet_sha256, rules))
    return from_records(rows, Annotation).lazy()


def with_what_is_cited(evidence: pl.LazyFrame, subtypes: pl.LazyFrame) -> pl.LazyFrame:
    """Evidence, its steps and user turns left out where B1 was not asked: an annotation cites what B1 and B2 cite, and
    where it cites nothing no check looks at a step."""
    asked = subtypes.select(*TRAJECTORY_KEY, asked=pl.lit(True)).unique()
    texts = [pl.when(pl.col("asked")).then(pl.col(name)).otherwise([]) for name in ("user_turns", "steps")]
    joined = evidence.join(asked, on=TRAJECTORY_KEY, how="left", maintain_order="left")
    return joined.with_columns(texts).drop("asked")


def annotate(
    evidence: Evidence, given: dict[str, dict[str, Any] | None], packet_sha256: str, rules: RuleSet
) -> dict[str, Any]:
    """The annotation of one trajectory."""
    draft = Draft()
    cause, findings = conclude(draft, evidence, given, rules)
    if cause is None:
        draft.repairs += outvoted(draft, evidence, rules.checks)
    format_repairs = [one for decision in given.values() if decision for one in decision["repairs"]]
    made = [*format_repairs, *(one.model_dump() for one in draft.repairs)]
    tier = tier_of(cause, bool(made), (decision["judge"] for decision in given.values() if decision))
    plain = {name: getattr(draft, name) for name in Draft.__dataclass_fields__ if name not in ("structured", "repairs")}
    return {
        "source_model": evidence.source_model,
        "trajectory_id": evidence.trajectory_id,
        **plain,
        "evidence_steps": [one.model_dump() for one in draft.evidence_steps],
        "segment_spans": [one.model_dump() for one in draft.segment_spans],
        "quality_tier": tier,
        "review_cause": cause,
        "issues": [one.issue.model_dump() for one in findings],
        "repairs": made,
        **{f"stage_{name}": decision["answer"] if decision else None for name, decision in given.items()},
        "provenance": provenance(given, packet_sha256),
    }


def conclude(
    draft: Draft, evidence: Evidence, given: dict[str, dict[str, Any] | None], rules: RuleSet
) -> tuple[str | None, list[Finding]]:
    """Control flow (docs/why/decisions/): the review cause (null: accepted) and the issues that were left."""
    if evidence.num_steps == 0:
        return "no_agent_action", []
    if given["a"] is None:
        return "unmatched_oracle", []
    if unread := next((one for one in given.values() if one and one["outcome"] != "parsed"), None):
        if given["b1"] and given["b1"]["answer"]:
            draft.take_b1(StageB1.model_validate(given["b1"]["answer"]))
        return UNREAD.get(unread["failure"], "truncation_or_parse_failure"), []
    triage = StageA.model_validate(given["a"]["answer"])
    if triage.route_label == "review":
        return cause_of_doubt(evidence, triage.evidence_steps, "stage_a_review"), []
    if given["b1"] is None:
        draft.is_anomalous = False
        draft.annotator_rationale = triage.reasoning_summary
    else:
        draft.take_b1(StageB1.model_validate(given["b1"]["answer"]))
        if draft.is_anomalous is None or (draft.is_anomalous and draft.anomaly_type_l2 is None):
            return cause_of_doubt(evidence, draft.evidence_steps, "no_supported_subtype"), []
    if given["b2"]:
        draft.take_b2(StageB2.model_validate(given["b2"]["answer"]))
    left = check_and_repair(draft, evidence, rules)
    if left:
        return cause_of(left, draft), left
    return verified(draft, evidence, given["c"], rules)


def cause_of_doubt(evidence: Evidence, quotes: list[EvidenceQuote], otherwise: str) -> str:
    """The review cause of an answer that decides nothing: a language that cannot be read, where it cites one."""
    return "language_not_covered" if cites_unread_language(evidence, quotes) else otherwise


def verified(
    draft: Draft, evidence: Evidence, verification: dict[str, Any] | None, rules: RuleSet
) -> tuple[str | None, list[Finding]]:
    """What the judge's verdict makes of an annotation that passed the deterministic checks."""
    if verification is None:
        return None, []
    verdict = StageC.model_validate(verification["answer"])
    if verdict.verdict == "review":
        return "verifier_review", []
    if verdict.verdict == "revise":
        if not verdict.required_fixes or not all(fix(draft, one, rules.repairs) for one in verdict.required_fixes):
            return "verifier_review", []
        left = check_and_repair(draft, evidence, rules)
        return (cause_of(left, draft), left) if left else (None, [])
    return None, []


def check_and_repair(draft: Draft, evidence: Evidence, rules: RuleSet) -> list[Finding]:
    """Findings that are left after every repair that is structural and unambiguous."""
    for one in check(draft, evidence, rules.taxonomy, rules.checks):
        mend(draft, evidence, one, rules)
    return check(draft, evidence, rules.taxonomy, rules.checks)


def mend(draft: Draft, evidence: Evidence, one: Finding, rules: RuleSet) -> None:
    """Make the repair that a finding names; a repair already made by an earlier finding is not made twice."""
    if one.repair == "l1_from_l2":
        family = rules.taxonomy.family(draft.anomaly_type_l2) if draft.anomaly_type_l2 else None
        draft.repair("l1_from_l2", "anomaly_type_l1", family)
    elif one.repair == "unsupported_onset" and one.field and getattr(draft, one.field) is not None:
        draft.repair("unsupported_onset", one.field, None)
    elif one.repair == "malformed_span":
        span = span_from_evidence(draft, evidence)
        if span is not None and draft.segment_spans != [span]:
            draft.repair("malformed_span", "segment_spans", [span])
    elif one.repair == "span_from_cue":
        begins = cue_outside(draft, evidence, rules.checks)
        if begins is not None:
            draft.repair("span_from_cue", "segment_spans", widened(draft.segment_spans, begins))
    elif one.repair == "unfound_quote":
        found = [quote for quote in draft.evidence_steps if is_grounded(evidence, quote)]
        if found != draft.evidence_steps:
            draft.repair("unfound_quote", "evidence_steps", found)


def widened(spans: list[Span], begins: int) -> list[Span]:
    """The spans, the first anomalous one beginning at this step; others end before it, or are within it and go."""
    first = min((one for one in spans if one.label == "anomalous"), key=lambda one: one.start_step)
    before = [
        one.model_copy(update={"end_step": min(one.end_step, begins - 1)})
        for one in spans
        if one.label != "anomalous" and one.start_step < begins
    ]
    after = [one for one in spans if one is not first and one.start_step > first.start_step]
    return [*before, first.model_copy(update={"start_step": begins}), *after]


def span_from_evidence(draft: Draft, evidence: Evidence) -> Span | None:
    """First to last grounded step; null where no quote of a step stands."""
    steps = [q.step_id for q in draft.evidence_steps if q.field != "user_turn" and is_grounded(evidence, q)]
    return Span(start_step=min(steps), end_step=max(steps), label="anomalous") if steps else None


def fix(draft: Draft, wanted: RequiredFix, rules: RepairRules) -> bool:
    """Apply a fix that the verifier requires; false where it maps to no T29 rule on that B2 field, or has no value."""
    if wanted.field not in rules.fixes.get(wanted.rule_id, []):
        return False
    name = "annotator_rationale" if wanted.field == "annotator_rationale_refined" else wanted.field
    try:
        value: Any = None if wanted.value is None else json.loads(wanted.value)
        if wanted.field == "segment_spans":
            draft.repair(wanted.rule_id, name, [Span.model_validate(one) for one in value])
        elif wanted.field in ONSETS and value is None:
            draft.repair(wanted.rule_id, name, None)
        elif name == "annotator_rationale" and isinstance(value, str):
            draft.repair(wanted.rule_id, name, value)
        else:
            return False
    except (ValueError, TypeError):
        return False
    return True


def cause_of(left: list[Finding], draft: Draft) -> str:
    """The review cause of the issues that are left: the first one's; an onset set to null beside it is named (T22)."""
    onset_lost = any(one.rule_id == "unsupported_onset" for one in draft.repairs)
    structural = all(one.cause in ("malformed_span", "missing_structural_fields") for one in left)
    return "unsupported_onset_with_other_issues" if onset_lost and structural else left[0].cause


def request_ids(decision: dict[str, Any]) -> list[str]:
    """Request ids of a decision's answer and of the one before it that could not be used, in that order of time."""
    both = [(decision["former"] or {}).get("request_id"), decision["request_id"]]
    return [one for one in both if one]


def provenance(given: dict[str, dict[str, Any] | None], packet_sha256: str) -> dict[str, Any]:
    """Judge, prompts, tokens and cost of all stages together. Costs are summed in millionths of a USD."""
    asked = [one for one in given.values() if one]
    tokens = ("prompt_tokens", "completion_tokens", "cached_tokens")
    return {
        "judge": asked[0]["judge"] if asked else None,
        "judge_model": asked[0]["judge_model"] if asked else None,
        "prompt_versions": {name: one["prompt_version"] if one else None for name, one in given.items()},
        "packet_sha256": packet_sha256,
        "usage": {name: sum(one["usage"][name] for one in asked) for name in tokens},
        "cost_usd": sum(round(one["cost_usd"] * 1e6) for one in asked) / 1e6,
        "request_ids": [one for decision in asked for one in request_ids(decision)],
    }
