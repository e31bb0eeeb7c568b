"""The form of the event-evidence audit (paper T33): is a step's event descriptor supported by the step?"""

from typing import get_args

from openclawbench.audit.settings import AuditRules
from openclawbench.audit.sheets.check import ROW, SIGNATURE, Answers, Form, InvalidAnswer, Read
from openclawbench.records.review import ErrorType, EventReview, EventSample, EventSampleRow, ReviewedField, Structure

ANSWERS = (  # T33's fields, our own, who, when
    "is_supported",
    "error_type",
    "review_comment",
    "wrong_fields",
    "structure",
    *SIGNATURE,
)


def read_verdict(answers: Answers, drawn: EventSampleRow, rules: AuditRules) -> Read:
    """The verdict on one descriptor."""
    words = rules.answers
    verdict, error_type = answers["is_supported"].lower(), answers["error_type"].lower()
    comment = answers["review_comment"]
    fields = [name for name in answers["wrong_fields"].lower().replace(",", " ").split() if name]
    structure = answers["structure"].lower()
    if not (verdict or error_type or comment or fields or structure):
        return None
    if verdict not in {*words.supported, *words.unsupported}:
        return InvalidAnswer("wrong_verdict", f"is_supported is {verdict!r}; write yes or no")
    supported = verdict in words.supported
    if problem := wrong_type(supported, error_type):
        return InvalidAnswer("wrong_error_type", problem)
    if problem := wrong_fields(supported, fields):
        return InvalidAnswer("wrong_field", problem)
    if structure and structure not in get_args(Structure):
        names = ", ".join(get_args(Structure))
        return InvalidAnswer("wrong_structure", f"structure is {structure!r}; use one of: {names}")
    return {
        "is_supported": supported,
        "error_type": error_type or None,
        "wrong_fields": fields,
        "structure": structure or None,
        "review_comment": comment or None,
    }


def wrong_fields(supported: bool, fields: list[str]) -> str | None:
    """What is wrong with the named fields given the verdict; None if they fit."""
    if supported and fields:
        return f"wrong_fields is {', '.join(fields)} although the descriptor is supported; leave it empty"
    unknown = [name for name in fields if name not in get_args(ReviewedField)]
    return f"wrong_fields has {', '.join(unknown)}; use: {', '.join(get_args(ReviewedField))}" if unknown else None


def wrong_type(supported: bool, error_type: str) -> str | None:
    """What is wrong with an error type given the verdict; None if it fits."""
    names = ", ".join(get_args(ErrorType))
    if supported:
        return (
            f"error_type is {error_type!r} although the descriptor is supported; leave it empty" if error_type else None
        )
    return None if error_type in get_args(ErrorType) else f"error_type is {error_type!r}; use one of: {names}"


EVENTS = Form(
    name="events",
    prefix="s-",
    file="event_reviews.jsonl",
    row=EventSampleRow,
    review=EventReview,
    sample=EventSample,
    answers=ANSWERS,
    needed=(ROW, "is_supported", "error_type", "review_comment"),
    read=read_verdict,
    shown=lambda drawn: drawn,
    texts=lambda rules: rules.events,
    where=lambda drawn: f"{drawn.source_model}/{drawn.trajectory_id} step {drawn.step_id}",
)
