"""A second pass, where a release has one: its labels are its answers' and the files repeat what the passes say."""

import json
from pathlib import Path
from typing import Any

from openclawbench.records.release import LabelRow
from openclawbench.records.second_pass import ReferenceLabel, both_high_confidence
from openclawbench.records.tiers import STATUS_OF
from openclawbench.release.keys import Key
from openclawbench.release.labels.labels import CUTS, SIDES, typed_file
from openclawbench.release.validate.files.lines import read_lines
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.labels.label_files import Exclusion, check_parquet, check_row
from openclawbench.release.validate.records.answers import deciding_answers
from openclawbench.release.validate.records.record_digest import Slim
from openclawbench.release.writer.files import released
from openclawbench.release.writer.render import ROOT, STAGES, stage_raw_file
from openclawbench.release.writer.second_pass import (
    BOTH_FILE,
    RAW_FILES,
    REFERENCE_FILE,
    SECOND,
    both_side_file,
)

Answers = dict[str, dict[Key, str | None]]  # stage -> key -> JSON text of the parsed answer that decides a label


def check_second_pass(root: Path, models: list[str], records: dict[Key, Slim], findings: Findings) -> None:
    """Nothing where no file of a second pass is there; where one is, all are owed."""
    raw = [f"{ROOT}/{model}/{name}" for model in models for name in RAW_FILES]
    if not any(released(root / name) for name in [REFERENCE_FILE, BOTH_FILE, *raw]):
        return
    answers: Answers = {stage: {} for stage in STAGES}
    for model in models:
        for stage in STAGES:
            name = f"{ROOT}/{model}/{stage_raw_file(stage, SECOND)}"
            lines = deciding_answers(root, name, stage, records, "second_pass", findings)
            answers[stage] |= {line.key: line.record.parsed for line in lines}
    references = check_references(root, records, answers, findings)
    check_both(root, records, references, findings)


def check_references(
    root: Path, records: dict[Key, Slim], answers: Answers, findings: Findings
) -> dict[Key, ReferenceLabel]:
    """One row a record: the decision is stage B1's, and what both passes are sure of is computed again."""
    found: dict[Key, ReferenceLabel] = {}
    for line in read_lines(root, REFERENCE_FILE, ReferenceLabel, findings, unique=True):
        found[line.key] = row = line.record
        known = records.get(line.key)
        if known is None:
            findings.add("second_pass", REFERENCE_FILE, f"{line.key[1]} is not in the master table", line.number)
            continue
        sure = both_high_confidence(known.basis, row.model_dump())
        if row.both_high_confidence != sure:
            message = f"{line.key[1]}: both_high_confidence is {row.both_high_confidence}, the passes give {sure}"
            findings.add("second_pass", REFERENCE_FILE, message, line.number)
        if row.label_status != STATUS_OF.get(row.quality_tier):
            message = f"{line.key[1]}: label_status {row.label_status} stands beside {row.quality_tier}"
            findings.add("second_pass", REFERENCE_FILE, message, line.number)
        if row.task_id != known.basis["task_id"]:
            findings.add("second_pass", REFERENCE_FILE, f"{line.key[1]}: task_id is not the record's", line.number)
        for name, said in decided(answers["b1"].get(line.key)).items():
            if getattr(row, name) != said:
                message = f"{line.key[1]}: {name} is {getattr(row, name)}, stage B1 said {said}"
                findings.add("second_pass", REFERENCE_FILE, message, line.number)
        if line.key not in answers["b1"] and row.is_anomalous:
            message = f"{line.key[1]}: is anomalous, and stage B1 was not asked"
            findings.add("second_pass", REFERENCE_FILE, message, line.number)
    for key in sorted(records.keys() - found.keys()):
        findings.add("second_pass", REFERENCE_FILE, f"{'/'.join(key)} is missing")
    return found


def decided(parsed: str | None) -> dict[str, Any]:
    """Fields of a reference label that a parsed B1 answer fixes; none where there is no answer."""
    if parsed is None:
        return {}
    answer = json.loads(parsed)
    return {"is_anomalous": answer["trajectory_is_anomalous"], "anomaly_type_l2": answer["anomaly_type_l2"]}


def check_both(root: Path, records: dict[Key, Slim], references: dict[Key, ReferenceLabel], findings: Findings) -> None:
    """Label rows of the records of which both passes are sure, but for those left out of the label files."""
    want = {key for key, row in references.items() if row.both_high_confidence and key in records}
    left_out = read_lines(root, f"{CUTS['paper_cut']}label_exclusions.jsonl", Exclusion, Findings(), unique=True)
    want -= {line.key for line in left_out}
    found: dict[Key, LabelRow] = {}
    for line in read_lines(root, BOTH_FILE, LabelRow, findings, unique=True):
        found[line.key] = line.record
        check_row(BOTH_FILE, line, records, "both", findings)
        if line.key not in want:
            findings.add("second_pass", BOTH_FILE, f"{line.key[1]}: the passes are not both sure of it", line.number)
    check_parquet(root, typed_file(BOTH_FILE), LabelRow, list(found.values()), findings)
    for folder in CUTS.values():
        for side in SIDES:
            lines = read_lines(root, f"{folder}silver_{side}_labels.jsonl", LabelRow, Findings(), unique=True)
            own = [found[line.key] for line in lines if line.key in found]
            check_parquet(root, both_side_file(folder, side), LabelRow, own, findings)
    for key in sorted(want - found.keys()):
        findings.add("second_pass", BOTH_FILE, f"{'/'.join(key)} is missing")
