"""What a release holds of a second pass: its answers, its labels, and the records of which both passes are sure."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from pipeline.records.base import TRAJECTORY_KEY
from pipeline.records.release import LabelAssignments
from pipeline.records.second_pass import (
    AnnotationsPass2,
    DecisionsAPass2,
    DecisionsB1Pass2,
    DecisionsB2Pass2,
    DecisionsCPass2,
    ReferenceLabel,
    ReferenceLabels,
    ReleaseLinePass2,
    ReleaseLinesPass2,
)
from pipeline.release.render import STAGES, raw_lines, stage_raw_file
from pipeline.stage import stage
from pipeline.tables import from_records

HIGH = "high_confidence_accepted"
SECOND = 2
RAW_FILES = [stage_raw_file(name, SECOND) for name in STAGES]
REFERENCE_FILE = "reference_pass_labels.jsonl"
BOTH_FILE = "both_high_confidence.jsonl"


def both_high_confidence(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """high_confidence_accepted in both passes, with the same is_anomalous and anomaly_type_l2 (own choice; the paper
    says that both passes mark the trajectory with high confidence)."""
    same = all(first[name] == second[name] for name in ("is_anomalous", "anomaly_type_l2"))
    return same and first["quality_tier"] == second["quality_tier"] == HIGH


@stage(scope="corpus")
def reference(annotations: AnnotationsPass2, assignments: LabelAssignments) -> ReferenceLabels:
    """One row a trajectory, sorted by key: the second pass's label beside the first's fields that make it both's."""
    first = {(row["source_model"], row["trajectory_id"]): row for row in assignments.collect().iter_rows(named=True)}
    judge = pl.col("provenance").struct
    columns = annotations.with_columns(judge=judge.field("judge"), judge_model=judge.field("judge_model"))
    own = [name for name in ReferenceLabel.model_fields if name not in ("task_id", "both_high_confidence")]
    rows = [
        {
            **row,
            "task_id": first[row["source_model"], row["trajectory_id"]]["task_id"],
            "both_high_confidence": both_high_confidence(first[row["source_model"], row["trajectory_id"]], row),
        }
        for row in columns.select(own).sort(TRAJECTORY_KEY).collect().iter_rows(named=True)
    ]
    return from_records(rows, ReferenceLabel).lazy()


@stage(scope="shard")
def render_pass2(
    a: DecisionsAPass2, b1: DecisionsB1Pass2, b2: DecisionsB2Pass2, c: DecisionsCPass2
) -> ReleaseLinesPass2:
    """Every answer of the second pass, verbatim, as lines sorted by key and file."""
    tables = zip(STAGES, (a, b1, b2, c), strict=True)
    rows = [row for name, decisions in tables for row in raw_lines(name, decisions, SECOND)]
    rows.sort(key=lambda row: (row["source_model"], row["trajectory_id"], row["files"], row["line"]))
    return from_records(rows, ReleaseLinePass2).lazy()
