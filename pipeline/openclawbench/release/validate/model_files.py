"""The files of one source model (T37): tiers divide the master table, the other files repeat parts of it."""

import gc
import hashlib
import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from openclawbench.records.release import Master, PositiveStructured
from openclawbench.records.tiers import STATUS_OF
from openclawbench.release.files.names import MASTER_FILE, POSITIVES_FILES, ROOT, STAGES, TIER_FILES, stage_raw_file
from openclawbench.release.record_key import Key
from openclawbench.release.unjudged import files_of_model
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.lines import Line, checked_together, in_key_order, raw_lines, read_line, read_lines
from openclawbench.release.validate.recompute.fields import RecordRecomputer, basis_of
from openclawbench.release.validate.recompute.statistics import columns_of
from openclawbench.release.validate.records.answers import deciding_answers
from openclawbench.release.validate.records.consistency import problems
from openclawbench.release.validate.records.key_tables import KeyCounts, KeyTable, missing_keys
from openclawbench.release.validate.records.record_digest import RecordDigest, Records, digest_record
from openclawbench.release.validate.records.record_index import Index
from openclawbench.release.validate.records.spool import Spool
from openclawbench.rules.fulltax.checks import CheckRules
from openclawbench.rules.fulltax.taxonomy import Taxonomy


@dataclass
class ModelTables:
    """What the checks of one model's files give: a row of each record, and what the checks of the corpus need."""

    connection: sqlite3.Connection
    records: Records
    statistics: Spool  # columns_of the records


def check_model(
    root: Path, model: str, index: Index, deriver: RecordRecomputer | None, tables: ModelTables, findings: Findings
) -> None:
    """Check the files of one model, and fill its tables."""
    folder = f"{ROOT}/{model}"
    records, places = tables.records, LinePlaces(tables.connection)
    for batch in checked_together(check_master(root, f"{folder}/{MASTER_FILE}", model, findings)):
        index_rows = index.of(line.key for line in batch)
        basis = basis_of(batch, {key for key, row in index_rows.items() if row.partial_trial})
        for line, row in zip(batch, basis.iter_rows(named=True), strict=True):
            records[line.key] = record = digest_record(line, row)
            places.add(record.digest, line.key)
        tables.statistics.add(columns_of(batch))
        if deriver is not None:
            deriver.check(batch, index_rows)
        batch.clear()  # before the collector looks for what is left
        gc.collect(0)  # cycles of the stages: the collector is off
    has = files_of_model(root)
    check_tiers(root, folder, records, places, has, findings)
    for status, file in POSITIVES_FILES.items():
        if file in has:
            check_positives(root, f"{folder}/{file}", status, records, findings)
    for stage in STAGES:
        if stage_raw_file(stage) in has:
            check_raw(root, f"{folder}/{stage_raw_file(stage)}", stage, records, findings)


