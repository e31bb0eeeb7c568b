"""Label files: in each cut, every record is on one side or left out with a reason; Parquet has the same rows."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.records.release import LabelRow, PoolRow
from openclawbench.records.tiers import REVIEW
from openclawbench.release.labels.labels import (
    CUTS,
    HOLD_OUT,
    LEFT_OUT_FILE,
    PARTS,
    POOL_FILE,
    SIDES,
    part_file,
    typed_file,
)
from openclawbench.release.labels.split import decided_status
from openclawbench.release.record_key import Key
from openclawbench.release.validate.files.lines import Line, read_lines
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.records.record_digest import RecordDigest
from openclawbench.tables.record import Keyed
from openclawbench.tables.schema import schema

COPIED = ("task_id", "is_anomalous", "anomaly_type_l2", "quality_tier")


class Exclusion(Keyed):
    """A line of label_exclusions.jsonl."""

    reason: str


def check_labels(root: Path, records: dict[Key, RecordDigest], findings: Findings) -> None:
    """Check the label files of all cuts and the calibration pool."""
    for cut, folder in CUTS.items():
        counts: Counter[Key] = Counter()
        tasks: dict[str, set[str]] = {side: set() for side in SIDES}
        for side in SIDES:
            name = f"{folder}silver_{side}_labels.jsonl"
            rows = list(read_lines(root, name, LabelRow, findings, unique=True))
            for line in rows:
                counts[line.key] += 1
                check_row(name, line, records, cut, findings)
                if line.key in records:
                    tasks[side].add(records[line.key].basis["task_digest"])
            check_parquet(root, typed_file(name), LabelRow, [line.record for line in rows], findings)
            check_accepted(root, name, [line.record for line in rows], findings)
        counts.update(excluded(root, folder, findings))
        check_whole(folder, counts, records, findings)
        if cut == "default_cut":
            check_tasks(folder, tasks, findings)
    check_hold_outs(root, records, findings)
    check_pool(root, records, findings)


def excluded(root: Path, folder: str, findings: Findings) -> list[Key]:
    """Records that a cut leaves out with a reason."""
    return [line.key for line in read_lines(root, f"{folder}{LEFT_OUT_FILE}", Exclusion, findings, unique=True)]


def check_row(name: str, line: Line[LabelRow], records: dict[Key, RecordDigest], cut: str, findings: Findings) -> None:
    """A label row repeats its record."""
    record, row = records.get(line.key), line.record
    if record is None:
        findings.add("labels", name, f"{line.key[1]} is not in the master table", line.number)
        return
    for field in COPIED:
        if getattr(row, field) != record.basis[field]:
            message = f"{line.key[1]}: {field} is {getattr(row, field)}; the record has {record.basis[field]}"
            findings.add("labels", name, message, line.number)
    status = decided_status(record.basis)
    if row.label_status != status:
        findings.add(
            "labels", name, f"{line.key[1]}: label_status is {row.label_status}; the record gives {status}", line.number
        )
    scoreable = not record.basis["incomplete"] and record.basis["num_steps"] > 0
    if row.scoreable != scoreable:
        findings.add(
            "labels", name, f"{line.key[1]}: scoreable is {row.scoreable}; the record gives {scoreable}", line.number
        )
    if cut == "default_cut" and row.in_calibration_pool:
        findings.add("leak", name, f"{line.key[1]} is in the calibration pool, which this cut leaves out", line.number)


def check_whole(folder: str, counts: Counter[Key], records: dict[Key, RecordDigest], findings: Findings) -> None:
    """Train, test and left out divide the corpus."""
    where = folder or "silver_*_labels.jsonl"
    for key, count in sorted(counts.items()):
        if count > 1:
            findings.add("leak", where, f"{'/'.join(key)} occurs {count} times in train, test and exclusions")
    for key in sorted(records.keys() - counts.keys()):
        findings.add("labels", where, f"{'/'.join(key)} is neither in a label file nor left out with a reason")


def check_hold_outs(root: Path, records: dict[Key, RecordDigest], findings: Findings) -> None:
    """In the cut that holds out a model, its records and no others are on the test side."""
    for model in sorted({key[0] for key in records}):
        folder = f"{HOLD_OUT}/{model}/"
        counts = Counter(excluded(root, folder, findings))
        for side in SIDES:
            name = f"{folder}silver_{side}_labels.jsonl"
            rows = list(read_lines(root, name, LabelRow, findings, unique=True))
            check_accepted(root, name, [line.record for line in rows], findings)
            for line in rows:
                counts[line.key] += 1
                check_row(name, line, records, HOLD_OUT, findings)
                if (line.record.source_model == model) != (side == "test"):
                    findings.add("leak", name, f"{'/'.join(line.key)} is on the wrong side", line.number)
        check_whole(folder, counts, records, findings)


def check_pool(root: Path, records: dict[Key, RecordDigest], findings: Findings) -> None:
    """The calibration pool holds oracle-passing records that are not in review, with the slice that the record says."""
    rows = list(read_lines(root, POOL_FILE, PoolRow, findings, unique=True))
    check_parquet(root, typed_file(POOL_FILE), PoolRow, [line.record for line in rows], findings)
    for line in rows:
        record, row = records.get(line.key), line.record
        if record is None or record.tier == REVIEW or record.basis["oracle_outcome"] != "pass":
            findings.add("labels", POOL_FILE, f"{line.key[1]} is not a passing record outside review", line.number)
        elif (row.slice_label, row.task_id) != (record.basis["slice_label"], record.basis["task_id"]):
            findings.add(
                "labels", POOL_FILE, f"{line.key[1]}: slice_label or task_id differs from the record", line.number
            )


def check_tasks(folder: str, tasks: dict[str, set[str]], findings: Findings) -> None:
    """No task is on both sides of the default cut."""
    for task in sorted(tasks["train"] & tasks["test"]):
        findings.add("leak", folder or "silver_*_labels.jsonl", f"{task[:80]} is on both sides of the default cut")


def check_accepted(root: Path, name: str, rows: list[LabelRow], findings: Findings) -> None:
    """The accepted rows of a label file are also in a file of their own, which is loaded by default; so are those of
    the baseline."""
    for status in PARTS:
        status_rows = [row for row in rows if row.label_status == status]
        check_parquet(root, part_file(name, status), LabelRow, status_rows, findings)


def check_parquet(root: Path, name: str, record: type[Keyed], rows: Sequence[Keyed], findings: Findings) -> None:
    """The Parquet file has the rows of the JSONL file, with the record's types."""
    path = root / name
    if not path.is_file():
        findings.add("file_missing", name, "is missing: every release has this file")
        return
    try:
        frame = pl.read_parquet(path, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        findings.add("parquet", name, f"cannot be read: {str(error).splitlines()[0]}")
        return
    expected: list[dict[str, Any]] = [row.model_dump() for row in rows]
    if dict(frame.schema) != dict(schema(record)):
        findings.add("parquet", name, "has other columns or types than its record")
    elif frame.to_dicts() != expected:
        findings.add("parquet", name, f"has {frame.height} rows that are not the {len(expected)} of the JSONL file")
