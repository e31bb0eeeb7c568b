"""record_index.jsonl: one line per record, with the digest of the record's released line."""

from collections.abc import Mapping
from pathlib import Path

from openclawbench.records.release import RecordIndexRow
from openclawbench.release.record_index import INDEX_FILE
from openclawbench.release.record_key import Key
from openclawbench.release.validate.files.lines import read_lines
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.recompute.fields import Recomputed
from openclawbench.release.validate.records.record_digest import RecordDigest


def read_index(root: Path, findings: Findings) -> dict[Key, RecordIndexRow]:
    """The index, by key."""
    return {line.key: line.record for line in read_lines(root, INDEX_FILE, RecordIndexRow, findings, unique=True)}


def check_index(
    index: Mapping[Key, RecordIndexRow], records: Mapping[Key, RecordDigest], derived: Recomputed, findings: Findings
) -> None:
    """Every record has its line in the index, and only records have one. A redacted record contains a marker."""
    for key in sorted(index.keys() | records.keys()):
        if key not in index or key not in records:
            where = "the index" if key not in index else "the master table"
            findings.add("record_index", INDEX_FILE, f"{'/'.join(key)} is not in {where}: each record must be in both")
            continue
        findings.checked["record_digests"] += 1
        stated, digest = index[key].record_sha256, records[key].digest.hex()
        if stated != digest:
            message = f"{key[1]}: record_sha256 is {stated[:12]}…; its line in the master table has {digest[:12]}…"
            findings.add("record_index", INDEX_FILE, message)
        if index[key].redacted and key not in derived.marked:
            message = f"{key[1]}: redacted is true, but neither its line nor its answers contain {derived.marker!r}"
            findings.add("record_index", INDEX_FILE, message)
        if index[key].redacted != (index[key].minhash is not None) and index[key].text_sha256 is not None:
            message = f"{key[1]}: minhash must be given exactly if the record is redacted"
            findings.add("record_index", INDEX_FILE, message)
