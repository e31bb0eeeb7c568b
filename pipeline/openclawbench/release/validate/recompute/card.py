"""README.md and croissant.json: made again from the released files, they come out the same."""

import json
import tomllib
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.errors import InvalidRules
from openclawbench.release.card.croissant import NAME
from openclawbench.release.card.described import README, described
from openclawbench.release.settings import PublishRules
from openclawbench.release.validate.compare import compare_file, shown
from openclawbench.release.validate.findings import Findings

BROKEN = (
    *(OSError, ValueError, LookupError, TypeError, ArithmeticError, RecursionError, InvalidRules),
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException),
)


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
    compare_file(root, NAME, "croissant", json.loads(want[NAME]), findings, unreadable="croissant")


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