class LinePlaces:
    """The key of the record that a line of the master table belongs to, by the digest of the line."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        connection.execute("CREATE TABLE lines (digest BLOB PRIMARY KEY, model TEXT, id TEXT) WITHOUT ROWID")

    def add(self, digest: bytes, key: Key) -> None:
        """The line of a record."""
        self.connection.execute("INSERT OR REPLACE INTO lines VALUES (?, ?, ?)", (digest, *key))

    def find(self, digest: bytes, records: Records) -> Key | None:
        """The key of a line; None if no record has it."""
        key: Key | None = self.connection.execute("SELECT model, id FROM lines WHERE digest = ?", (digest,)).fetchone()
        return key if key is not None and records[key].digest == digest else None


def check_master(root: Path, name: str, model: str, findings: Findings) -> Iterator[Line]:
    """Every line of the master table whose tier is known: no status follows from another, and it is a finding."""
    taxonomy, rules = Taxonomy.load(), CheckRules.load()
    for line in in_key_order(read_lines(root, name, Master, findings, unique=True), name, "tables", findings):
        findings.checked["records"] += 1
        findings.checked["quotes"] += len(line.record.evidence_steps)
        if line.record.source_model != model:
            findings.add(
                "tables", name, f"source_model is {line.record.source_model}, but the folder is {model}", line.number
            )
        for check, message in problems(line.record, taxonomy, rules):
            findings.add(check, name, f"{line.key[1]}: {message}", line.number)
        if line.record.quality_tier in STATUS_OF:
            yield Line(line.number, line.raw, line.value)


def check_tiers(
    root: Path, folder: str, records: Records, places: LinePlaces, has: Collection[str], findings: Findings
) -> None:
    """Each record is in the file of its tier, byte for byte, and in no other; without a tier, in none. `has`: the files
    that the model has."""
    file_of_key = KeyTable(records.connection, "tier_files", str.encode, bytes.decode)
    for tier, file in ((tier, file) for tier, file in TIER_FILES.items() if file in has):
        name = f"{folder}/{file}"
        for number, raw in raw_lines(root, name, findings):
            key = places.find(hashlib.sha256(raw).digest(), records)
            key = key or find_differing_line(name, number, raw, records, findings)
            if key is None:
                continue
            if (former := file_of_key.get(key)) is not None:
                where = "here a second time" if former == name else f"also in {former}"
                findings.add("tiers", name, f"{key[1]} is {where}", number)
            file_of_key[key] = name
            if records[key].tier != tier:
                findings.add("tiers", name, f"{key[1]} is of tier {records[key].tier}", number)
    with_tier = ((key, records[key].tier) for key in missing_keys(records, file_of_key))
    for key, tier in ((key, tier) for key, tier in with_tier if tier is not None):
        findings.add("tiers", f"{folder}/{TIER_FILES.get(tier, '')}", f"{key[1]} is missing")


def find_differing_line(name: str, number: int, raw: bytes, records: Records, findings: Findings) -> Key | None:
    """The key of a line that is not in the master table, with findings; None if the table does not have the key."""
    line = read_line(name, number, raw, Master, findings)
    if line is None:
        return None
    if line.key not in records:
        findings.add("tiers", name, f"{line.key[1]} is not in the master table", number)
        return None
    findings.add("tiers", name, f"{line.key[1]} differs from its line in the master table", number)
    return line.key


def check_positives(root: Path, name: str, status: str, records: Records, findings: Findings) -> None:
    """The anomalous records of one label_status and no others, each a part of its master record."""
    present = KeyCounts.emptied(records.connection, "positives")
    for line in read_lines(root, name, PositiveStructured, findings, unique=True):
        present.add(line.key)
        record = records.get(line.key)
        if record is None or not is_positive(record, status):
            findings.add("positives", name, f"{line.key[1]} is not an anomalous {status} record", line.number)
        elif hashlib.sha256(line.raw).digest() != record.positive:
            findings.add("positives", name, f"{line.key[1]} differs from its record in the master table", line.number)
    for key in missing_keys((key for key, record in records.rows() if is_positive(record, status)), present):
        findings.add("positives", name, f"{key[1]} is missing")


def is_positive(record: RecordDigest, status: str) -> bool:
    """True for an anomalous record of one label_status."""
    return record.positive is not None and STATUS_OF.get(record.tier) == status


def check_raw(root: Path, name: str, stage: str, records: Records, findings: Findings) -> None:
    """Every answer belongs to a record, and the answer that decided is the one that the record shows."""
    answered = KeyCounts.emptied(records.connection, "answered")
    for line in deciding_answers(root, name, stage, records, answered, "raw_answers", findings):
        parsed, shown = line.record.parsed, records[line.key].stages[stage]
        if shown != (parsed and hashlib.sha256(parsed.encode()).digest()):
            message = f"{line.key[1]}: the record has another answer of stage {stage}"
            findings.add("raw_answers", name, message, line.number)
    for key in missing_keys((key for key, record in records.rows() if record.stages[stage] is not None), answered):
        findings.add("raw_answers", name, f"{key[1]}: the answer that the record has is missing")
