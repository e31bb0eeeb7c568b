"""Label files of every cut, the calibration pool, the reasons of exclusions, and the certificates (splits.json)."""

import json
from typing import Any

import polars as pl

from openclawbench.records.release import LabelRow, PoolRow
from openclawbench.records.tiers import ACCEPTED, BASELINE
from openclawbench.release.labels.places import hold_out
from openclawbench.release.writer.staging_folder import StagingFolder
from openclawbench.release.writer.table_writer import typed_file
from openclawbench.rules.release import ReleaseRules
from openclawbench.storage.parquet_io import write_parquet
from openclawbench.tables.canonical_rows import canonical_rows

CUTS = {"default_cut": "", "paper_cut": "paper_cut/"}
SIDES = ("train", "test")
POOL_FILE = "calibration_pool.jsonl"
SPLITS_FILE = "splits.json"
HOLD_OUT = "hold_out"
LEFT_OUT_FILE = "label_exclusions.jsonl"
PARTS = (ACCEPTED, BASELINE)  # label_status -> rows in a Parquet file of their own beside each label file


def write_labels(assignments: pl.DataFrame, certificates: pl.DataFrame, staging: StagingFolder) -> None:
    """Label files of every cut as JSONL and Parquet; a reason row for each record left out of a cut."""
    for cut, folder in CUTS.items():
        for side in SIDES:
            rows = labels(assignments.filter(pl.col(cut) == side))
            name = f"{folder}silver_{side}_labels"
            staging.write(f"{name}.jsonl", as_lines(rows))
            write_parquet(rows, staging.path(f"{name}.parquet"))
            write_parts(rows, f"{name}.jsonl", staging)
        staging.write(f"{folder}{LEFT_OUT_FILE}", as_lines(left_out(assignments, cut)))
    write_hold_outs(assignments, staging)
    reserved = pool(assignments)
    staging.write(POOL_FILE, as_lines(reserved))
    write_parquet(reserved, staging.path(typed_file(POOL_FILE)))
    staging.write(SPLITS_FILE, as_json(splits(assignments, certificates, ReleaseRules.load())))


def left_out(assignments: pl.DataFrame, cut: str) -> pl.DataFrame:
    """The reason of each record that is on neither side of a cut."""
    return assignments.filter(pl.col(cut).is_null()).select(
        "source_model", "trajectory_id", reason=cut.replace("cut", "reason")
    )


def labels(assignments: pl.DataFrame) -> pl.DataFrame:
    """The columns of a label row."""
    return assignments.select(list(LabelRow.model_fields))


def write_hold_outs(assignments: pl.DataFrame, staging: StagingFolder) -> None:
    """hold_out/<model>/: every record of that model on the test side, those of the others on the train side.

    It leaves out the same records as the paper's cut, for the same reasons.
    """
    reasons = as_lines(left_out(assignments, "paper_cut"))
    for model in sorted(assignments["source_model"].unique()):
        staging.write(f"{HOLD_OUT}/{model}/{LEFT_OUT_FILE}", reasons)
        for name in SIDES:
            label_rows = labels(assignments.filter(hold_out(model) == name))
            path = f"{HOLD_OUT}/{model}/silver_{name}_labels.jsonl"
            staging.write(path, as_lines(label_rows))
            write_parts(label_rows, path, staging)


def write_parts(rows: pl.DataFrame, jsonl: str, staging: StagingFolder) -> None:
    """Files of the accepted rows, which loaders read by default, and of the baseline rows."""
    for status in PARTS:
        write_parquet(rows.filter(pl.col("label_status") == status), staging.path(part_file(jsonl, status)))


def part_file(jsonl: str, status: str = ACCEPTED) -> str:
    """The Parquet file of the rows of one label_status (of PARTS) of a label file."""
    return f"{jsonl.removesuffix('.jsonl')}_{status}.parquet"


def pool(assignments: pl.DataFrame) -> pl.DataFrame:
    """The calibration pool: keys and slices, no labels, so that it can be read blind."""
    return assignments.filter("in_calibration_pool").select(list(PoolRow.model_fields))


def splits(assignments: pl.DataFrame, certificates: pl.DataFrame, rules: ReleaseRules) -> dict[str, Any]:
    """How the corpus was cut: rules in force, size of the pool by slice and model, counts, reasons, certificates."""
    cut_certificates = {row["cut"]: json.loads(row["certificate"]) for row in certificates.iter_rows(named=True)}
    for cut in CUTS:
        reasons = assignments.filter(pl.col(cut).is_null())[cut.replace("cut", "reason")].value_counts(sort=True)
        cut_certificates[cut]["left_out"] = dict(reasons.sort(reasons.columns[0]).iter_rows())
    groups = pool(assignments).group_by("slice_label", "source_model").len().sort("slice_label", "source_model")
    return {
        "rules": rules.model_dump(mode="json", by_alias=True),
        "calibration_pool": {
            "size": groups["len"].sum(),
            "by_slice_and_model": [f"{s} {m}: {n}" for s, m, n in groups.iter_rows()],
        },
        "cuts": cut_certificates,
    }


def as_lines(rows: pl.DataFrame) -> bytes:
    """JSONL."""
    return "".join(f"{line}\n" for line in canonical_rows(rows)).encode()


def as_json(value: Any) -> bytes:
    """Indented JSON with sorted keys."""
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"
