"""record_index.jsonl: a line a record, each with the digest of the record's line as it is released."""

from collections.abc import Mapping
from pathlib import Path

from openclawbench.records.release import RecordIndexRow
from openclawbench.release.keys import Key
from openclawbench.release.record_index import INDEX_FILE
from openclawbench.release.validate.files.lines import read_lines
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.recompute.fields import Derived
from openclawbench.release.validate.records.record_digest import Slim


def read_index(root: Path, findings: Findings) -> dict[Key, RecordIndexRow]:
    """The index, by key."""
    return {line.key: line.record for line in read_lines(root, INDEX_FILE, RecordIndexRow, findings, unique=True)}


def check_index(
    index: Mapping[Key, RecordIndexRow], records: Mapping[Key, Slim], derived: Derived, findings: Findings
) -> None:
    """Every record has its line, and no other has one; a record that is said to be redacted shows it."""
    for key in sorted(index.keys() | records.keys()):
        if key not in index or key not in records:
            where = "the index" if key not in index else "the master table"
            findings.add("record_index", INDEX_FILE, f"{'/'.join(key)} is not in {where}: each record stands in both")
            continue
        findings.checked["record_digests"] += 1
        said, digest = index[key].record_sha256, records[key].digest.hex()
        if said != digest:
            message = f"{key[1]}: record_sha256 is {said[:12]}…, its line in the master table has {digest[:12]}…"
            findings.add("record_index", INDEX_FILE, message)
        if index[key].redacted and key not in derived.marked:
            message = f"{key[1]}: redacted is true, and no {derived.marker!r} stands in its line or its answers"
            findings.add("record_index", INDEX_FILE, message)
        if index[key].redacted != (index[key].minhash is not None) and index[key].text_sha256 is not None:
            message = f"{key[1]}: minhash is given where, and only where, the record is redacted"
            findings.add("record_index", INDEX_FILE, message)
