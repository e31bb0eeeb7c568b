"""The files of a second pass, if a release has one: labels follow from its answers, and agree with both passes."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from openclawbench.records.release import LabelRow
from openclawbench.records.second_pass import ReferenceLabel, both_high_confidence
from openclawbench.records.tiers import STATUS_OF
from openclawbench.release.files.jsonl_files import released
from openclawbench.release.files.names import (
    BOTH_FILE,
    RAW_FILES,
    REFERENCE_FILE,
    ROOT,
    SECOND,
    STAGES,
    both_side_file,
    stage_raw_file,
)
from openclawbench.release.files.table_writer import typed_file
from openclawbench.release.labels.places import CUTS, IN_POOL, SIDES
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.labels.label_files import ParquetRows, check_row, excluded_records
from openclawbench.release.validate.lines import read_lines
from openclawbench.release.validate.records.answers import deciding_answers
from openclawbench.release.validate.records.key_tables import KeyCounts, KeyTable, missing_keys
from openclawbench.release.validate.records.record_digest import Records

Decisions = KeyTable[str | None]  # JSON text of the parsed answer of stage B1 that decides a label, by key


def check_second_pass(root: Path, models: list[str], records: Records, findings: Findings) -> None:
    """Check the files; nothing to do if none of them exists. If one does, all must."""
    raw = [f"{ROOT}/{model}/{name}" for model in models for name in RAW_FILES]
    if not any(released(root / name) for name in [REFERENCE_FILE, BOTH_FILE, *raw]):
        return
    decisions: Decisions = KeyTable(records.connection, "second_decisions", text_of, text_or_none)
    for model in models:
        for stage in STAGES:
            name = f"{ROOT}/{model}/{stage_raw_file(stage, SECOND)}"
            answered = KeyCounts.emptied(records.connection, "answered")
            lines = deciding_answers(root, name, stage, records, answered, "second_pass", findings)
            for line in lines:
                if stage == "b1":
                    decisions[line.key] = line.record.parsed
    check_both(root, records, check_references(root, records, decisions, findings), findings)


def check_references(root: Path, records: Records, decisions: Decisions, findings: Findings) -> KeyCounts:
    """One row per record: the decision is that of stage B1, and both_high_confidence follows from the passes. Returns
    the keys of the records with high confidence in both passes."""
    references, sure = KeyCounts(records.connection, "references_of"), KeyCounts(records.connection, "sure")
    for line in read_lines(root, REFERENCE_FILE, ReferenceLabel, findings, unique=True):
        row, record = line.record, records.get(line.key)
        references.add(line.key)
        if record is None:
            findings.add("second_pass", REFERENCE_FILE, f"{line.key[1]} is not in the master table", line.number)
            continue
        if row.both_high_confidence:
            sure.add(line.key)
        expected = both_high_confidence(record.basis, row.model_dump())
        if row.both_high_confidence != expected:
            message = f"{line.key[1]}: both_high_confidence is {row.both_high_confidence}; the passes give {expected}"
            findings.add("second_pass", REFERENCE_FILE, message, line.number)
        if row.label_status != STATUS_OF.get(row.quality_tier):
            message = f"{line.key[1]}: label_status is {row.label_status}, and quality_tier is {row.quality_tier}"
            findings.add("second_pass", REFERENCE_FILE, message, line.number)
        if row.task_id != record.basis["task_id"]:
            findings.add("second_pass", REFERENCE_FILE, f"{line.key[1]}: task_id differs from the record", line.number)
        for name, expected_value in decided_fields(decisions.get(line.key)).items():
            if getattr(row, name) != expected_value:
                message = f"{line.key[1]}: {name} is {getattr(row, name)}; stage B1 gives {expected_value}"
                findings.add("second_pass", REFERENCE_FILE, message, line.number)
        if line.key not in decisions and row.is_anomalous:
            message = f"{line.key[1]}: is anomalous without an answer of stage B1"
            findings.add("second_pass", REFERENCE_FILE, message, line.number)
    for key in missing_keys(records, references):
        findings.add("second_pass", REFERENCE_FILE, f"{'/'.join(key)} is missing")
    return sure


def decided_fields(parsed: str | None) -> dict[str, Any]:
    """Fields of a reference label that a parsed B1 answer decides; none without an answer."""
    if parsed is None:
        return {}
    answer = json.loads(parsed)
    return {"is_anomalous": answer["trajectory_is_anomalous"], "anomaly_type_l2": answer["anomaly_type_l2"]}


def text_of(parsed: str | None) -> bytes:
    """The text as it is stored; nothing for None."""
    return b"" if parsed is None else parsed.encode()


def text_or_none(content: bytes) -> str | None:
    """The text as it was before."""
    return content.decode() if content else None


def check_both(root: Path, records: Records, sure: KeyCounts, findings: Findings) -> None:
    """Label rows of the records with high confidence in both passes, except those left out of the label files."""
    left_out = KeyCounts(records.connection, "left_out")
    left_out.update(excluded_records(root, CUTS["paper_cut"], Findings(), but=IN_POOL))
    rows: KeyTable[LabelRow] = KeyTable(
        records.connection, "both_rows", lambda row: row.model_dump_json().encode(), LabelRow.model_validate_json
    )
    typed = ParquetRows(root, typed_file(BOTH_FILE), LabelRow)
    for line in read_lines(root, BOTH_FILE, LabelRow, findings, unique=True):
        rows[line.key] = line.record
        typed.compare(line.record)
        check_row(BOTH_FILE, line, records.get(line.key), "both", findings)
        if line.key not in sure or line.key in left_out:
            findings.add(
                "second_pass", BOTH_FILE, f"{line.key[1]}: it does not have high confidence in both passes", line.number
            )
    typed.finish(findings)
    for folder in CUTS.values():
        for side in SIDES:
            lines = read_lines(root, f"{folder}silver_{side}_labels.jsonl", LabelRow, Findings(), unique=True)
            side_rows = (row for line in lines if (row := rows.get(line.key)) is not None)
            check_parquet(root, both_side_file(folder, side), side_rows, findings)
    for key in missing_keys(sure, rows):
        if key not in left_out:
            findings.add("second_pass", BOTH_FILE, f"{'/'.join(key)} is missing")


def check_parquet(root: Path, name: str, rows: Iterable[LabelRow], findings: Findings) -> None:
    """The Parquet file has these rows."""
    typed = ParquetRows(root, name, LabelRow)
    for row in rows:
        typed.compare(row)
    typed.finish(findings)
