"""The JSON object in the text of an answer. Models write around it; each removed wrapping is a recorded repair."""

import json
from dataclasses import dataclass, field
from typing import Any

from openclawbench.base.canonical_json import escape_lone_surrogates
from openclawbench.judge.transport.embedded_json import objects_in
from openclawbench.records.fulltax import Repair
from openclawbench.rules.fulltax.repairs import RepairRules

CODE_FENCE = "code_fence"  # id of a wrapping: what is wrong with an answer is told of the text inside it
MOST_WRAPPINGS = 8  # one inside the other
SHOWN = 40  # characters of a removed wrapping that its repair shows
FIELD = "response_text"


class GivenTwice(ValueError):
    """An object has a field twice, with different values, so that it is ambiguous."""

    def __init__(self, name: str) -> None:
        super().__init__("a field is given twice with different values")
        self.name = name


@dataclass
class Unwrapped:
    """The JSON of an answer, the reasoning before it, and the repairs that were needed to read it."""

    value: Any = None
    error: ValueError | RecursionError | None = None  # why there is no value, for the text without its code fence
    text_before: str = ""  # the words before the object, where there are any
    reasoning: str | None = None
    repairs: list[Repair] = field(default_factory=list)


def unwrap(text: str, known_fields: frozenset[str], rules: RepairRules) -> Unwrapped:
    """Read a text as JSON. Where that fails, remove the wrappings of repairs.toml one by one, and at last the words
    around the only object that has a field of the schema (`known_fields`)."""
    result = Unwrapped()
    error = None
    for _ in range(MOST_WRAPPINGS):
        if load(text, result) or isinstance(result.error, GivenTwice):
            return result
        if all(repair.rule_id == CODE_FENCE for repair in result.repairs):
            error = result.error
        inside = remove_wrapping(text, rules, result)
        if inside is None:
            break
        text = inside
    if load_only_object(text, known_fields, rules, result):
        return result
    if not isinstance(result.error, GivenTwice):
        result.error = error
    return result


def load(text: str, result: Unwrapped) -> bool:
    """Read a text as JSON into the result; false, with the error in the result, where it is not JSON."""
    repairs: list[Repair] = []
    try:
        value = json.loads(text, object_pairs_hook=lambda pairs: merge_duplicates(pairs, repairs))
        result.value = escape_lone_surrogates(value)
    except (ValueError, RecursionError) as error:
        result.error = error
        return False
    result.error = None
    result.repairs += repairs
    return True


def merge_duplicates(pairs: list[tuple[str, Any]], repairs: list[Repair]) -> dict[str, Any]:
    """An object whose duplicate fields have equal values, which is recorded. Raises GivenTwice where they differ."""
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            written = json.dumps(value)
            if json.dumps(values[name]) != written:
                raise GivenTwice(name)
            repairs.append(Repair(rule_id="duplicate_field", field=name, before=written, after=written))
        values[name] = value
    return values


def remove_wrapping(text: str, rules: RepairRules, result: Unwrapped) -> str | None:
    """The text inside the first wrapping that matches; None if none does."""
    for rule in rules.wrapping:
        match = rule.fits(text)
        if match is None:
            continue
        groups = match.groupdict()
        reasoning = (groups.get("reasoning") or "").strip()
        result.reasoning = "\n".join(part for part in (result.reasoning, reasoning) if part) or None
        removed = text[:SHOWN].split("\n", maxsplit=1)[0] if reasoning else text[: min(match.start("answer"), SHOWN)]
        result.repairs.append(Repair(rule_id=rule.id, field=FIELD, before=json.dumps(removed.strip()), after=None))
        return str(groups["answer"])
    return None


def load_only_object(text: str, known_fields: frozenset[str], rules: RepairRules, result: Unwrapped) -> bool:
    """Read the only object in a text that has a field of the schema; false where there is none, or a refusal."""
    objects = [(begin, end) for begin, end, value in objects_in(text) if known_fields & value.keys()]
    if len(objects) != 1:
        return False
    begin, end = objects[0]
    result.text_before = text[:begin]
    if rules.refusal.is_one(result.text_before) or not load(text[begin:end], result):
        return False
    words = " ".join((text[:begin] + text[end:]).split())
    result.repairs.append(Repair(rule_id="words_around", field=FIELD, before=json.dumps(words), after=None))
    return True
