"""Label files of every cut, the calibration pool, the reasons for exclusions, and the certificates (splits.json)."""

import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.records.release import LabelRow, PoolRow
from openclawbench.records.tiers import ACCEPTED, BASELINE
from openclawbench.release.files.jsonl_files import open_lines
from openclawbench.release.files.staging_folder import StagingFolder
from openclawbench.release.files.table_writer import Output, typed_file, write_tables
from openclawbench.release.labels.places import CUTS, HOLD_OUT, SIDES, hold_out, hold_out_reason
from openclawbench.rules.release.release import ReleaseRules
from openclawbench.tables.canonical_rows import canonical_rows
from openclawbench.tables.schema import schema
from openclawbench.tables.sorted_merge import key_order, row_groups, write_run, write_sorted

POOL_FILE = "calibration_pool.jsonl"
SPLITS_FILE = "splits.json"
LEFT_OUT_FILE = "label_exclusions.jsonl"
PART_STATUSES = (ACCEPTED, BASELINE)  # label_status -> rows in a Parquet file of their own for each label file


def write_labels(
    assignments: Sequence[Path], certificates: pl.DataFrame, staging: StagingFolder, rules: ReleaseRules
) -> None:
    """Label files of every cut as JSONL and Parquet; a reason row for each record left out of a cut. `assignments`:
    parts of LabelAssignment. hold_out/<model>/ has every record of that model on the test side, those of the others on
    the train side, without the calibration pool, and leaves out what the paper's cut does, for the same reasons."""
    rows = staging.scratch / "assignments.parquet"
    write_in_order(assignments, rows, staging.scratch)
    reserved = pl.col("in_calibration_pool")
    outputs = [Output(POOL_FILE, PoolRow, reserved), Output(typed_file(POOL_FILE), PoolRow, reserved)]
    for cut, folder in CUTS.items():
        for side in SIDES:
            jsonl, own = f"{folder}silver_{side}_labels.jsonl", pl.col(cut) == side
            outputs += [Output(typed_file(jsonl), LabelRow, own), *label_outputs(jsonl, own)]
        outputs.append(left_out_output(folder, pl.col(cut), reason_of(cut)))
    write_tables(staging, row_groups(rows), outputs)
    counted = pl.scan_parquet(rows, glob=False)
    for model in counted.select(pl.col("source_model").unique().sort()).collect().to_series():
        folder, side_of = f"{HOLD_OUT}/{model}/", hold_out(model)
        held = [label_outputs(f"{folder}silver_{side}_labels.jsonl", side_of == side) for side in SIDES]
        write_tables(staging, row_groups(rows), [*chain(*held), left_out_output(folder, side_of, hold_out_reason())])
    staging.write(SPLITS_FILE, as_json(splits(counted, certificates, rules)))


def write_in_order(parts: Sequence[Path], to: Path, scratch: Path) -> None:
    """Write parts of LabelAssignment as one Parquet file, sorted by key."""
    files = [scratch / f"assignments-{number}.parquet" for number in range(len(parts))]
    for part, path in zip(parts, files, strict=True):
        write_sorted(pl.read_parquet(part, glob=False).with_columns(key_order()), path)
    write_run(files, to, scratch)


def label_outputs(jsonl: str, rows: pl.Expr) -> list[Output]:
    """A label file, and Parquet files of its accepted rows, which loaders read by default, and of its baseline rows."""
    status = pl.col("label_status")
    parts = [Output(part_file(jsonl, name), LabelRow, rows & (status == name)) for name in PART_STATUSES]
    return [Output(jsonl, LabelRow, rows), *parts]


def left_out_output(folder: str, side: pl.Expr, reason: pl.Expr) -> Output:
    """The file with the reason of each record that is on neither side of a cut."""
    columns = [pl.col("source_model"), pl.col("trajectory_id"), reason.alias("reason")]
    return Output(f"{folder}{LEFT_OUT_FILE}", None, side.is_null(), columns)


def reason_of(cut: str) -> pl.Expr:
    """The column with the reason why a record is on no side of a cut of CUTS."""
    return pl.col(cut.replace("cut", "reason"))


def part_file(jsonl: str, status: str = ACCEPTED) -> str:
    """The Parquet file of the rows of one label_status (of PART_STATUSES) of a label file."""
    return f"{jsonl.removesuffix('.jsonl')}_{status}.parquet"


def hold_out_rows(root: Path, model: str, side: str) -> pl.DataFrame:
    """The label rows of one side of the cut of a release that holds a source model out. Raises FileNotFoundError if the
    file is missing."""
    with open_lines(root / HOLD_OUT / model / f"silver_{side}_labels.jsonl") as file:
        return pl.read_ndjson(file.read(), schema=schema(LabelRow))


def splits(assignments: pl.LazyFrame, certificates: pl.DataFrame, rules: ReleaseRules) -> dict[str, Any]:
    """How the corpus was cut: rules in force, size of the pool by slice and model, counts, reasons, certificates."""
    cut_certificates = {row["cut"]: json.loads(row["certificate"]) for row in certificates.iter_rows(named=True)}
    for cut in CUTS:
        reason = cut.replace("cut", "reason")
        reasons = assignments.filter(pl.col(cut).is_null()).group_by(reason).len().sort(reason)
        cut_certificates[cut]["left_out"] = dict(reasons.collect(engine="streaming").iter_rows())
    keys = ["slice_label", "source_model"]
    groups = assignments.filter("in_calibration_pool").group_by(keys).len().sort(keys).collect(engine="streaming")
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
