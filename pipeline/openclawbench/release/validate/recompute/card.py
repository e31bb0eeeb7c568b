"""README.md and croissant.json: recomputed from the released files, they are the same."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.errors import InvalidRules
from openclawbench.release.card.croissant import NAME
from openclawbench.release.card.described import README, describe_release
from openclawbench.release.settings import PublishRules
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.same_files import json_differences, text_differences

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
    for name, check, differences in ((README, "card", text_differences), (NAME, "croissant", json_differences)):
        findings.checked["files_written_again"] += 1
        try:
            released = (root / name).read_bytes()
            messages = [] if released == expected[name] else [*differences(released, expected[name])]
        except (OSError, ValueError, RecursionError) as error:
            messages = [(None, f"cannot be read: {error}")]
        for number, message in messages:
            findings.add(check, name, message, number)


def settings(root: Path) -> PublishRules:
    """The settings with which the release was written, from the release."""
    path = root / PublishRules.FILE
    return PublishRules.checked(tomllib.loads(path.read_text(encoding="utf-8")), path)
