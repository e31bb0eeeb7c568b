"""Label files: in each cut, every record is on one side or left out with a reason; Parquet has the same rows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from openclawbench.records.release import LabelRow, PoolRow
from openclawbench.records.tiers import REVIEW
from openclawbench.release.files.table_writer import typed_file
from openclawbench.release.labels.labels import LEFT_OUT_FILE, PART_STATUSES, POOL_FILE, part_file
from openclawbench.release.labels.places import CUTS, HOLD_OUT, SIDES, decided_status
from openclawbench.release.record_key import Key
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.lines import ValidLine, read_lines
from openclawbench.release.validate.records.key_tables import KeyCounts, missing_keys
from openclawbench.release.validate.records.record_digest import RecordDigest, Records
from openclawbench.tables.record import Keyed
from openclawbench.tables.schema import schema

COPIED = ("task_id", "is_anomalous", "anomaly_type_l2", "quality_tier")


class Exclusion(Keyed):
    """A line of label_exclusions.jsonl."""

    reason: str


def check_labels(root: Path, records: Records, findings: Findings) -> None:
    """Check the label files of all cuts and the calibration pool."""
    counts = KeyCounts(records.connection, "label_rows")
    for cut, folder in CUTS.items():
        counts.clear()
        tasks: dict[str, set[str]] = {side: set() for side in SIDES}
        for side in SIDES:
            name = f"{folder}silver_{side}_labels.jsonl"
            typed, wrong = [ParquetRows(root, typed_file(name), LabelRow), *accepted_rows(root, name)], Findings()
            for line in read_lines(root, name, LabelRow, findings, unique=True):
                counts.add(line.key)
                record = records.get(line.key)
                check_row(name, line, record, cut, wrong)
                if record is not None and cut == "default_cut":
                    tasks[side].add(record.basis["task_digest"])
                compare_rows(typed, line.record)
            findings.absorb(wrong)
            for rows in typed:
                rows.finish(findings)
        counts.update(excluded_records(root, folder, findings))
        check_whole(folder, counts, records, findings)
        if cut == "default_cut":
            check_tasks(folder, tasks, findings)
    check_hold_outs(root, records, counts, findings)
    check_pool(root, records, findings)


def excluded_records(root: Path, folder: str, findings: Findings, but: str | None = None) -> Iterator[Key]:
    """Records that a cut leaves out with a reason; `but`: a reason that is passed over."""
    lines = read_lines(root, f"{folder}{LEFT_OUT_FILE}", Exclusion, findings, unique=True)
    return (line.key for line in lines if line.record.reason != but)


def check_row(name: str, line: ValidLine[LabelRow], record: RecordDigest | None, cut: str, findings: Findings) -> None:
    """A label row repeats its record."""
    row = line.record
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
    if row.in_calibration_pool and (cut == "default_cut" or "silver_train_labels" in name):
        findings.add("leak", name, f"{line.key[1]} is in the calibration pool, which is left out here", line.number)


def check_whole(folder: str, counts: KeyCounts, records: Records, findings: Findings) -> None:
    """Train, test and left out divide the corpus."""
    where = folder or "silver_*_labels.jsonl"
    for key, count in counts.rows():
        if count > 1:
            findings.add("leak", where, f"{'/'.join(key)} occurs {count} times in train, test and exclusions")
    for key in missing_keys(records, counts):
        findings.add("labels", where, f"{'/'.join(key)} is neither in a label file nor left out with a reason")


def check_hold_outs(root: Path, records: Records, counts: KeyCounts, findings: Findings) -> None:
    """In the cut that holds out a model, its records and no others are on the test side."""
    for model in dict.fromkeys(model for model, _ in records):
        folder = f"{HOLD_OUT}/{model}/"
        counts.clear()
        counts.update(excluded_records(root, folder, findings))
        for side in SIDES:
            name = f"{folder}silver_{side}_labels.jsonl"
            typed, wrong = accepted_rows(root, name), Findings()
            for line in read_lines(root, name, LabelRow, findings, unique=True):
                counts.add(line.key)
                check_row(name, line, records.get(line.key), HOLD_OUT, wrong)
                if (line.record.source_model == model) != (side == "test"):
                    wrong.add("leak", name, f"{'/'.join(line.key)} is on the wrong side", line.number)
                compare_rows(typed, line.record)
            for rows in typed:
                rows.finish(findings)
            findings.absorb(wrong)
        check_whole(folder, counts, records, findings)


def check_pool(root: Path, records: Records, findings: Findings) -> None:
    """The calibration pool holds oracle-passing records that are not in review, with the slice that the record says."""
    typed, wrong = ParquetRows(root, typed_file(POOL_FILE), PoolRow), Findings()
    for line in read_lines(root, POOL_FILE, PoolRow, findings, unique=True):
        record, row = records.get(line.key), line.record
        typed.compare(row)
        if record is None or record.tier == REVIEW or record.basis["oracle_outcome"] != "pass":
            wrong.add("labels", POOL_FILE, f"{line.key[1]} is not a passing record outside review", line.number)
        elif (row.slice_label, row.task_id) != (record.basis["slice_label"], record.basis["task_id"]):
            message = f"{line.key[1]}: slice_label or task_id differs from the record"
            wrong.add("labels", POOL_FILE, message, line.number)
    typed.finish(findings)
    findings.absorb(wrong)


def check_tasks(folder: str, tasks: dict[str, set[str]], findings: Findings) -> None:
    """No task is on both sides of the default cut."""
    for task in sorted(tasks["train"] & tasks["test"]):
        findings.add("leak", folder or "silver_*_labels.jsonl", f"{task[:80]} is on both sides of the default cut")


def accepted_rows(root: Path, name: str) -> list["ParquetRows"]:
    """The accepted rows of a label file are also in a file of their own, which is loaded by default; so are those of
    the baseline."""
    return [ParquetRows(root, part_file(name, status), LabelRow, status) for status in PART_STATUSES]


def compare_rows(tables: list["ParquetRows"], row: LabelRow) -> None:
    """Compare a row of a label file with the next row of each Parquet file that must have it."""
    for table in tables:
        if table.status is None or table.status == row.label_status:
            table.compare(row)


class ParquetRows:
    """The Parquet file of a JSONL file: it has the same rows, with the record's types; `status`: those of one
    label_status. It is read as the rows come, some at a time."""

    def __init__(self, root: Path, name: str, record: type[Keyed], status: str | None = None) -> None:
        self.path, self.name, self.record, self.status = root / name, name, record, status
        self.expected = 0  # rows of the JSONL file
        self.same = self.path.is_file()
        self.rows = rows_of(self.path) if self.same else iter(())

    def compare(self, row: Keyed) -> None:
        """Compare the next row."""
        self.expected += 1
        self.same = self.same and self.next_row() == row.model_dump()

    def next_row(self) -> dict[str, Any] | None:
        """The next row of the Parquet file; None if there is none, or it cannot be read, which `finish` reports."""
        try:
            return next(self.rows, None)
        except (pa.ArrowException, OSError, ValueError):  # ValueError: a text that is not UTF-8
            self.same = False
            return None

    def finish(self, findings: Findings) -> None:
        """Report what is wrong with the file."""
        if not self.path.is_file():
            findings.add("file_missing", self.name, "is missing: every release has this file")
            return
        at_end = self.next_row() is None
        try:
            kinds = pl.scan_parquet(self.path, glob=False).collect_schema()
            height = self.expected if self.same and at_end else pl.read_parquet(self.path, glob=False).height
        except (pl.exceptions.PolarsError, OSError) as error:
            findings.add("parquet", self.name, f"cannot be read: {str(error).splitlines()[0]}")
            return
        if dict(kinds) != dict(schema(self.record)):
            findings.add("parquet", self.name, "has other columns or types than its record")
        elif not (self.same and at_end):
            message = f"has {height} rows that are not the {self.expected} of the JSONL file"
            findings.add("parquet", self.name, message)


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file, some thousands in memory at a time."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(4096):
            yield from batch.to_pylist()
