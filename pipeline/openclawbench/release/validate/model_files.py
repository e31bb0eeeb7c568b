"""The records and answers of one source model (T37), and the lines that its files must have."""

import gc
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openclawbench.base.canonical_json import canonical_json
from openclawbench.records.release import Master, PositiveStructured
from openclawbench.records.tiers import STATUS_OF
from openclawbench.release.files.names import MASTER_FILE, POSITIVES_FILES, ROOT, STAGES, TIER_FILES, stage_raw_file
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.lines import Line, checked_together, in_key_order, read_lines
from openclawbench.release.validate.recompute.fields import RecordRecomputer, basis_of
from openclawbench.release.validate.records.answers import deciding_answers
from openclawbench.release.validate.records.consistency import problems
from openclawbench.release.validate.records.key_tables import KeyCounts, missing_keys
from openclawbench.release.validate.records.line_file import LineFile
from openclawbench.release.validate.records.record_digest import Records, digest_record
from openclawbench.release.validate.records.record_index import Index
from openclawbench.rules.fulltax.checks import CheckRules
from openclawbench.rules.fulltax.taxonomy import Taxonomy


@dataclass
class ModelTables:
    """What the checks of one model's files give: a row of each record, and their lines, in files with this path before
    their number."""

    records: Records
    lines: str
    passes: tuple[int, ...]


def check_model(
    root: Path, model: str, index: Index, deriver: RecordRecomputer | None, tables: ModelTables, findings: Findings
) -> None:
    """Check the files of one model, and fill its tables."""
    folder, records = f"{ROOT}/{model}", tables.records
    with LineFile(Path(f"{tables.lines}-0.parquet")) as lines:
        for batch in checked_together(check_master(root, f"{folder}/{MASTER_FILE}", model, findings)):
            index_rows = index.of(line.key for line in batch)
            basis = basis_of(batch, {key for key, row in index_rows.items() if row.partial_trial})
            for line, row in zip(batch, basis.iter_rows(named=True), strict=True):
                if line.key not in records:
                    lines.add(line.key, line_rows(line))
                records[line.key] = digest_record(line, row)
            if deriver is not None:
                deriver.check(batch, index_rows)
            batch.clear()  # before the collector looks for what is left
            gc.collect(0)  # cycles of the stages: the collector is off
    files = [(stage, number) for number in tables.passes for stage in STAGES]
    for place, (stage, number) in enumerate(files, start=1):
        with LineFile(Path(f"{tables.lines}-{place}.parquet")) as lines:
            check_raw(root, f"{folder}/{stage_raw_file(stage, number)}", stage, number, records, lines, findings)


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


def line_rows(line: Line) -> Iterator[tuple[list[str], bytes]]:
    """(files, line) of each line that a record of the master table has in the files of its model."""
    tier = line.value["quality_tier"]
    if tier is None:  # nobody judged it
        yield [MASTER_FILE], line.raw
        return
    yield [MASTER_FILE, TIER_FILES[tier]], line.raw
    if line.value["is_anomalous"] and (file := POSITIVES_FILES.get(STATUS_OF[tier])):
        yield [file], canonical_json({name: line.value[name] for name in PositiveStructured.model_fields}).encode()


def check_raw(
    root: Path, name: str, stage: str, annotation_pass: int, records: Records, lines: LineFile, findings: Findings
) -> None:
    """Every answer belongs to a record, and the answer that decided in the first pass is the one that the record
    shows."""
    answered = KeyCounts.emptied(records.connection, "answered")
    check = "raw_answers" if annotation_pass == 1 else "second_pass"
    for line in deciding_answers(root, name, stage, records, answered, check, lines, findings):
        if annotation_pass > 1:
            continue
        parsed, shown = line.record.parsed, records[line.key].stages[stage]
        if shown != (parsed and hashlib.sha256(parsed.encode()).digest()):
            message = f"{line.key[1]}: the record has another answer of stage {stage}"
            findings.add("raw_answers", name, message, line.number)
    if annotation_pass > 1:
        return
    for key in missing_keys((key for key, record in records.rows() if record.stages[stage] is not None), answered):
        findings.add("raw_answers", name, f"{key[1]}: the answer that the record has is missing")
