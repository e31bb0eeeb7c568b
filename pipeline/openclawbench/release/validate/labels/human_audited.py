"""human_audited.jsonl, if a release has one: each row belongs to a record, repeats its label and is consistent."""

from pathlib import Path

from openclawbench.records.calibration import HumanAudited, agreement_status
from openclawbench.records.tiers import STATUS_OF
from openclawbench.release.files.jsonl_files import released
from openclawbench.release.files.table_writer import typed_file
from openclawbench.release.human_audited import COPIED, HUMAN_FILE, same_label
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.labels.label_files import ParquetRows
from openclawbench.release.validate.lines import read_lines
from openclawbench.release.validate.records.record_digest import Records


def check_human(root: Path, records: Records, findings: Findings) -> None:
    """Check the file; nothing to do if it exists neither as JSONL nor as Parquet."""
    if not released(root / HUMAN_FILE) and not (root / typed_file(HUMAN_FILE)).is_file():
        return
    typed = ParquetRows(root, typed_file(HUMAN_FILE), HumanAudited)
    for line in read_lines(root, HUMAN_FILE, HumanAudited, findings, unique=True):
        findings.checked["human_verdicts"] += 1
        typed.compare(line.record)
        record, row = records.get(line.key), line.value
        if record is None:
            findings.add("human", HUMAN_FILE, f"{line.key[1]} is not in the master table", line.number)
            continue
        expected = {name: record.basis[name] for name in COPIED if name in record.basis}
        expected |= {"label_status": STATUS_OF.get(record.tier), "agreement_status": agreement_status(row)}
        expected["same_label"] = same_label(row, record.basis)
        for name, expected_value in expected.items():
            if row[name] != expected_value:
                message = f"{line.key[1]}: {name} is {row[name]}, record and verdict give {expected_value}"
                findings.add("human", HUMAN_FILE, message, line.number)
        for message in contradictions(line.record):
            findings.add("human", HUMAN_FILE, f"{line.key[1]}: {message}", line.number)
    typed.finish(findings)


def contradictions(row: HumanAudited) -> list[str]:
    """What is contradictory in a verdict."""
    messages = []
    if (row.human_anomaly_label is None) != (row.settled_by == "nobody") and row.settled_by != "adjudication":
        messages.append(f"human_anomaly_label is {row.human_anomaly_label}, settled by {row.settled_by}")
    if row.human_anomaly_label is not True and (row.human_subtype or row.human_onset or row.human_severity):
        messages.append("is not labelled anomalous but has a subtype, an onset or a severity")
    if not row.onset_reviewed and row.human_onset is not None:
        messages.append("has an onset that was not reviewed")
    if row.reviewers < 1:
        messages.append("has no reviewer")
    return messages
