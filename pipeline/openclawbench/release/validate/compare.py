"""What a file of a release says beside what the other files give: a finding for each value that differs."""

import json
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any

from openclawbench.release.validate.findings import Findings

SHOWN = 80  # characters of a value in a finding
LARGEST = 2**63  # the first whole number that no column holds


def compare_file(
    root: Path, name: str, check: str, want: Any, findings: Findings, unreadable: str, counted: str = ""
) -> None:
    """Compare a JSON file with what it should be. `unreadable`: the check that names it where it cannot be read."""
    said = read_json(root, name, unreadable, findings)
    if said is not None:
        compare(said, want, name, check, findings, counted)


def read_json(root: Path, name: str, check: str, findings: Findings) -> Any:
    """What a JSON file holds; null with a finding where it cannot be read, or holds a number that no column holds."""
    try:
        said = json.loads((root / name).read_text(encoding="utf-8"))
        place = too_large(said)
    except (OSError, ValueError, RecursionError) as error:
        findings.add(check, name, f"cannot be read: {error}")
        return None
    if place is not None:
        findings.add(check, name, f"{place} is a number that no column holds")
        return None
    return said


def too_large(value: Any) -> str | None:
    """Where a whole number of plain data stands that 64 bits do not hold, or a number that is not finite; null where
    there is none."""
    for place, one in leaves(value):
        if (isinstance(one, int) and not -LARGEST <= one < LARGEST) or (isinstance(one, float) and not isfinite(one)):
            return place
    return None


def compare(said: Any, want: Any, name: str, check: str, findings: Findings, counted: str = "") -> None:
    """A finding for each leaf that differs. `counted`: under which name the leaves count as looked at; blank: none."""
    flat_said, flat_want = dict(leaves(said)), dict(leaves(want))
    for place in sorted(flat_said.keys() | flat_want.keys()):
        if counted:
            findings.checked[counted] += 1
        if flat_said.get(place) != flat_want.get(place):
            message = f"{place} is {shown(flat_said.get(place))}, the files give {shown(flat_want.get(place))}"
            findings.add(check, name, message)


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """(place, value) of everything that is neither an object nor a list; parts of a list by their id, or number."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from leaves(one, f"{place}/{name}")
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from leaves(one, f"{place}[{one.get('@id', number) if isinstance(one, dict) else number}]")
    else:
        yield place, value


def shown(value: Any) -> str:
    """The beginning of a value."""
    text = repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
