"""A judge's answer text -> a stage's record, with field-name and label-format normalization (T29) where needed."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from openclawbench.fulltax.answers.unwrapping import FIELD, GivenTwice, unwrapped
from openclawbench.records.fulltax import Repair
from openclawbench.rules.repairs import RepairRules

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass
class Reading(Generic[Answer]):
    """What an answer came to: a record, or why there is none."""

    answer: Answer | None = None
    # truncated | refusal | empty | too_long | content_filter: the judge gave no whole answer;
    # refused: the endpoint refuses this question alone;
    # not_json | not_an_object | missing_fields | extra_fields | duplicate_fields | wrong_enum | schema |
    # wrong_trajectory: not T25-T28
    failure: str | None = None
    detail: str = ""  # of the failure, for whoever is to correct the answer
    reasoning: str | None = None  # what was reasoned in the text before the answer
    repairs: list[Repair] = field(default_factory=list)


COMPLETE, CONTENT = "complete", "content"
MOVED = "answer_field"  # id of the repair of a text that stood in another field than the content
FINISHES = {"truncated": "The answer was cut off: it was too long.", "empty": "The answer was empty."}
LONGEST_DETAIL = 600  # characters
OUTCOMES = (  # what an answer can be that cannot be used
    *("truncated", "refusal", "empty", "too_long", "content_filter", "refused", "not_json", "not_an_object"),
    *("missing_fields", "extra_fields", "duplicate_fields", "wrong_enum", "schema", "wrong_trajectory"),
)
WHOLE = re.compile(r"-?[0-9]{1,18}")
KINDS = {"missing": "missing_fields", "extra_forbidden": "extra_fields", "literal_error": "wrong_enum"}


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
    """As read_answer; what ended in another way than `complete` is no answer, whatever its text. A text that stood in
    another field of the response than the content (`text_from`) is read, which is a repair. An answer about `sent_id`,
    under which a language model was sent the trajectory, is one about the trajectory."""
    if finish != COMPLETE:
        return Reading(failure=finish, detail=FINISHES.get(finish, finish))
    reading = read_answer(text, model, trajectory_id, rules, b1, sent_id=sent_id)
    if text_from != CONTENT:
        moved = Repair(rule_id=MOVED, field=FIELD, before=json.dumps(text_from), after=json.dumps(CONTENT))
        reading.repairs.insert(0, moved)
    return reading


def text_from(repairs: Iterable[Mapping[str, Any]]) -> str:
    """The field of the response that an answer's text stood in, by the answer's repairs."""
    moved = next((one["before"] for one in repairs if one["rule_id"] == MOVED), None)
    return CONTENT if moved is None else str(json.loads(moved))


def read_answer(
    text: str,
    model: type[Answer],
    trajectory_id: str,
    rules: RepairRules,
    b1: dict[str, Any] | None = None,
    sent_id: str = "",
) -> Reading[Answer]:
    """Parse and validate; never raises. `b1` is the B1 answer that optional B2 fields may be filled from."""
    own = own_names(model)
    found = unwrapped(text, own, rules)
    reading: Reading[Answer] = Reading(reasoning=found.reasoning, repairs=found.repairs)
    if isinstance(found.error, GivenTwice):
        name = found.error.name if found.error.name in own else "(another field)"
        reading.failure, reading.detail = "duplicate_fields", f"{name} is given twice, with different values."
        return reading
    if found.error is not None:
        reading.failure = "refusal" if rules.refusal.is_one(found.around or text) else "not_json"
        # These words stand in the corrective question, and so in the key of its answer: other words ask it anew.
        reading.detail = f"The answer is no JSON: {found.error}"[:LONGEST_DETAIL]
        return reading
    value = found.value
    if not isinstance(value, dict):
        reading.failure, reading.detail = "not_an_object", "The answer is JSON, but no object."
        return reading
    try:
        reading.answer = model.model_validate(value, strict=True)
    except ValidationError:
        normalized = normalize(value, rules, reading.repairs, own)
        fill_optional(normalized, model, rules, b1, reading.repairs)
        try:
            reading.answer = typed(normalized, model, rules, reading.repairs)
        except ValidationError as error:
            kinds = {one["type"] for one in error.errors()}
            reading.failure = KINDS.get(kinds.pop(), "schema") if len(kinds) == 1 else "schema"
            reading.detail = faults_of(error, own)
            return reading
    named = getattr(reading.answer, "trajectory_id", None)
    if sent_id and named == sent_id:
        reading.answer = reading.answer.model_copy(update={"trajectory_id": trajectory_id})
    elif named != trajectory_id:
        reading.answer, reading.failure = None, "wrong_trajectory"
        reading.detail = "trajectory_id is not the packet's."
    return reading


def faults_of(error: ValidationError, own: frozenset[str]) -> str:
    """Where the answer differs from its schema, a place a line, none twice. A name that is none of the schema's is not
    repeated: the answer may have it from the untrusted material, and this text stands outside the fences."""
    faults = (f"{place(one['loc'], own)}: {one['msg']}" for one in error.errors())
    return "\n".join(dict.fromkeys(" ".join(one.split()) for one in faults))[:LONGEST_DETAIL]


def place(location: tuple[int | str, ...], own: frozenset[str]) -> str:
    """Where a fault is, as names of fields and numbers of entries."""
    return ".".join(str(one) if isinstance(one, int) or one in own else "(another field)" for one in location)


def typed(value: dict[str, Any], model: type[Answer], rules: RepairRules, repairs: list[Repair]) -> Answer:
    """The record, with values of another type than their field's that can mean one thing only put right, which is
    recorded. ValidationError where that does not make it one: `true` is no step, and 1.5 is none."""
    try:
        return model.model_validate(value, strict=True)
    except ValidationError as error:
        for one in error.errors():
            before, proper = one["input"], meant(one["type"], one["input"], rules)
            if proper is UNKNOWN:
                continue
            *way, last = one["loc"]
            inside: Any = value
            for name in way:
                inside = inside[name]
            inside[last] = proper
            field_name = next((str(name) for name in reversed(one["loc"]) if isinstance(name, str)), "")
            repairs.append(
                Repair(rule_id="type_format", field=field_name, before=json.dumps(before), after=json.dumps(proper))
            )
    return model.model_validate(value, strict=True)


UNKNOWN = object()


def meant(fault: str, value: Any, rules: RepairRules) -> Any:
    """What a value of a wrong type means; UNKNOWN where that is not certain."""
    words = value.strip().casefold() if isinstance(value, str) else None
    if fault == "int_type" and words is not None and WHOLE.fullmatch(words):
        return int(words)
    if fault == "int_type" and isinstance(value, float) and value.is_integer():
        return int(value)
    if fault == "bool_type" and words in rules.type_format.true:
        return True
    if fault == "bool_type" and words in rules.type_format.false:
        return False
    return None if fault in ("int_type", "bool_type") and words in rules.type_format.nulls else UNKNOWN


@cache
def own_names(model: type[BaseModel]) -> frozenset[str]:
    """The names of a record's fields and of those of every record in it: none of them is another name of a field."""
    schema = model.model_json_schema()
    records = [schema, *schema.get("$defs", {}).values()]
    return frozenset(name for record in records for name in record.get("properties", {}))


