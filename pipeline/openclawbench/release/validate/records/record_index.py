"""record_index.jsonl: one line per record, with the digest of the record's released line."""

import sqlite3
from pathlib import Path

from openclawbench.records.release import RecordIndexRow
from openclawbench.release.record_index import INDEX_FILE
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.lines import read_lines
from openclawbench.release.validate.records.key_tables import KeyCounts, KeyTable, side_by_side
from openclawbench.release.validate.records.record_digest import Records

Index = KeyTable[RecordIndexRow]


def index_in(connection: sqlite3.Connection) -> Index:
    """The table of the index in a temporary database."""
    return KeyTable(
        connection, "record_index", lambda row: row.model_dump_json().encode(), RecordIndexRow.model_validate_json
    )


def read_index(root: Path, index: Index, findings: Findings) -> None:
    """Read the index into its table."""
    for line in read_lines(root, INDEX_FILE, RecordIndexRow, findings, unique=True):
        index[line.key] = line.record


def check_index(index: Index, records: Records, marked: KeyCounts, marker: str, findings: Findings) -> None:
    """Every record has its line in the index, and only records have one. A redacted record contains a marker.
    `marked`: records that contain one; `marker`: its beginning."""
    for key, is_indexed, is_record in side_by_side(index, records):
        if not (is_indexed and is_record):
            where = "the master table" if is_indexed else "the index"
            findings.add("record_index", INDEX_FILE, f"{'/'.join(key)} is not in {where}: each record must be in both")
            continue
        findings.checked["record_digests"] += 1
        row = index[key]
        stated, digest = row.record_sha256, records[key].digest.hex()
        if stated != digest:
            message = f"{key[1]}: record_sha256 is {stated[:12]}…; its line in the master table has {digest[:12]}…"
            findings.add("record_index", INDEX_FILE, message)
        if row.redacted and key not in marked:
            message = f"{key[1]}: redacted is true, but neither its line nor its answers contain {marker!r}"
            findings.add("record_index", INDEX_FILE, message)
        if row.redacted != (row.minhash is not None) and row.text_sha256 is not None:
            message = f"{key[1]}: minhash must be given exactly if the record is redacted"
            findings.add("record_index", INDEX_FILE, message)
