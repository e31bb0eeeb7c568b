"""The form of the anomaly calibration (paper T35): a human verdict on a trajectory, and its agreement with the silver
label. The verdict never changes the label."""

import json
from typing import Any, get_args

from openclawbench.audit.settings import AuditRules
from openclawbench.audit.sheets.check import ROW, SIGNATURE, Answers, Form, InvalidAnswer, Read
from openclawbench.records.calibration import (
    AgreementStatus,
    CalibrationReview,
    CalibrationSample,
    CalibrationSampleRow,
    CalibrationSheetRow,
    ErrorStage,
    agreement_status,
)
from openclawbench.records.fulltax import EvidenceQuote
from openclawbench.records.vocabulary import EvidenceField, Recoverability, Severity, Subtype

VERDICT = "human_anomaly_label"
CHOICES = {  # answer -> its closed set of values
    "human_subtype": get_args(Subtype),
    "human_severity": get_args(Severity),
    "human_recoverability": get_args(Recoverability),
    "error_stage": get_args(ErrorStage),
}
FIELDS = get_args(EvidenceField)
ONLY_ANOMALOUS = ("human_subtype", "human_onset", "human_severity", "human_recoverability")
EVIDENCE = "human_evidence"  # one line per quote: step, field, quote
YES_OR_NO = ("evidence_supported", "adjudication")
ANSWERS = (
    VERDICT,
    *ONLY_ANOMALOUS,
    EVIDENCE,
    "evidence_supported",
    "error_stage",
    "audit_comment",
    "adjudication",
    *SIGNATURE,
)


def read_verdict(answers: Answers, drawn: CalibrationSampleRow, rules: AuditRules) -> Read:
    """The verdict on one trajectory, with its agreement_status."""
    if not any(answers[name] for name in ANSWERS if name not in SIGNATURE):
        return None
    review: dict[str, Any] = {"audit_comment": answers["audit_comment"] or None}
    parts = (
        verdict(answers, rules),
        read_closed_answers(answers),
        onset(answers, drawn, rules),
        evidence(answers, drawn),
        yes_or_no(answers, rules),
    )
    for part in parts:
        if isinstance(part, InvalidAnswer):
            return part
        review |= part
    filled = [name for name in ONLY_ANOMALOUS if answers[name]]
    if review[VERDICT] is not True and filled:
        return InvalidAnswer(
            "not_anomalous", f"{', '.join(filled)} is filled in although the verdict is not anomalous; leave it empty"
        )
    review["adjudication"] = bool(review["adjudication"])
    return review | {"agreement_status": status(review, drawn)}


def verdict(answers: Answers, rules: AuditRules) -> dict[str, Any] | InvalidAnswer:
    """Anomalous, normal or unresolved."""
    words, written = rules.answers, answers[VERDICT].lower()
    label_words = {True: words.anomalous, False: words.normal, None: words.unresolved}
    for value, spellings in label_words.items():
        if written in spellings:
            return {VERDICT: value}
    return InvalidAnswer("wrong_verdict", f"{VERDICT} is {written!r}; write anomalous, normal or unresolved")


def read_closed_answers(answers: Answers) -> dict[str, Any] | InvalidAnswer:
    """The answers with a closed set of values; None if empty."""
    values = {}
    for name, choices in CHOICES.items():
        written = answers[name].lower()
        if written and written not in choices:
            return InvalidAnswer(f"wrong_{name}", f"{name} is {written!r}; use one of: {', '.join(choices)}")
        values[name] = written or None
    return values


def onset(answers: Answers, drawn: CalibrationSampleRow, rules: AuditRules) -> dict[str, Any] | InvalidAnswer:
    """human_onset: a step of the trajectory, or the statement that no step can be named."""
    written = answers["human_onset"].lower()
    if not written or written in rules.answers.nowhere:
        return {"human_onset": None, "onset_reviewed": bool(written)}
    number = int(written) if written.isascii() and written.isdigit() and len(written) < 10 else 0
    if not 1 <= number <= drawn.num_steps:
        return InvalidAnswer(
            "wrong_onset", f"human_onset is {written!r}; write a step from 1 to {drawn.num_steps}, or none"
        )
    return {"human_onset": number, "onset_reviewed": True}


def evidence(answers: Answers, drawn: CalibrationSampleRow) -> dict[str, Any] | InvalidAnswer:
    """human_evidence: the quotes that a reviewer names, one per line; a quote may be a JSON string."""
    quotes = []
    for line in filter(None, map(str.strip, answers[EVIDENCE].split("\n"))):
        number, _, rest = line.partition(" ")
        field, _, quote = rest.strip().partition(" ")
        place = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
        is_step = field == "user_turn" or place <= drawn.num_steps
        if not (place and is_step and field in FIELDS and quote.strip()):
            return InvalidAnswer(
                "wrong_human_evidence",
                f"{EVIDENCE} has the line {line[:80]!r}; write a step, a field ({', '.join(FIELDS)}) and the quote",
            )
        quotes.append({"step_id": place, "field": field, "quote": unquote_text(quote.strip())})
    return {EVIDENCE: quotes}


def unquote_text(text: str) -> str:
    """The text of a JSON string; any other text as it is."""
    try:
        value = json.loads(text) if text.startswith('"') else text
    except ValueError:
        return text
    return value if isinstance(value, str) else text


def evidence_lines(quotes: list[EvidenceQuote]) -> str:
    """Quotes as the form shows them."""
    return "\n".join(f"{q.step_id} {q.field} {json.dumps(q.quote, ensure_ascii=False)}" for q in quotes)


def yes_or_no(answers: Answers, rules: AuditRules) -> dict[str, Any] | InvalidAnswer:
    """The yes-or-no answers; None if empty."""
    values: dict[str, bool | None] = {}
    for name in YES_OR_NO:
        written = answers[name].lower()
        if written and written not in {*rules.answers.supported, *rules.answers.unsupported}:
            return InvalidAnswer(f"wrong_{name}", f"{name} is {written!r}; write yes or no")
        values[name] = written in rules.answers.supported if written else None
    return values


def status(human: dict[str, Any], silver: CalibrationSampleRow) -> AgreementStatus:
    """agreement_status of a verdict on a drawn row."""
    names = ("silver_anomaly_label", "silver_subtype", "silver_onset")
    return agreement_status(human | {name: getattr(silver, name) for name in names})


def blind_row(drawn: CalibrationSampleRow) -> CalibrationSheetRow:
    """The row as the sheet shows it: without the silver label if the sample is blind."""
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
    read=read_verdict,
    shown=blind_row,
    texts=lambda rules: rules.calibration,
    where=lambda drawn: f"{drawn.source_model}/{drawn.trajectory_id}",
    settles="adjudication",
)
