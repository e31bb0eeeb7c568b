"""A recorded twin, and the session rewritten with other values, another language, other ids and times."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from openclawbench.errors import InvalidFamily
from openclawbench.exam.family import RECORDED_LANGUAGE, Family, Twin
from openclawbench.exam.rewrite import Rewrite, rewrite_session
from openclawbench.exam.store import session_lines
from openclawbench.exam.values import recorded_values
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.base import ParsedSession
from openclawbench.sources.identification import identify

Values = Mapping[str, str]


def read_recording(folder: Path, name: str, twin: Twin) -> bytes:
    """The recorded session of a twin. Raises InvalidFamily if it is missing."""
    path = folder / f"{name}.{twin}.jsonl"
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidFamily(f"{path}: cannot be read: {error}. Record the family.") from error


def keep_text(text: str, language: str, number: int) -> str:
    """What the agent says, as it is."""
    return text


def replacements(
    name: str, family: Family, values: Values, language: str, altered: Callable[[str, str, int], str] = keep_text
) -> dict[str, str]:
    """Recorded text -> text: of every text of the family, and of every slot. `altered`: of a text that the agent says,
    of its language and number, what it says instead."""
    before = recorded_values(name, family)
    changed = {before[slot]: values[slot] for slot in before}
    spoken = family.spoken_texts
    for text in family.texts:
        standard_text = family.text(text, language, values)
        new = altered(standard_text, language, spoken.index(text)) if text in spoken else standard_text
        old = family.text(text, RECORDED_LANGUAGE, before)
        changed[old] = new
        if old.endswith("\n"):  # without it in what a command prints and in what changed in a file
            changed.setdefault(old.rstrip("\n"), new.rstrip("\n"))
    return changed


def rewrite_recording(
    name: str,
    family: Family,
    content: bytes,
    values: Values,
    language: str,
    seed: int | None,
    session_id: str,
    altered: Callable[[str, str, int], str] = keep_text,
) -> bytes:
    """A recorded session with these values and texts, and with ids, times and usage drawn from the seed or its own.

    Raises InvalidFamily if the recording is not of this family.
    """
    changed = replacements(name, family, values, language, altered)
    own_id = parse_recording(name, content).session_id
    if own_id is not None and seed is not None:
        changed[own_id] = session_id
    try:
        return rewrite_session(content, Rewrite(changed, seed))
    except ValueError as error:
        raise InvalidFamily(f"{name}: {error}. Record the family again.") from error


def parse_recording(name: str, content: bytes) -> ParsedSession:
    """The session as the pipeline reads it. Raises InvalidFamily if it does not."""
    events = session_lines(content)
    source = identify(events).source
    if source is None:
        raise InvalidFamily(f"{name}: the recording is not in a format that is known. Record the family again.")
    return source.parse(events, {}, NormalizeRules.load())


def step_numbers(family: Family, twin: Twin) -> dict[str, tuple[int, int]]:
    """Id of a step of the script -> numbers of the first and last ReAct step that it became."""
    numbers, last = {}, 0
    for step in family.steps_of(twin):
        if step.id is not None:
            numbers[step.id] = last + 1, last + max(step.count, 1)
        last += step.count
    return numbers


def seeded_random(*parts: object) -> random.Random:
    """A source of random numbers that depends on the parts alone."""
    return random.Random("/".join(map(str, parts)))


def facts(step: Mapping[str, Any]) -> dict[str, Any]:
    """What twins must have in common in a step that both have."""
    names = ("action_kind", "thinking", "narration", "action_text", "arguments", "reflection_text", "result_is_error")
    return {field: step[field] for field in names}
