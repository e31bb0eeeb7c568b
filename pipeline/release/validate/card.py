"""README.md and croissant.json: made again from the released files, they come out the same."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import polars as pl

from pipeline.errors import BrokenRules
from pipeline.release.card.croissant import NAME
from pipeline.release.card.described import README, described
from pipeline.release.settings import PublishRules
from pipeline.release.validate.findings import Findings

BROKEN = (OSError, ValueError, LookupError, TypeError, BrokenRules, pl.exceptions.PolarsError)
SHOWN = 80  # characters of a value in a finding


def check_described(root: Path, digests: Mapping[str, str], text: list[dict[str, Any]], findings: Findings) -> None:
    """Every line of the card and every value of the Croissant description, beside what the files give. `text`: finds
    in released text, a row a kind."""
    import pyarrow as pa

    try:
        want = described(root, digests, text, settings(root))
    except (*BROKEN, pa.ArrowException) as error:
        message = str(error).partition("\n")[0] or type(error).__name__
        findings.add("card", README, f"cannot be computed from the files of the release: {message}")
        return
    check_text(root, README, "card", want[README].decode(), findings)
    check_croissant(root, json.loads(want[NAME]), findings)


def settings(root: Path) -> PublishRules:
    """The settings with which the release was written: it holds them."""
    path = root / PublishRules.FILE
    return PublishRules.checked(tomllib.loads(path.read_text(encoding="utf-8")), path)


def check_text(root: Path, name: str, check: str, want: str, findings: Findings) -> None:
    """A finding for each line of a text that is not what the files give."""
    path = root / name
    said = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    for number, (line, right) in enumerate(zip_longest(said.split("\n"), want.split("\n")), start=1):
        findings.checked[f"{check}_lines"] += 1
        if line != right:
            findings.add(check, name, f"says {shown(line)}, the files give {shown(right)}", number)


def check_croissant(root: Path, want: Any, findings: Findings) -> None:
    """A finding for each value that is not what the files give."""
    try:
        said = json.loads((root / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        findings.add("croissant", NAME, f"cannot be read: {error}")
        return
    flat_said, flat_want = dict(leaves(said)), dict(leaves(want))
    for place in sorted(flat_said.keys() | flat_want.keys()):
        if flat_said.get(place) != flat_want.get(place):
            message = f"{place} is {shown(flat_said.get(place))}, the files give {shown(flat_want.get(place))}"
            findings.add("croissant", NAME, message)


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
