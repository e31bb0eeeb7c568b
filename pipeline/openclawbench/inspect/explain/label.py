"""Explain, stages A to C: the result of the judge's answers, the checks and the repairs."""

from typing import Any

Row = dict[str, Any]
STAGES = {
    "stage_a": ("route_label", "candidate_subtypes", "routing_confidence", "reasoning_summary"),
    "stage_b1": ("trajectory_is_anomalous", "anomaly_type_l2", "absorbed_from", "annotator_rationale"),
    "stage_b2": ("segment_spans", "earliest_recoverable_onset", "earliest_harmful_onset", "severity", "recoverability"),
    "stage_c": ("verdict", "issues", "required_fixes", "short_rationale"),
}
DECIDED = ("is_anomalous", "anomaly_type_l2", "quality_tier", "review_cause")


def label(annotation: Row | None) -> Row | None:
    """Tier with its cause, each stage's decision, issues left, repairs with their rules, cited evidence; None if the
    trajectory is not annotated."""
    if annotation is None:
        return None
    answers = {
        stage: {name: answer[name] for name in names} if (answer := annotation[stage]) else None
        for stage, names in STAGES.items()
    }
    listed_fields = ("issues", "repairs", "evidence_steps", "segment_spans")
    judge = {name: annotation["provenance"][name] for name in ("judge", "judge_model")}
    return {name: annotation[name] for name in (*DECIDED, *listed_fields)} | judge | {"stages": answers}