def normalize(value: Any, rules: RepairRules, repairs: list[Repair], own: frozenset[str]) -> Any:
    """Known other names of fields become the paper's; labels get their format. Every change is recorded."""
    if isinstance(value, list):
        return [normalize(one, rules, repairs, own) for one in value]
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for name, one in value.items():
        known = name if name in own else rules.field_names.get(str(name), str(name))
        proper = name if known in value else known
        if proper != name:
            repairs.append(
                Repair(rule_id="field_name", field=proper, before=json.dumps(name), after=json.dumps(proper))
            )
        found[proper] = label(proper, normalize(one, rules, repairs, own), rules, repairs)
    return found


def label(name: str, value: Any, rules: RepairRules, repairs: list[Repair]) -> Any:
    """A label in its written form: lower case, underscores; words for nothing become null where null is allowed."""
    if name not in rules.label_format.fields:
        return value
    if isinstance(value, list):
        return [label(name, one, rules, repairs) if isinstance(one, str) else one for one in value]
    if not isinstance(value, str):
        return value
    words = "_".join(value.strip().lower().replace("-", " ").split())
    nothing = name in rules.label_format.nullable and words in rules.label_format.nulls
    formed = None if nothing else words
    if formed != value:
        repairs.append(Repair(rule_id="label_format", field=name, before=json.dumps(value), after=json.dumps(formed)))
    return formed


def fill_optional(
    value: dict[str, Any], model: type[BaseModel], rules: RepairRules, b1: dict[str, Any] | None, repairs: list[Repair]
) -> None:
    """Optional B2 fields that are missing get their stated filling; nothing else is invented."""
    optional = rules.optional_b2
    fillings: dict[str, Any] = dict.fromkeys(optional.fill_null) | {name: [] for name in optional.fill_empty}
    if b1 is not None:
        fillings |= dict.fromkeys(optional.fill_from_b1, b1.get("annotator_rationale"))
    for name, filling in fillings.items():
        if name in model.model_fields and name not in value:
            value[name] = filling
            repairs.append(Repair(rule_id="missing_b2_field", field=name, before=None, after=json.dumps(filling)))
