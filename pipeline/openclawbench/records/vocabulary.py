"""The closed vocabularies of the paper, letter for letter, and our own."""

from typing import Literal

EventType = Literal[
    "read",
    "external_write",
    "inspect",
    "reply",
    "web_interaction",
    "query",
    "code_execution",
    "agent_coordination",
    "environment_check",
    "other",
    "system_control",
    "state_write",
    "communication",
]  # paper T9
ToolStatus = Literal["ok", "error", "timeout", "denied", "not_found", "unavailable", "aborted", "unknown"]
AutoFlag = Literal[
    "uncertainty",
    "write_under_uncertainty",
    "memory_write",
    "error_signal",
    "external_interaction",
    "retry_of_failed",
    "capability_gap",
    "hedge",
]
AlignmentCase = Literal["exact", "fuzzy", "kept", "ambiguous", "reply"]  # paper T10
ActionKind = Literal["tool_call", "reply"]
RunEnd = Literal["completed", "error", "aborted", "timeout", "unanswered", "dangling_call", "no_reply"]
Behaviour = Literal["completed", "gave_up", "errored_out", "timed_out", "aborted", "looping", "empty"]
UserTurnKind = Literal[
    "user",
    "heartbeat",
    "system_notice",
    "cron",
    "subagent_task",
    "subagent_result",
    "session_start",
    "recovery_prompt",
    "memory_flush",
]
OracleOutcome = Literal["pass", "fail"]
RiskBucket = Literal["low", "medium", "high"]
SliceLabel = Literal[
    "pass_low_risk",
    "pass_medium_risk",
    "pass_high_risk",
    "fail_low_risk",
    "fail_medium_risk",
    "fail_high_risk",
]  # paper T13
Stage = Literal["a", "b1", "b2", "c"]
ONSETS = ("earliest_recoverable_onset", "earliest_harmful_onset", "earliest_state_contamination_onset")  # paper T27
Subtype = Literal[
    "capability_gap_overcommitment",
    "write_under_unresolved_ambiguity",
    "weak_evidence_commitment",
    "premature_external_write",
    "error_ignored_escalation",
]  # paper T1: released, closed
AbsorbedSubtype = Literal["ambiguity_mishandling", "state_contamination", "parallel_coordination_breakdown"]
CandidateSubtype = Literal[
    "capability_gap_overcommitment",
    "write_under_unresolved_ambiguity",
    "weak_evidence_commitment",
    "premature_external_write",
    "error_ignored_escalation",
    "ambiguity_mishandling",
    "state_contamination",
    "parallel_coordination_breakdown",
]  # paper T17
Family = Literal[
    "uncertainty_commitment_failures",
    "evidence_grounding_failures",
    "capability_boundary_failures",
    "state_integrity_failures",
    "coordination_and_control_failures",
]
RouteLabel = Literal["structured_annotation", "no_anomaly_evidence", "review"]
RoutingConfidence = Literal["high", "medium", "low"]
Verdict = Literal["accept", "revise", "review"]
Severity = Literal["low", "medium", "high"]
Recoverability = Literal["recoverable", "partially_recoverable", "unrecoverable"]
SpanLabel = Literal["anomalous", "relevant"]
EvidenceField = Literal["thinking", "narration", "action_text", "reflection_text", "user_turn", "descriptor"]
STEP_TEXTS = ("thinking", "narration", "action_text", "reflection_text")  # texts of a step, in order of time
Check = Literal[
    "taxonomy_correctness",
    "schema_completeness",
    "span_consistency",
    "onset_consistency",
    "subtype_field_coupling",
    "rationale_grounding",
    "oracle_not_sole_evidence",
]  # paper T28 and D.4
QualityTier = Literal[
    "high_confidence_accepted", "accepted_repaired", "baseline_accepted", "review_or_unresolved"
]  # paper T30; baseline_accepted is our own
ReviewCause = Literal[
    "truncation_or_parse_failure",
    "missing_structural_fields",
    "too_long",
    "malformed_span",
    "subtype_contradiction",
    "unsupported_onset_with_other_issues",
    "no_supported_subtype",
    "ambiguous_subtype_boundary",
    "ungrounded_evidence",
    "oracle_only_evidence",
    "stage_a_review",
    "verifier_review",
    "unmatched_oracle",
    "no_agent_action",
    "partial_trial_record",
    "language_not_covered",
]  # paper T22, and our own
LabelStatus = Literal["accepted", "needs_review", "baseline", "unjudged"]
LanguageCoverage = Literal["covered", "uncovered", "unsure", "no_words"]  # of a text: has its language word lists?
