"""A judge's answer text -> the record of a stage: which answers are readable, and why the others are not.

An answer that meets its schema is taken as it is. Any other is unwrapped and normalized first (unwrapping.py,
normalization.py); each such step is a recorded repair (paper T29).
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from openclawbench.fulltax.answers.normalization import convert_types, fill_optional, normalize
from openclawbench.fulltax.answers.unwrapping import FIELD, GivenTwice, unwrap
from openclawbench.records.fulltax import Repair
from openclawbench.rules.fulltax.repairs import RepairRules

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass
class Reading(Generic[Answer]):
    """The result of reading an answer: a record, or why there is none."""

    answer: Answer | None = None
    failure: str | None = None  # one of OUTCOMES
    detail: str = ""  # about the failure, for the corrective question
    reasoning: str | None = None  # reasoning in the text before the answer
    repairs: list[Repair] = field(default_factory=list)


COMPLETE, CONTENT = "complete", "content"
MOVED = "answer_field"  # id of the repair of a text in another field than the content
# The texts of FINISHES and of every `detail` are part of the corrective question, and so of the key of its answer: a
# change asks each of those questions again.
FINISHES = {"truncated": "The answer was cut off: it was too long.", "empty": "The answer was empty."}
LONGEST_DETAIL = 600  # characters
ANOTHER_FIELD = "(another field)"
OUTCOMES = (
    *("truncated", "refusal", "empty", "too_long", "content_filter"),  # the judge gave no whole answer
    "refused",  # the endpoint refuses this question alone
    *("not_json", "not_an_object", "missing_fields", "extra_fields", "duplicate_fields", "wrong_enum", "schema"),
    "wrong_trajectory",
)
FAILURES = {"missing": "missing_fields", "extra_forbidden": "extra_fields", "literal_error": "wrong_enum"}


def read_reply(
    finish: str,
    text: str,
    model: type[Answer],
    trajectory_id: str,
    rules: RepairRules,
    b1: dict[str, Any] | None = None,
    text_from: str = CONTENT,
    sent_id: str = "",
) -> Reading[Answer]:
    """Read a reply as read_answer does. One that did not end with `complete` has no answer, whatever its text.

    `text_from`: the field of the response that held the text; any but the content is a repair. `sent_id`: the id under
    which a language model was sent the trajectory; an answer that names it is about the trajectory.
    """
    if finish != COMPLETE:
        return Reading(failure=finish, detail=FINISHES.get(finish, finish))
    reading = read_answer(text, model, trajectory_id, rules, b1, sent_id=sent_id)
    if text_from != CONTENT:
        moved = Repair(rule_id=MOVED, field=FIELD, before=json.dumps(text_from), after=json.dumps(CONTENT))
        reading.repairs.insert(0, moved)
    return reading


def text_from(repairs: Iterable[Mapping[str, Any]]) -> str:
    """The field of the response that held the text of an answer with these repairs."""
    moved = next((repair["before"] for repair in repairs if repair["rule_id"] == MOVED), None)
    return CONTENT if moved is None else str(json.loads(moved))


def read_answer(
    text: str,
    model: type[Answer],
    trajectory_id: str,
    rules: RepairRules,
    b1: dict[str, Any] | None = None,
    sent_id: str = "",
) -> Reading[Answer]:
    """Parse and validate an answer. Never raises. `b1`: the B1 answer from which optional B2 fields may be filled."""
    known_fields = field_names(model)
    unwrapped = unwrap(text, known_fields, rules)
    reading: Reading[Answer] = Reading(reasoning=unwrapped.reasoning, repairs=unwrapped.repairs)
    if isinstance(unwrapped.error, GivenTwice):
        name = unwrapped.error.name if unwrapped.error.name in known_fields else ANOTHER_FIELD
        reading.failure, reading.detail = "duplicate_fields", f"{name} is given twice, with different values."
        return reading
    if unwrapped.error is not None:
        reading.failure = "refusal" if rules.refusal.is_one(unwrapped.text_before or text) else "not_json"
        reading.detail = f"The answer is no JSON: {unwrapped.error}"[:LONGEST_DETAIL]
        return reading
    value = unwrapped.value
    if not isinstance(value, dict):
        reading.failure, reading.detail = "not_an_object", "The answer is JSON, but no object."
        return reading
    try:
        reading.answer = model.model_validate(value, strict=True)
    except ValidationError:
        normalized = normalize(value, rules, reading.repairs, known_fields)
        fill_optional(normalized, model, rules, b1, reading.repairs)
        try:
            reading.answer = validate_converted(normalized, model, rules, reading.repairs)
        except ValidationError as error:
            kinds = {fault["type"] for fault in error.errors()}
            reading.failure = FAILURES.get(kinds.pop(), "schema") if len(kinds) == 1 else "schema"
            reading.detail = describe_faults(error, known_fields)
            return reading
    named = getattr(reading.answer, "trajectory_id", None)
    if sent_id and named == sent_id:
        reading.answer = reading.answer.model_copy(update={"trajectory_id": trajectory_id})
    elif named != trajectory_id:
        reading.answer, reading.failure = None, "wrong_trajectory"
        reading.detail = "trajectory_id is not the packet's."
    return reading


def validate_converted(value: dict[str, Any], model: type[Answer], rules: RepairRules, repairs: list[Repair]) -> Answer:
    """The record, after values of a wrong type are converted where that is certain. Raises ValidationError."""
    try:
        return model.model_validate(value, strict=True)
    except ValidationError as error:
        convert_types(value, error, rules, repairs)
    return model.model_validate(value, strict=True)


def describe_faults(error: ValidationError, known_fields: frozenset[str]) -> str:
    """Where the answer differs from its schema: one line for each place, none twice.

    A name that the schema does not have is not repeated: the answer may have it from the untrusted material, and this
    text stands outside the fences.
    """
    faults = []
    for fault in error.errors():
        parts = [str(part) if isinstance(part, int) or part in known_fields else ANOTHER_FIELD for part in fault["loc"]]
        faults.append(" ".join(f"{'.'.join(parts)}: {fault['msg']}".split()))
    return "\n".join(dict.fromkeys(faults))[:LONGEST_DETAIL]


@cache
def field_names(model: type[BaseModel]) -> frozenset[str]:
    """Names of the fields of a record and of every record in it. None of them is an alias of another field."""
    schema = model.model_json_schema()
    records = [schema, *schema.get("$defs", {}).values()]
    return frozenset(name for record in records for name in record.get("properties", {}))
