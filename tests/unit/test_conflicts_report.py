"""The report on conflicts: decided labels that say the opposite of their outcome, and nothing else."""

from typing import Any

from work_tables import tables

from openclawbench.records.fulltax import Annotation
from openclawbench.records.oracle import Fused
from openclawbench.reports.conflicts import conflicts_report


def label(trajectory_id: str, is_anomalous: bool | None, review_cause: str | None = None) -> dict[str, Any]:
    return {
        "source_model": "m",
        "trajectory_id": trajectory_id,
        "is_anomalous": is_anomalous,
        "anomaly_type_l2": "capability_gap_overcommitment" if is_anomalous else None,
        "quality_tier": None if review_cause else "accepted",
        "review_cause": review_cause,
    }


def outcome(trajectory_id: str, oracle_outcome: str | None) -> dict[str, Any]:
    return {"source_model": "m", "trajectory_id": trajectory_id, "task_id": "t1", "oracle_outcome": oracle_outcome}


LABELS = {"a": True, "b": False, "c": True, "d": False, "e": True, "f": None}
OUTCOMES = {"a": "pass", "b": "fail", "c": "fail", "d": "pass", "e": None, "f": "pass"}


def test_passes_that_are_anomalous_and_failures_that_are_normal_are_listed() -> None:
    rows = {Annotation: [label(*item) for item in LABELS.items()], Fused: [outcome(*item) for item in OUTCOMES.items()]}
    counts, records = conflicts_report(tables(rows)).sections
    assert counts.facts == {"decided": 4, "passed_anomalous": 1, "failed_normal": 1}
    assert [(row["conflict"], row["trajectory_id"]) for row in records.rows] == [
        ("failed_normal", "b"),
        ("passed_anomalous", "a"),
    ]


def test_a_label_in_review_decides_nothing() -> None:
    rows = {Annotation: [label("a", True, "ungrounded_evidence")], Fused: [outcome("a", "pass")]}
    counts, records = conflicts_report(tables(rows)).sections
    assert (counts.facts["decided"], records.rows) == (0, [])
