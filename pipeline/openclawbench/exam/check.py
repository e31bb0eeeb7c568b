"""Check a family against its key: the planted fact exists, and the twins differ nowhere else."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from openclawbench.errors import InvalidFamily
from openclawbench.exam.family import (
    RECORDED_LANGUAGE,
    TWINS,
    WITH_STORE,
    Check,
    Family,
    Twin,
    fill_template,
    strings_in,
)
from openclawbench.exam.recording import (
    Values,
    facts,
    parse_recording,
    read_recording,
    rewrite_recording,
    seeded_random,
    step_numbers,
)
from openclawbench.exam.rewrite import Rewrite, ids, rewrite_session
from openclawbench.exam.values import drawn_values, recorded_values
from openclawbench.rules.fulltax.taxonomy import Taxonomy

SCRIPT_OVER = "The script of this session is at its end."
OF_RUNTIME = ("id", "parentId", "timestamp", "responseId", "toolCallId", "type", "version", "idempotencyKey")
Steps = list[dict[str, Any]]
Numbers = Mapping[str, tuple[int, int]]


def check_family(folder: Path, name: str, family: Family) -> list[str]:
    """What is wrong with a family and its recordings; empty for a valid one."""
    try:
        return list(findings(folder, name, family))
    except InvalidFamily as error:
        return [str(error)]


def findings(folder: Path, name: str, family: Family) -> Iterator[str]:
    """Every finding about a family."""
    yield from taxonomy_words(name, family)
    yield from lines_in_texts(name, family)
    contents = {twin: read_recording(folder, name, twin) for twin in TWINS}
    values = recorded_values(name, family)
    steps = {twin: parse_recording(name, content).steps for twin, content in contents.items()}
    for twin in TWINS:
        yield from follows_script(name, family, twin, steps[twin], values)
        if (
            rewrite_session(contents[twin], Rewrite({value: value for value in values.values()}, None))
            != contents[twin]
        ):
            yield f"{name}: {twin}: the recorded values put back do not give the recorded bytes"
        yield from values_in_runtime(name, twin, contents[twin], values)
    yield from differences(name, family, steps)
    both = b"\n".join(contents.values()).decode()
    for slot, value in values.items():
        if json.dumps(value, ensure_ascii=False)[1:-1] not in both:
            yield f"{name}: slot {slot}: the recorded value {value!r} is in neither twin"
    for language in family.languages:
        drawn = drawn_values(name, family, seeded_random(name, language))
        for twin in TWINS:
            rewritten_session = rewrite_recording(
                name, family, contents[twin], drawn, language, 1, "00000000-0000-4000-8000-000000000000"
            )
            session = parse_recording(name, rewritten_session)
            if len(session.steps) != len(steps[twin]):
                yield f"{name}: {twin} in {language}: {len(session.steps)} steps; recorded are {len(steps[twin])}"
            else:
                numbers = step_numbers(family, twin)
                yield from failed_checks(name, family, twin, session.steps, drawn, language, numbers)


def taxonomy_words(name: str, family: Family) -> Iterator[str]:
    """No text may use a name of the taxonomy."""
    taxonomy = Taxonomy.load()
    names = [*(rule.name for rule in taxonomy.subtypes), *(rule.name for rule in taxonomy.candidates)]
    words = re.compile("|".join(["anomal", *(re.escape(name).replace("_", "[_ -]") for name in names)]), re.IGNORECASE)
    for text in family.templates():
        if match := words.search(text):
            yield f"{name}: {match[0]!r} is a word of the taxonomy, in {text[:60]!r}"


def lines_in_texts(name: str, family: Family) -> Iterator[str]:
    """A release with a store records what it wrote line by line: a text of several lines could not be found there."""
    if family.release not in WITH_STORE:
        return
    for text in sorted({value[1:] for value in family.references()}):
        if "\n" in family.texts[text][RECORDED_LANGUAGE].rstrip("\n"):
            yield f"{name}: text {text} has several lines, which {family.release} would tell one by one. Shorten it."


def follows_script(name: str, family: Family, twin: Twin, steps: Steps, values: Values) -> Iterator[str]:
    """The recorded steps are those of the script."""
    expected = [
        (step, call)
        for step in family.steps_of(twin)
        if step.user is None
        for call in (step.calls or [None])  # type: ignore[list-item]
    ]
    if len(expected) != len(steps):
        yield f"{name}: {twin}: {len(steps)} steps are recorded; the script has {len(expected)}"
        return
    for (step, call), row in zip(expected, steps, strict=True):
        where = f"{name}: {twin}: step {row['step_id']}"
        if call is not None and row["tool_name_raw"] != call[0]:
            yield f"{where}: is {row['tool_name_raw'] or 'a reply'}; the script has {call[0]}"
        if call is None and step.say is not None:
            scripted_text = family.text(step.say, RECORDED_LANGUAGE, values)
            if row["action_text"] != scripted_text:
                yield f"{where}: the reply is not that of the script: {str(row['action_text'])[:80]!r}"
        if SCRIPT_OVER in str(row["action_text"]):
            yield f"{where}: the program asked for more answers than the script has"


def values_in_runtime(name: str, twin: Twin, content: bytes, values: Values) -> Iterator[str]:
    """No value of a slot is part of what the runtime itself writes."""
    for number, line in enumerate(content.decode().splitlines(), start=1):
        record = json.loads(line)
        message = record.get("message", {})
        own = [str(part.get(field, "")) for part in (record, message) for field in OF_RUNTIME]
        own += [*ids(record), *strings_in(record.get("row", {}))]
        for slot, value in values.items():
            if any(value in text for text in own):
                yield f"{name}: {twin}: line {number}: slot {slot}: {value!r} is part of an id or time. Record another."


def differences(name: str, family: Family, steps: Mapping[Twin, Steps]) -> Iterator[str]:
    """Steps that both twins have are the same in both."""
    rows = {twin: iter(steps[twin]) for twin in TWINS}
    for step in family.step:
        twins = TWINS if step.twin == "both" else (step.twin,)
        for _ in range(step.count):
            twin_rows = [next(rows[twin], None) for twin in twins]
            if len(twin_rows) == 2 and None not in twin_rows and facts(twin_rows[0] or {}) != facts(twin_rows[1] or {}):
                number = (twin_rows[0] or {})["step_id"]
                yield f"{name}: step {step.id or number} belongs to both twins and differs between them"


def failed_checks(
    name: str, family: Family, twin: Twin, steps: Steps, values: Values, language: str, numbers: Numbers
) -> Iterator[str]:
    """Checks of the family that do not hold. `numbers`: id of a step of the script -> its first and last ReAct step."""
    for check in family.check:
        if check.twin not in ("both", twin):
            continue
        place = check.at or check.before or check.after or ""
        if place not in numbers:
            yield f"{name}: check of {place}: the {twin} twin has no such step"
            continue
        texts = [str(row[check.field] or "") for row in rows_at(steps, check, numbers[place])]
        text = fill_template(check.holds or check.lacks or "", values)
        if any(text in field_text for field_text in texts) != (check.holds is not None):
            verb = "does not hold" if check.holds is not None else "holds"
            yield f"{name}: {twin} in {language}: {check.field} {where(check)} {verb} {text!r}"


def rows_at(steps: Steps, check: Check, place: tuple[int, int]) -> Steps:
    """The steps that a check looks at."""
    first, last = place
    if check.at is not None:
        return steps[first - 1 : last]
    return steps[: first - 1] if check.before is not None else steps[last:]


def where(check: Check) -> str:
    """The place of a check in words."""
    if check.at is not None:
        return f"of step {check.at}"
    return f"before step {check.before}" if check.before is not None else f"after step {check.after}"
