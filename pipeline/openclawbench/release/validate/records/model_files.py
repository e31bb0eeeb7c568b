"""The files of one source model (T37): tiers divide the master table, the other files repeat parts of it."""

import hashlib
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import polars as pl

from openclawbench.records.release import Master, PositiveStructured, RecordIndexRow
from openclawbench.records.tiers import STATUS_OF
from openclawbench.release.record_key import Key
from openclawbench.release.validate.files.lines import Line, in_key_order, raw_lines, read_line, read_lines
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.recompute.fields import AT_ONCE, RecordRecomputer, basis_of
from openclawbench.release.validate.recompute.statistics import columns_of
from openclawbench.release.validate.records.answers import deciding_answers
from openclawbench.release.validate.records.consistency import problems
from openclawbench.release.validate.records.record_digest import RecordDigest, digest_record
from openclawbench.release.writer.render import MASTER_FILE, POSITIVES_FILES, ROOT, STAGES, TIER_FILES, stage_raw_file
from openclawbench.rules.checks import CheckRules
from openclawbench.rules.taxonomy import Taxonomy


def check_model(
    root: Path, model: str, index: Mapping[Key, RecordIndexRow], deriver: RecordRecomputer | None, findings: Findings
) -> tuple[dict[Key, RecordDigest], list[pl.DataFrame]]:
    """Check the files of one model; returns the digest of each record, and the columns for the statistics."""
    folder = f"{ROOT}/{model}"
    records: dict[Key, RecordDigest] = {}
    columns: list[pl.DataFrame] = []
    lines = check_master(root, f"{folder}/{MASTER_FILE}", model, findings)
    while batch := list(islice(lines, AT_ONCE)):
        for line, basis in zip(batch, basis_of(batch, index), strict=True):
            records[line.key] = digest_record(line, basis)
        columns.append(columns_of(batch))
        if deriver is not None:
            deriver.check(batch)
    check_tiers(root, folder, records, findings)
    for status, file in POSITIVES_FILES.items():
        check_positives(root, f"{folder}/{file}", status, records, findings)
    for stage in STAGES:
        check_raw(root, f"{folder}/{stage_raw_file(stage)}", stage, records, findings)
    return records, columns


def check_master(root: Path, name: str, model: str, findings: Findings) -> Iterator[Line[Master]]:
    """Every line of the master table."""
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
        yield line


def check_tiers(root: Path, folder: str, records: dict[Key, RecordDigest], findings: Findings) -> None:
    """Each record is in the file of its tier, byte for byte, and in no other."""
    file_of_key: dict[Key, str] = {}
    masters = {record.digest: key for key, record in records.items()}
    for tier, file in TIER_FILES.items():
        name = f"{folder}/{file}"
        for number, raw in raw_lines(root, name, findings):
            key = masters.get(hashlib.sha256(raw).digest()) or differing(name, number, raw, records, findings)
            if key is None:
                continue
            if key in file_of_key:
                where = "here a second time" if file_of_key[key] == name else f"also in {file_of_key[key]}"
                findings.add("tiers", name, f"{key[1]} is {where}", number)
            file_of_key[key] = name
            if records[key].tier != tier:
                findings.add("tiers", name, f"{key[1]} is of tier {records[key].tier}", number)
    for key in sorted(records.keys() - file_of_key.keys()):
        findings.add("tiers", f"{folder}/{TIER_FILES.get(records[key].tier, '')}", f"{key[1]} is missing")


def differing(name: str, number: int, raw: bytes, records: dict[Key, RecordDigest], findings: Findings) -> Key | None:
    """The key of a line that is not in the master table, with findings; None if the table does not have the key."""
    line = read_line(name, number, raw, Master, findings)
    if line is None:
        return None
    if line.key not in records:
        findings.add("tiers", name, f"{line.key[1]} is not in the master table", number)
        return None
    findings.add("tiers", name, f"{line.key[1]} differs from its line in the master table", number)
    return line.key


def check_positives(root: Path, name: str, status: str, records: dict[Key, RecordDigest], findings: Findings) -> None:
    """The anomalous records of one label_status and no others, each a part of its master record."""
    expected = {
        key for key, record in records.items() if record.positive is not None and STATUS_OF.get(record.tier) == status
    }
    present: set[Key] = set()
    for line in read_lines(root, name, PositiveStructured, findings, unique=True):
        present.add(line.key)
        if line.key not in expected:
            findings.add("positives", name, f"{line.key[1]} is not an anomalous {status} record", line.number)
        elif hashlib.sha256(line.raw).digest() != records[line.key].positive:
            findings.add("positives", name, f"{line.key[1]} differs from its record in the master table", line.number)
    for key in sorted(expected - present):
        findings.add("positives", name, f"{key[1]} is missing")


def check_raw(root: Path, name: str, stage: str, records: dict[Key, RecordDigest], findings: Findings) -> None:
    """Every answer belongs to a record, and the answer that decided is the one that the record shows."""
    answered: set[Key] = set()
    for line in deciding_answers(root, name, stage, records, "raw_answers", findings):
        answered.add(line.key)
        parsed, shown = line.record.parsed, records[line.key].stages[stage]
        if shown != (parsed and hashlib.sha256(parsed.encode()).digest()):
            message = f"{line.key[1]}: the record has another answer of stage {stage}"
            findings.add("raw_answers", name, message, line.number)
    for key in sorted(
        key for key, record in records.items() if record.stages[stage] is not None and key not in answered
    ):
        findings.add("raw_answers", name, f"{key[1]}: the answer that the record has is missing")
