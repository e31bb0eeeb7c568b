"""The forms of the workbench: their choices, and the answers that were sent."""

from collections.abc import Mapping
from typing import Any, get_args

from starlette.datastructures import FormData
from starlette.requests import Request

from openclawbench.audit.calibration.form import CHOICES
from openclawbench.audit.events.form import EVENTS
from openclawbench.audit.sheets.check import SIGNATURE
from openclawbench.records.review import ErrorType, ReviewedField, Structure
from openclawbench.rules.fulltax.taxonomy import Taxonomy
from openclawbench.workbench.access import Person, Refused
from openclawbench.workbench.security import has_form_token

Row = dict[str, Any]
LONGEST = 100_000  # characters of an answer
SUBTYPE_KEYS = "qwert"  # one for each subtype, in the order of the taxonomy


def form_context(name: str) -> Row:
    """The choices of a form, from its definition."""
    if name == EVENTS.name:
        names = (get_args(ErrorType), get_args(ReviewedField), get_args(Structure))
        return dict(zip(("error_type", "wrong_fields", "structure"), names, strict=True))
    subtypes = [
        {"name": subtype.name, "key": key} for subtype, key in zip(Taxonomy.load().subtypes, SUBTYPE_KEYS, strict=False)
    ]
    return {**CHOICES, "subtypes": subtypes}


def answers_sent(form: FormData, names: tuple[str, ...]) -> dict[str, str]:
    """The answers of a form. Reviewer and time never come from the form."""
    answers = dict.fromkeys(names, "")
    for name in names:
        if name not in SIGNATURE:
            values = [value for value in form.getlist(name) if isinstance(value, str)]
            answers[name] = " ".join(values)[:LONGEST].replace("\r\n", "\n").strip()
    return answers


def token_of(form: Mapping[str, Any], person: Person) -> None:
    """Raise Refused for a form that was not made for this session."""
    sent = form.get("form_token")
    if not has_form_token(person, sent if isinstance(sent, str) else None):
        raise Refused("This form was not made for your session. Reload the page and send it again.")


def wants_json(request: Request) -> bool:
    """True if the script sent the form."""
    return "application/json" in request.headers.get("accept", "")
