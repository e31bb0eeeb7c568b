"""A release opened for planting a defect, and closed again as whoever plants one would: every copy of a record, every
file that is computed from the records, and every digest is made anew, so that only the defect itself can be noticed."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from sealing import seal

from openclawbench.base.canonical_json import canonical_json
from openclawbench.errors import OpenClawBenchError
from openclawbench.records.datapackage import INPUTS_FILE, DataPackage, InputFile
from openclawbench.records.release import LabelBasis, LabelRow, Master, PoolRow, PositiveStructured, RecordIndexRow
from openclawbench.records.tiers import status_of
from openclawbench.release.card.described import describe_release
from openclawbench.release.files.names import MASTER_FILE, POSITIVES_FILES, ROOT, TIER_FILES, models_of, stage_raw_file
from openclawbench.release.files.parquet import TABLES, arrow_schema, shard_name, table_of
from openclawbench.release.files.table_writer import typed_file
from openclawbench.release.input_files import INPUTS_TABLE
from openclawbench.release.labels.labels import PART_STATUSES, POOL_FILE, as_json, part_file
from openclawbench.release.labels.places import CUTS, HOLD_OUT, SIDES
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.provenance import NAME as PACKAGE
from openclawbench.release.provenance import resources
from openclawbench.release.record_index import INDEX_FILE
from openclawbench.release.statistics.files import statistics_files, statistics_of
from openclawbench.release.validate.data_package import AFTER
from openclawbench.release.validate.files.released_text import check_released_text, scan_model
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.lines import read_lines
from openclawbench.release.validate.recompute.card import BROKEN, settings
from openclawbench.release.validate.recompute.fields import basis_of
from openclawbench.release.writer.summarize import count, summarize, summary_files
from openclawbench.tables.schema import from_records

Row = dict[str, Any]
Key = tuple[str, str]


class Opened:
    """The release in `root`. Change rows and files, then close it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.models = models_of(root)
        self.read: dict[str, list[Row]] = {}  # JSONL files that are at hand
        self.last: Callable[[], object] | None = None  # done when the statistics are made anew, before digests are
        self.index_digests = True  # false: the index keeps the digests of the records as they were

    def rows(self, name: str) -> list[Row]:
        """The rows of a JSONL file, to be changed."""
        if name not in self.read:
            lines = (self.root / name).read_bytes().split(b"\n")
            self.read[name] = [json.loads(line) for line in lines if line]
        return self.read[name]

    def json(self, name: str, change: Callable[[Any], object]) -> None:
        """Change a JSON file."""
        document = json.loads((self.root / name).read_text())
        change(document)
        (self.root / name).write_bytes(as_json(document))

    def text(self, name: str, before: str, after: str) -> None:
        """Change the text of a file."""
        text = (self.root / name).read_text()
        assert before in text
        (self.root / name).write_text(text.replace(before, after))

    @property
    def records(self) -> list[Row]:
        """Every record of the master tables."""
        return [row for model in self.models for row in self.rows(master_of(model))]

    def record(self, which: Callable[[Row], Any]) -> Row:
        """The first record of which this holds."""
        return next(row for row in self.records if which(row))

    def answers(self, record: Row, stage: str) -> Row:
        """The raw answer of a stage about a record."""
        rows = self.rows(f"{ROOT}/{record['source_model']}/{stage_raw_file(stage)}")
        return next(row for row in rows if row["trajectory_id"] == record["trajectory_id"])

    def label_files(self) -> list[str]:
        """Every label file of every cut."""
        folders = [*CUTS.values(), *(f"{HOLD_OUT}/{model}/" for model in self.models)]
        return [f"{folder}silver_{side}_labels.jsonl" for folder in folders for side in SIDES]

    def close(self) -> None:
        """Write everything that follows from the rows, and seal the release."""
        changed = self.write_records()
        self.write_labels(changed)
        for name, rows in self.read.items():
            (self.root / name).write_bytes(lines_of(rows))
        if INPUTS_FILE in self.read:
            table = pa.Table.from_pylist(self.read[INPUTS_FILE], schema=arrow_schema(InputFile))
            pq.write_table(table, self.root / INPUTS_TABLE)
        reseal(self.root, self.last)

    def write_records(self) -> dict[Key, Row]:
        """Tiers, positives and Parquet of the master tables; returns the records."""
        actual_rows: dict[Key, Row] = {}
        for model in self.models:
            if master_of(model) not in self.read:
                continue
            rows = self.rows(master_of(model))
            actual_rows |= {key_of(row): row for row in rows}
            self.put(f"{ROOT}/{model}/{MASTER_FILE}", rows)
            for tier, file in TIER_FILES.items():
                self.put(f"{ROOT}/{model}/{file}", [row for row in rows if row["quality_tier"] == tier])
            fields = PositiveStructured.model_fields
            for status, file in POSITIVES_FILES.items():
                positive = [row for row in rows if row["is_anomalous"] and status_of(row["quality_tier"]) == status]
                self.put(f"{ROOT}/{model}/{file}", [{name: row[name] for name in fields} for row in positive])
        if actual_rows and self.index_digests:
            for row in self.rows(INDEX_FILE):
                if key_of(row) in actual_rows:
                    line = canonical_json(actual_rows[key_of(row)]).encode()
                    row["record_sha256"] = hashlib.sha256(line).hexdigest()
        return actual_rows

    def put(self, name: str, rows: list[Row]) -> None:
        """Write a JSONL file of records and its Parquet."""
        (self.root / name).write_bytes(lines_of(rows))
        folder, file = (self.root / name).parent, Path(name).name
        columns = arrow_schema(TABLES[file])
        lines = [canonical_json(row).encode() for row in rows]
        try:
            table = table_of(lines, columns) if lines else columns.empty_table()
        except (ValueError, OSError):
            return  # a row that no column holds
        pq.write_table(table, folder / shard_name(file, 0, 1), compression="zstd")

    def write_labels(self, records: dict[Key, Row]) -> None:
        """Label rows say what their records say, and Parquet beside them the same."""
        for name in [*self.label_files(), POOL_FILE]:
            if not records and name not in self.read:
                continue
            rows = self.rows(name)
            for row in rows:
                if (record := records.get(key_of(row))) and name != POOL_FILE:
                    copied = ("task_id", "is_anomalous", "anomaly_type_l2", "quality_tier")
                    row.update({field: record[field] for field in copied})
                    row["label_status"] = status_of(record["quality_tier"])
            kind = PoolRow if name == POOL_FILE else LabelRow
            if name == POOL_FILE or not name.startswith(HOLD_OUT):
                from_records(rows, kind).write_parquet(self.root / typed_file(name))
            if name != POOL_FILE:
                for status in PART_STATUSES:
                    part = [row for row in rows if row["label_status"] == status]
                    from_records(part, kind).write_parquet(self.root / part_file(name, status))


