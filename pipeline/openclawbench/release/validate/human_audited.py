"""human_audited.jsonl, if a release has one: each row belongs to a record, repeats its label and is consistent."""

from pathlib import Path

from openclawbench.records.calibration import HumanAudited, agreement_status
from openclawbench.release.files.jsonl_files import released
from openclawbench.release.human_audited import HUMAN_FILE
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.lines import read_lines
from openclawbench.release.validate.records.record_digest import Records


def check_human(root: Path, records: Records, findings: Findings) -> None:
    """Check the file; nothing to do if it does not exist. What it repeats of a record is written again."""
    if not released(root / HUMAN_FILE):
        return
    for line in read_lines(root, HUMAN_FILE, HumanAudited, findings, unique=False):
        findings.checked["human_verdicts"] += 1
        record = records.get(line.key)
        if record is None:
            findings.add("human", HUMAN_FILE, f"{line.key[1]} is not in the master table", line.number)
            continue
        for message in contradictions(line.record, record.basis["num_steps"]):
            findings.add("human", HUMAN_FILE, f"{line.key[1]}: {message}", line.number)


def contradictions(row: HumanAudited, num_steps: int) -> list[str]:
    """What is contradictory in a verdict on a trajectory of so many steps."""
    messages = []
    if row.agreement_status != (status := agreement_status(row.model_dump())):
        messages.append(f"agreement_status is {row.agreement_status}; the verdict gives {status}")
    for name in ("human_onset", "silver_onset"):
        onset = getattr(row, name)
        if onset is not None and not 1 <= onset <= num_steps:
            messages.append(f"{name} is {onset}, which is not a step of 1 to {num_steps}")
    if row.settled_by == "agreeing reviewers" and row.reviewers < 2:
        messages.append(f"is settled by agreeing reviewers, and {row.reviewers} reviewed it")
    if row.settled_by == "one reviewer" and row.reviewers != 1:
        messages.append(f"is settled by one reviewer, and {row.reviewers} reviewed it")
    if (row.human_anomaly_label is None) != (row.settled_by == "nobody") and row.settled_by != "adjudication":
        messages.append(f"human_anomaly_label is {row.human_anomaly_label}, settled by {row.settled_by}")
    if row.human_anomaly_label is not True and (row.human_subtype or row.human_onset or row.human_severity):
        messages.append("is not labelled anomalous but has a subtype, an onset or a severity")
    if not row.onset_reviewed and row.human_onset is not None:
        messages.append("has an onset that was not reviewed")
    if row.reviewers < 1:
        messages.append("has no reviewer")
    return messages
