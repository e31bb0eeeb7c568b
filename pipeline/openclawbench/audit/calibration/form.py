"""The form of the anomaly calibration (paper T35): what a person makes of a trajectory, and how it meets the silver
label. The label stays as it is; the verdict stands beside it."""

from typing import Any, get_args

from openclawbench.audit.settings import AuditRules
from openclawbench.audit.sheets.check import ROW, SIGNATURE, Answers, Form, Read, Wrong
from openclawbench.records.calibration import (
    AgreementStatus,
    CalibrationReview,
    CalibrationSample,
    CalibrationSampleRow,
    CalibrationSheetRow,
    ErrorStage,
    agreement_status,
)
from openclawbench.records.vocabulary import Recoverability, Severity, Subtype

VERDICT = "human_anomaly_label"
CHOICES = {  # answers of a closed set -> the set
    "human_subtype": get_args(Subtype),
    "human_severity": get_args(Severity),
    "human_recoverability": get_args(Recoverability),
    "error_stage": get_args(ErrorStage),
}
ONLY_ANOMALOUS = ("human_subtype", "human_onset", "human_severity", "human_recoverability")
YES_OR_NO = ("evidence_supported", "adjudication")
ANSWERS = (
    VERDICT,
    *ONLY_ANOMALOUS,
    "evidence_supported",
    "error_stage",
    "audit_comment",
    "adjudication",
    *SIGNATURE,
)


def read(answers: Answers, drawn: CalibrationSampleRow, rules: AuditRules) -> Read:
    """The verdict on one trajectory, with its agreement_status."""
    if not any(answers[name] for name in ANSWERS if name not in SIGNATURE):
        return None
    found: dict[str, Any] = {"audit_comment": answers["audit_comment"] or None}
    for part in (verdict(answers, rules), closed(answers), onset(answers, drawn, rules), yes_or_no(answers, rules)):
        if isinstance(part, Wrong):
            return part
        found |= part
    given = [name for name in ONLY_ANOMALOUS if answers[name]]
    if found[VERDICT] is not True and given:
        return Wrong("not_anomalous", f"{', '.join(given)} beside a verdict that is not anomalous; leave it empty")
    found["adjudication"] = bool(found["adjudication"])
    return found | {"agreement_status": status(found, drawn)}


def verdict(answers: Answers, rules: AuditRules) -> dict[str, Any] | Wrong:
    """Anomalous, normal or unresolved."""
    words, said = rules.answers, answers[VERDICT].lower()
    known = {True: words.anomalous, False: words.normal, None: words.unresolved}
    for value, spellings in known.items():
        if said in spellings:
            return {VERDICT: value}
    return Wrong("wrong_verdict", f"{VERDICT} is {said!r}; write anomalous, normal or unresolved")


def closed(answers: Answers) -> dict[str, Any] | Wrong:
    """Answers of a closed set; null where nothing is written."""
    found = {}
    for name, choices in CHOICES.items():
        said = answers[name].lower()
        if said and said not in choices:
            return Wrong(f"wrong_{name}", f"{name} is {said!r}; use one of: {', '.join(choices)}")
        found[name] = said or None
    return found


def onset(answers: Answers, drawn: CalibrationSampleRow, rules: AuditRules) -> dict[str, Any] | Wrong:
    """A step of the trajectory, or that none can be named."""
    said = answers["human_onset"].lower()
    if not said or said in rules.answers.nowhere:
        return {"human_onset": None, "onset_reviewed": bool(said)}
    number = int(said) if said.isascii() and said.isdigit() and len(said) < 10 else 0
    if not 1 <= number <= drawn.num_steps:
        return Wrong("wrong_onset", f"human_onset is {said!r}; write a step from 1 to {drawn.num_steps}, or none")
    return {"human_onset": number, "onset_reviewed": True}


def yes_or_no(answers: Answers, rules: AuditRules) -> dict[str, Any] | Wrong:
    """Answers of yes or no; null where nothing is written."""
    found: dict[str, bool | None] = {}
    for name in YES_OR_NO:
        said = answers[name].lower()
        if said and said not in {*rules.answers.supported, *rules.answers.unsupported}:
            return Wrong(f"wrong_{name}", f"{name} is {said!r}; write yes or no")
        found[name] = said in rules.answers.supported if said else None
    return found


def status(human: dict[str, Any], silver: CalibrationSampleRow) -> AgreementStatus:
    """agreement_status of a verdict on a drawn row."""
    names = ("silver_anomaly_label", "silver_subtype", "silver_onset")
    return agreement_status(human | {name: getattr(silver, name) for name in names})


def shown(drawn: CalibrationSampleRow) -> CalibrationSheetRow:
    """A row without what a reviewer must not see."""
    row = {name: getattr(drawn, name) for name in CalibrationSheetRow.model_fields}
    if drawn.blind:
        row |= {name: None for name in row if name.startswith("silver_")}
    return CalibrationSheetRow.model_validate(row)


CALIBRATION = Form(
    name="calibration",
    prefix="c-",
    file="calibration_reviews.jsonl",
    row=CalibrationSampleRow,
    review=CalibrationReview,
    sample=CalibrationSample,
    answers=ANSWERS,
    needed=(ROW, VERDICT),
    read=read,
    shown=shown,
    texts=lambda rules: rules.calibration,
    where=lambda drawn: f"{drawn.source_model}/{drawn.trajectory_id}",
    settles="adjudication",
)
