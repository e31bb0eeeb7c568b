"""The JSON object in an answer's text: found among what models write around it, and every such step recorded."""

import json
from dataclasses import dataclass, field
from typing import Any

from openclawbench.base.canonical_json import escape_lone_surrogates
from openclawbench.judge.transport.embedded_json import objects_in
from openclawbench.records.fulltax import Repair
from openclawbench.rules.repairs import RepairRules

CODE_FENCE = "code_fence"  # id of the wrapping that has always been taken away
MOST = 8  # wrappings, one in the other
FIELD = "response_text"


class GivenTwice(ValueError):
    """An object gives a field twice, with different values: nobody can say which is meant."""

    def __init__(self, name: str) -> None:
        super().__init__("a field is given twice with different values")
        self.name = name


@dataclass
class Unwrapped:
    """The JSON of an answer, what was reasoned before it, and what had to be done to read it."""

    value: Any = None
    error: ValueError | RecursionError | None = None  # why there is no value: of the text without its code fence
    around: str = ""  # the words before the object, where there are any
    reasoning: str | None = None
    repairs: list[Repair] = field(default_factory=list)


def unwrapped(text: str, own: frozenset[str], rules: RepairRules) -> Unwrapped:
    """Read a text as JSON; where it is none, take away what rules.wrapping knows, and at last the words around its only
    object that has a field of the schema (`own`)."""
    found = Unwrapped()
    error = None
    for _ in range(MOST):
        if load(text, found):
            return found
        if isinstance(found.error, GivenTwice):
            return found
        if all(one.rule_id == CODE_FENCE for one in found.repairs):
            error = found.error
        inside = without_wrapping(text, rules, found)
        if inside is None:
            break
        text = inside
    objects = [(begin, end) for begin, end, value in objects_in(text) if own & value.keys()]
    if len(objects) == 1:
        begin, end = objects[0]
        before = " ".join((text[:begin] + text[end:]).split())
        found.around = text[:begin]
        if not rules.refusal.is_one(text[:begin]) and load(text[begin:end], found):
            found.repairs.append(Repair(rule_id="words_around", field=FIELD, before=json.dumps(before), after=None))
            return found
    if not isinstance(found.error, GivenTwice):
        found.error = error
    return found


def load(text: str, found: Unwrapped) -> bool:
    """Read a text as JSON; false where it is none."""
    repairs: list[Repair] = []
    try:
        found.value = escape_lone_surrogates(json.loads(text, object_pairs_hook=lambda pairs: once(pairs, repairs)))
    except (ValueError, RecursionError) as error:
        found.error = error
        return False
    found.error = None
    found.repairs += repairs
    return True


def once(pairs: list[tuple[str, Any]], repairs: list[Repair]) -> dict[str, Any]:
    """An object whose fields are each given once, or twice alike, which is recorded. GivenTwice where not."""
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            written = json.dumps(value)
            if json.dumps(values[name]) != written:
                raise GivenTwice(name)
            repairs.append(Repair(rule_id="duplicate_field", field=name, before=written, after=written))
        values[name] = value
    return values


def without_wrapping(text: str, rules: RepairRules, found: Unwrapped) -> str | None:
    """The text inside the first wrapping that fits; null where none does."""
    for rule in rules.wrapping:
        match = rule.fits(text)
        if match is None:
            continue
        groups = match.groupdict()
        reasoning = (groups.get("reasoning") or "").strip()
        found.reasoning = "\n".join(one for one in (found.reasoning, reasoning) if one) or None
        inside = str(groups["answer"])
        begin = match.start("answer")
        opening = text[: min(begin, OPENING)] if not reasoning else text[:OPENING].split("\n", maxsplit=1)[0]
        found.repairs.append(Repair(rule_id=rule.id, field=FIELD, before=json.dumps(opening.strip()), after=None))
        return inside
    return None


OPENING = 40  # characters of what was taken away that a repair shows