def reseal(root: Path, last: Callable[[], object] | None = None) -> None:
    """Summaries, statistics, data package, card, Croissant and checksums, of the files as they are now."""
    try:
        write_summaries(root)
        write_statistics(root)
    except (*BROKEN, OpenClawBenchError):
        pass  # of what is broken none can be made
    if last is not None:
        last()
    digests = digests_of(root)
    package = json.loads((root / PACKAGE).read_text())
    listed = resources(root, {path: digest for path, digest in digests.items() if path not in AFTER})
    package["resources"] = [entry.model_dump() for entry in listed]
    (root / PACKAGE).write_bytes(as_json(package))
    try:
        privacy = PrivacyRules.checked(json.loads((root / "privacy.json").read_text()), root / "privacy.json")
        scans = [scan_model(root, model, PrivacyFinder(privacy)) for model in models_of(root)]
        text = check_released_text(root, scans, privacy, Findings()).table()
        for name, content in describe_release(root, digests_of(root), text, settings(root)).items():
            (root / name).write_bytes(content)
    except (*BROKEN, OpenClawBenchError):
        pass
    seal(root)


def write_summaries(root: Path) -> None:
    """dataset_summary.json of the corpus and of each model."""
    index = read_lines(root, INDEX_FILE, RecordIndexRow, Findings(), unique=True)
    partial_trials = {line.key for line in index if line.record.partial_trial}
    basis = [from_records([], LabelBasis)]
    for model in models_of(root):
        masters = list(read_lines(root, master_of(model), Master, Findings(), unique=True))
        basis.append(basis_of(masters, partial_trials))
    counts = summarize(count(pl.concat(basis).lazy())).collect()
    for name, content in summary_files(counts, models_of(root)).items():
        (root / name).write_bytes(as_json(content))


def write_statistics(root: Path) -> None:
    """statistics.json, its text and its pictures."""
    rules = settings(root)
    for name, content in statistics_files(statistics_of(root, rules), rules).items():
        (root / name).write_bytes(content)


def digests_of(root: Path) -> dict[str, str]:
    """Path -> digest of every file that a data package or a card may list."""
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name not in ("CHECKSUMS.sha256", "README.md", "croissant.json")
    }


def master_of(model: str) -> str:
    return f"{ROOT}/{model}/{MASTER_FILE}"


def key_of(row: Row) -> Key:
    return row["source_model"], row["trajectory_id"]


def lines_of(rows: list[Row]) -> bytes:
    return b"".join(canonical_json(row).encode() + b"\n" for row in rows)


def package_of(root: Path) -> DataPackage:
    return DataPackage.model_validate_json((root / PACKAGE).read_bytes())
