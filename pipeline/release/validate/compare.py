"""What a file of a release says beside what the other files give: a finding for each value that differs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.release.validate.findings import Findings

SHOWN = 80  # characters of a value in a finding


def compare_file(
    root: Path, name: str, check: str, want: Any, findings: Findings, unreadable: str, counted: str = ""
) -> None:
    """Compare a JSON file with what it should be. `unreadable`: the check that names it where it cannot be read."""
    try:
        said = json.loads((root / name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        findings.add(unreadable, name, f"cannot be read: {error}")
        return
    compare(said, want, name, check, findings, counted)


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
