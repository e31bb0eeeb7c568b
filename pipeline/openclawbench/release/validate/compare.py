"""Compare published values with recomputed ones: a finding for each value that differs."""

import json
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any

from openclawbench.release.validate.findings import Findings

SHOWN = 80  # characters of a value in a finding
LARGEST = 2**63  # the first integer that an Int64 column cannot hold


def compare_file(
    root: Path, name: str, check: str, expected: Any, findings: Findings, unreadable: str, counted: str = ""
) -> None:
    """Compare a JSON file with its expected content. `unreadable`: the check that reports a file that cannot be
    read."""
    published = read_json(root, name, unreadable, findings)
    if published is not None:
        compare(published, expected, name, check, findings, counted)


def read_json(root: Path, name: str, check: str, findings: Findings) -> Any:
    """The content of a JSON file; None with a finding if it cannot be read or has a number that does not fit in 64
    bits."""
    try:
        content = json.loads((root / name).read_text(encoding="utf-8"))
        place = too_large(content)
    except (OSError, ValueError, RecursionError) as error:
        findings.add(check, name, f"cannot be read: {error}")
        return None
    if place is not None:
        findings.add(check, name, f"{place} is a number that does not fit in 64 bits")
        return None
    return content


def too_large(value: Any) -> str | None:
    """The place of a number that does not fit in 64 bits or is not finite; None if there is none."""
    if not holds_too_large(value):  # nearly always: no place has to be named
        return None
    return next(place for place, leaf in leaves(value) if holds_too_large(leaf))


def holds_too_large(value: Any) -> bool:
    """True if plain data holds a number that does not fit in 64 bits or is not finite."""
    if isinstance(value, str):
        return False
    if isinstance(value, dict):
        return any(map(holds_too_large, value.values()))
    if isinstance(value, list):
        return any(map(holds_too_large, value))
    if isinstance(value, int):
        return not -LARGEST <= value < LARGEST
    return isinstance(value, float) and not isfinite(value)


def compare(published: Any, expected: Any, name: str, check: str, findings: Findings, counted: str = "") -> None:
    """A finding for each leaf that differs. `counted`: the name under which leaves count as checked, empty for none."""
    published_leaves, expected_leaves = dict(leaves(published)), dict(leaves(expected))
    for place in sorted(published_leaves.keys() | expected_leaves.keys()):
        if counted:
            findings.checked[counted] += 1
        if published_leaves.get(place) != expected_leaves.get(place):
            published_value, expected_value = (
                shorten_value(values.get(place)) for values in (published_leaves, expected_leaves)
            )
            message = f"{place} is {published_value}, the files give {expected_value}"
            findings.add(check, name, message)


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """(place, value) of every value that is neither object nor list. An entry of a list is named by its id or
    position."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, f"{place}/{name}")
    elif isinstance(value, list):
        for position, part in enumerate(value):
            yield from leaves(part, f"{place}[{part.get('@id', position) if isinstance(part, dict) else position}]")
    else:
        yield place, value


def shorten_value(value: Any) -> str:
    """A value as text, cut to SHOWN characters."""
    text = repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
