"""Consistency of one released record: with itself, with the closed vocabularies and with the text that it cites."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, get_args

from openclawbench.construct.summarize_run import PERSON
from openclawbench.fulltax.annotation.checks import check
from openclawbench.fulltax.annotation.draft import DECIDED, Draft
from openclawbench.fulltax.annotation.quote_grounding import is_grounded
from openclawbench.records.packet import Evidence
from openclawbench.records.release import Master, Stages
from openclawbench.records.tiers import BASELINE_JUDGES, BASELINE_TIER, REPAIRED, REVIEW, STATUS_OF
from openclawbench.records.vocabulary import (
    ONSETS,
    ActionKind,
    AutoFlag,
    Family,
    OracleOutcome,
    QualityTier,
    Recoverability,
    ReviewCause,
    RiskBucket,
    Severity,
    SliceLabel,
    Subtype,
    ToolStatus,
)
from openclawbench.rules.fulltax.checks import CheckRules
from openclawbench.rules.fulltax.taxonomy import Taxonomy

CLOSED: dict[str, Any] = {
    "quality_tier": QualityTier,
    "review_cause": ReviewCause,
    "anomaly_type_l1": Family,
    "anomaly_type_l2": Subtype,
    "severity": Severity,
    "recoverability": Recoverability,
    "oracle_outcome": OracleOutcome,
    "risk_bucket": RiskBucket,
    "slice_label": SliceLabel,
}
CLOSED_IN_STEPS: dict[str, Any] = {"action_kind": ActionKind, "tool_status": ToolStatus}
EXPECTED_OF_NORMAL = (*ONSETS, "anomaly_type_l1", "anomaly_type_l2", "absorbed_from", "severity", "recoverability")

Problem = tuple[str, str]  # check, message


def problems(row: Master, taxonomy: Taxonomy, rules: CheckRules) -> Iterator[Problem]:
    """Everything wrong with a record, as (check, message). A record in review carries the judge's answer as it was,
    whatever it says: the rules of acceptance hold for accepted records alone."""
    yield from vocabulary(row)
    yield from steps(row)
    yield from context(row)
    yield from decision(row)
    if row.quality_tier == REVIEW:
        yield from as_answered(row)
    elif row.quality_tier is None:
        yield from unjudged(row)
    else:
        yield from acceptance(row)
        yield from quotes(row)
        yield from protocol(row, taxonomy, rules)


def vocabulary(row: Master) -> Iterator[Problem]:
    """Values are in their closed vocabulary, or null."""
    for name, kind in CLOSED.items():
        value = getattr(row, name)
        if value is not None and value not in get_args(kind):
            yield "vocabulary", f"{name} {value!r} is not in its closed vocabulary"
    for step in row.steps:
        for name, kind in CLOSED_IN_STEPS.items():
            value = getattr(step, name)
            if value is not None and value not in get_args(kind):
                yield "vocabulary", f"step {step.step_id}: {name} {value!r} is not in its closed vocabulary"
        for flag in set(step.auto_flags) - set(get_args(AutoFlag)):
            yield "vocabulary", f"step {step.step_id}: auto_flag {flag!r} does not exist"


def steps(row: Master) -> Iterator[Problem]:
    """Steps are numbered from 1; counts of steps, events, turns and side effects agree with them."""
    numbers = [step.step_id for step in row.steps]
    if numbers != list(range(1, len(numbers) + 1)):
        yield "steps", f"step_ids are not 1 to {len(numbers)}"
    if row.num_steps != len(row.steps):
        yield "steps", f"num_steps is {row.num_steps}, but the record has {len(row.steps)} steps"
    counts = Counter(str(step.event_type) for step in row.steps)
    stated = {name: count for name, count in row.event_type_counts.model_dump().items() if count}
    if stated != dict(counts):
        yield "steps", f"event_type_counts is {stated}; the steps give {dict(counts)}"
    kinds = Counter(step.action_kind for step in row.steps)
    turns = sum(PERSON in turn.kinds for turn in row.user_turns)
    counted = {"tool_calls": kinds["tool_call"], "replies": kinds["reply"], "user_turns": turns}
    for name, count in counted.items():
        if getattr(row.trace_summary, name) != count:
            stated = getattr(row.trace_summary, name)
            yield "steps", f"trace_summary.{name} is {stated}, but the record has {count}"
    effects = sum(step.side_effect for step in row.steps)
    if row.risk_signals.num_side_effect_steps != effects:
        yield "steps", f"num_side_effect_steps is {row.risk_signals.num_side_effect_steps}, {effects} steps have one"


def context(row: Master) -> Iterator[Problem]:
    """Outcome, bucket and slice agree (T13); the breakdown adds up to the raw score (T12)."""
    oracle = row.oracle
    scored = oracle is not None and oracle.status == "scored"
    outcome = ("pass" if oracle.success else "fail") if oracle is not None and scored else None
    if row.oracle_outcome != outcome:
        yield "context", f"oracle_outcome is {row.oracle_outcome}; the oracle record gives {outcome}"
    expected = row.oracle_outcome and f"{row.oracle_outcome}_{row.risk_bucket}_risk"
    if row.slice_label != expected:
        yield "context", f"slice_label is {row.slice_label}; outcome and bucket give {expected}"
    total = sum(part.contribution for part in row.risk_breakdown)
    if abs(total - row.risk_score_raw) > 1e-6:
        yield "context", f"risk_score_raw is {row.risk_score_raw:g}; its breakdown adds up to {total:g}"


def decision(row: Master) -> Iterator[Problem]:
    """Tier, cause and status fit each other (T22, T30); the decision is that of stage B1; candidates are steps."""
    review = row.quality_tier == REVIEW
    if review == (row.review_cause is None):
        yield "tier", f"quality_tier is {row.quality_tier}, and review_cause is {row.review_cause}"
    if row.label_status != STATUS_OF.get(row.quality_tier):
        yield "tier", f"label_status is {row.label_status}, and quality_tier is {row.quality_tier}"
    b1 = row.stages.b1
    if b1 is not None and row.is_anomalous != b1.trajectory_is_anomalous:
        yield "label", f"is_anomalous is {row.is_anomalous}; stage B1 gives {b1.trajectory_is_anomalous}"
    if b1 is None and row.is_anomalous:
        yield "label", "is anomalous without a readable answer of stage B1"
    candidates = row.onset_candidates.model_dump()
    listed = [value for value in candidates.values() if isinstance(value, int)] + candidates["top_k_risky_steps"]
    for step_id in listed:
        if not 1 <= step_id <= row.num_steps:
            yield "onset_range", f"onset candidate {step_id} is not a step of 1 to {row.num_steps}"


def as_answered(row: Master) -> Iterator[Problem]:
    """A record in review has the fields that stages B1 and B2 answered, unchanged."""
    answered = Draft.as_answered(row.stages.b1, row.stages.b2)
    for name in DECIDED:
        if getattr(row, name) != getattr(answered, name):
            yield "label", f"is in review, and its {name} is not the one that the judge answered"


def unjudged(row: Master) -> Iterator[Problem]:
    """A record without a tier has no answer, and nothing that follows from one."""
    empty = Draft()
    for name in DECIDED:
        if getattr(row, name) != getattr(empty, name):
            yield "label", f"has no tier, so nobody judged it, and its {name} is {getattr(row, name)!r}"
    from_judge = (
        row.provenance.judge,
        row.provenance.judge_model,
        *(getattr(row.stages, name) for name in Stages.model_fields),
    )
    if any(value is not None for value in from_judge) or row.repairs:
        yield "tier", "has no tier, and has a judge, an answer or a repair"


def acceptance(row: Master) -> Iterator[Problem]:
    """What an accepted record must be: decided, with a label whose fields fit, inside the trajectory."""
    if row.provenance.judge in BASELINE_JUDGES and row.quality_tier != BASELINE_TIER:
        yield "tier", f"is {row.quality_tier}, and its judge ({row.provenance.judge}) makes a baseline at best"
    if row.is_anomalous is None:
        yield "tier", "is accepted without a decision"
    if row.quality_tier == REPAIRED and not row.repairs:
        yield "tier", "is accepted_repaired without a repair"
    if row.is_anomalous is False:
        extra = [name for name in EXPECTED_OF_NORMAL if getattr(row, name) is not None]
        extra += ["segment_spans"] if row.segment_spans else []
        if extra:
            yield "label", f"is normal but has {', '.join(extra)}"
    if row.is_anomalous and row.anomaly_type_l2 is None:
        yield "label", "is accepted as anomalous without a subtype"
    for name in ONSETS:
        onset = getattr(row, name)
        if onset is not None and not 1 <= onset <= row.num_steps:
            yield "onset_range", f"{name} {onset} is not a step of 1 to {row.num_steps}"
    for span in row.segment_spans:
        if not 1 <= span.start_step <= span.end_step <= row.num_steps:
            yield "span_range", f"span {span.start_step} to {span.end_step} is not inside steps 1 to {row.num_steps}"


def quotes(row: Master) -> Iterator[Problem]:
    """Every released quote occurs where it says."""
    evidence = as_evidence(row)
    for quote in row.evidence_steps:
        if not is_grounded(evidence, quote):
            yield "quote", f"the quote {quote.quote[:60]!r} does not occur in {quote.field} of step {quote.step_id}"


def protocol(row: Master, taxonomy: Taxonomy, rules: CheckRules) -> Iterator[Problem]:
    """The deterministic checks (T28) find nothing in an accepted record."""
    fields = {name: getattr(row, name) for name in DECIDED}
    draft = Draft(**fields, repairs=row.repairs, structured=row.stages.b2 is not None)
    for finding in check(draft, as_evidence(row), taxonomy, rules):
        yield f"protocol_{finding.issue.check}", finding.issue.message


def as_evidence(row: Master) -> Evidence:
    """The record's process evidence, without outcome and risk."""
    return Evidence.model_construct(**{name: getattr(row, name) for name in Evidence.model_fields})
