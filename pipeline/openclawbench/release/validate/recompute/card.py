"""README.md and croissant.json: recomputed from the released files, they are the same."""

import json
import tomllib
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.errors import InvalidRules
from openclawbench.release.card.croissant import NAME
from openclawbench.release.card.described import README, describe_release
from openclawbench.release.settings import PublishRules
from openclawbench.release.validate.compare import compare_file, shorten_value
from openclawbench.release.validate.findings import Findings

BROKEN = (
    *(OSError, ValueError, LookupError, TypeError, ArithmeticError, RecursionError, InvalidRules),
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException),
)


def check_described(root: Path, digests: Mapping[str, str], text: list[dict[str, Any]], findings: Findings) -> None:
    """Compare every line of the card and every value of the Croissant description. `text`: finds in released text, one
    row per kind."""
    import pyarrow as pa

    try:
        expected = describe_release(root, digests, text, settings(root))
    except (*BROKEN, pa.ArrowException) as error:
        message = str(error).partition("\n")[0] or type(error).__name__
        findings.add("card", README, f"cannot be computed from the files of the release: {message}")
        return
    check_text(root, README, "card", expected[README].decode(), findings)
    compare_file(root, NAME, "croissant", json.loads(expected[NAME]), findings, unreadable="croissant")


def settings(root: Path) -> PublishRules:
    """The settings with which the release was written, from the release."""
    path = root / PublishRules.FILE
    return PublishRules.checked(tomllib.loads(path.read_text(encoding="utf-8")), path)


def check_text(root: Path, name: str, check: str, expected: str, findings: Findings) -> None:
    """A finding for each line of a text file that differs from the expected text."""
    path = root / name
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    for number, (line, expected_line) in enumerate(zip_longest(text.split("\n"), expected.split("\n")), start=1):
        findings.checked[f"{check}_lines"] += 1
        if line != expected_line:
            findings.add(
                check, name, f"is {shorten_value(line)}; the files give {shorten_value(expected_line)}", number
            )
