"""The files of one source model (T37): the tiers divide the master table, the others repeat it letter for letter."""

import hashlib
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import polars as pl

from openclawbench.records.release import Master, PositiveStructured, RecordIndexRow
from openclawbench.records.tiers import STATUS_OF
from openclawbench.release.keys import Key
from openclawbench.release.validate.files.lines import Line, raw_lines, read_line, read_lines
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.recompute.fields import AT_ONCE, Deriver, basis_of
from openclawbench.release.validate.recompute.statistics import columns_of
from openclawbench.release.validate.records.answers import deciding_answers
from openclawbench.release.validate.records.consistency import problems
from openclawbench.release.validate.records.record_digest import Slim, slim
from openclawbench.release.writer.render import MASTER_FILE, POSITIVES_FILES, ROOT, STAGES, TIER_FILES, stage_raw_file
from openclawbench.rules.checks import CheckRules
from openclawbench.rules.taxonomy import Taxonomy


def check_model(
    root: Path, model: str, index: Mapping[Key, RecordIndexRow], deriver: Deriver | None, findings: Findings
) -> tuple[dict[Key, Slim], list[pl.DataFrame]]:
    """Check the files of one model; what later checks need of each of its records, and what statistics need of them."""
    folder = f"{ROOT}/{model}"
    records: dict[Key, Slim] = {}
    columns: list[pl.DataFrame] = []
    lines = check_master(root, f"{folder}/{MASTER_FILE}", model, findings)
    while batch := list(islice(lines, AT_ONCE)):
        for line, basis in zip(batch, basis_of(batch, index), strict=True):
            records[line.key] = slim(line, basis)
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
    former: Key | None = None
    for line in read_lines(root, name, Master, findings, unique=True):
        findings.checked["records"] += 1
        findings.checked["quotes"] += len(line.record.evidence_steps)
        if line.record.source_model != model:
            findings.add("tables", name, f"source_model is {line.record.source_model}, the folder {model}", line.number)
        if former is not None and line.key < former:
            findings.add("tables", name, f"{line.key[1]} stands behind {former[1]}: lines are not sorted", line.number)
        former = line.key
        for check, message in problems(line.record, taxonomy, rules):
            findings.add(check, name, f"{line.key[1]}: {message}", line.number)
        yield line


def check_tiers(root: Path, folder: str, records: dict[Key, Slim], findings: Findings) -> None:
    """Each record stands, the same bytes, in the file of its tier and in no other."""
    found: dict[Key, str] = {}
    masters = {known.digest: key for key, known in records.items()}
    for tier, file in TIER_FILES.items():
        name = f"{folder}/{file}"
        for number, raw in raw_lines(root, name, findings):
            key = masters.get(hashlib.sha256(raw).digest()) or differing(name, number, raw, records, findings)
            if key is None:
                continue
            if key in found:
                where = "a second time" if found[key] == name else f"in {found[key]} too"
                findings.add("tiers", name, f"{key[1]} stands {where}", number)
            found[key] = name
            if records[key].tier != tier:
                findings.add("tiers", name, f"{key[1]} is of tier {records[key].tier}", number)
    for key in sorted(records.keys() - found.keys()):
        findings.add("tiers", f"{folder}/{TIER_FILES.get(records[key].tier, '')}", f"{key[1]} is missing")


def differing(name: str, number: int, raw: bytes, records: dict[Key, Slim], findings: Findings) -> Key | None:
    """The key of a line that is none of the master table's, with findings; null where the table has no such key. A line
    that is one of them was checked there."""
    line = read_line(name, number, raw, Master, findings)
    if line is None:
        return None
    if line.key not in records:
        findings.add("tiers", name, f"{line.key[1]} is not in the master table", number)
        return None
    findings.add("tiers", name, f"{line.key[1]} differs from its line in the master table", number)
    return line.key


def check_positives(root: Path, name: str, status: str, records: dict[Key, Slim], findings: Findings) -> None:
    """The anomalous records of one label_status and no others, each a part of its master record."""
    want = {key for key, one in records.items() if one.positive is not None and STATUS_OF.get(one.tier) == status}
    found: set[Key] = set()
    for line in read_lines(root, name, PositiveStructured, findings, unique=True):
        found.add(line.key)
        if line.key not in want:
            findings.add("positives", name, f"{line.key[1]} is not an anomalous {status} record", line.number)
        elif hashlib.sha256(line.raw).digest() != records[line.key].positive:
            findings.add("positives", name, f"{line.key[1]} differs from its record in the master table", line.number)
    for key in sorted(want - found):
        findings.add("positives", name, f"{key[1]} is missing")


def check_raw(root: Path, name: str, stage: str, records: dict[Key, Slim], findings: Findings) -> None:
    """Every answer belongs to a record, and the answer that decided is the one that the record shows."""
    answered: set[Key] = set()
    for line in deciding_answers(root, name, stage, records, "raw_answers", findings):
        answered.add(line.key)
        parsed, shown = line.record.parsed, records[line.key].stages[stage]
        if shown != (parsed and hashlib.sha256(parsed.encode()).digest()):
            message = f"{line.key[1]}: the record shows another answer of stage {stage}"
            findings.add("raw_answers", name, message, line.number)
    for key in sorted(one for one, known in records.items() if known.stages[stage] is not None and one not in answered):
        findings.add("raw_answers", name, f"{key[1]}: the answer that the record shows is missing")
