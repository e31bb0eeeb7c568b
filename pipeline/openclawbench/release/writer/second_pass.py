"""The second pass in a release: its answers, its labels, and the records with high confidence in both passes."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from openclawbench.records.release import LabelAssignments, LabelRow
from openclawbench.records.second_pass import (
    AnnotationsPass2,
    DecisionsAPass2,
    DecisionsB1Pass2,
    DecisionsB2Pass2,
    DecisionsCPass2,
    ReferenceLabel,
    ReferenceLabels,
    ReleaseLinesPass2,
    both_high_confidence,
)
from openclawbench.records.tiers import status_of
from openclawbench.release.files.names import BOTH_FILE, REFERENCE_FILE, SECOND, STAGES, both_side_file
from openclawbench.release.files.staging_folder import StagingFolder
from openclawbench.release.files.table_writer import Output, typed_file, write_tables
from openclawbench.release.labels.places import CUTS, IN_A_CUT, SIDES
from openclawbench.release.writer.render import in_order, raw_lines
from openclawbench.runtime.stage import stage
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.tables.schema import from_records
from openclawbench.tables.sorted_merge import ORDER, key_order, merge_sorted, write_sorted

FROM_FIRST = ("task_id", "label_status", "both_high_confidence")  # columns that are not the second annotation's


@stage(scope="shard")
def reference(annotations: AnnotationsPass2, assignments: LabelAssignments) -> ReferenceLabels:
    """One row per trajectory, sorted by key: the second pass's label, and whether both passes have high confidence."""
    first = {(row["source_model"], row["trajectory_id"]): row for row in assignments.collect().iter_rows(named=True)}
    judge = pl.col("provenance").struct
    columns = annotations.with_columns(judge=judge.field("judge"), judge_model=judge.field("judge_model"))
    own = [name for name in ReferenceLabel.model_fields if name not in FROM_FIRST]
    rows = [
        {
            **row,
            "label_status": status_of(row["quality_tier"]),
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
    return in_order([raw_lines(name, decisions, SECOND) for name, decisions in tables])


def write_second_pass(parts: Sequence[tuple[Path, Path]], staging: StagingFolder) -> None:
    """Write the second pass's labels, and the label rows with high confidence in both passes, as a whole and by side of
    each cut. As in the label files, partial trial records are left out. `parts`: of each shard, those of ReferenceLabel
    and LabelAssignment."""
    references = [staging.scratch / f"references-{number}.parquet" for number in range(len(parts))]
    both = [staging.scratch / f"both-{number}.parquet" for number in range(len(parts))]
    for (labels, assignments), of_second, of_both in zip(parts, references, both, strict=True):
        second = pl.scan_parquet(labels, glob=False).with_columns(key_order())
        sure = second.filter("both_high_confidence").select(*TRAJECTORY_KEY, ORDER)
        in_a_cut = pl.scan_parquet(assignments, glob=False).filter(IN_A_CUT)
        write_sorted(second.collect(), of_second)
        write_sorted(in_a_cut.join(sure, on=TRAJECTORY_KEY, how="inner").collect(), of_both)
    write_tables(staging, merge_sorted(references, staging.scratch), [Output(REFERENCE_FILE, ReferenceLabel)])
    outputs = [Output(BOTH_FILE, LabelRow), Output(typed_file(BOTH_FILE), LabelRow)]
    for cut, folder in CUTS.items():
        outputs += [Output(both_side_file(folder, side), LabelRow, pl.col(cut) == side) for side in SIDES]
    write_tables(staging, merge_sorted(both, staging.scratch), outputs)
