"""JSON values that may be of any type, as the columns want them; null for all that does not fit."""

import json
import math
from typing import Any

import msgspec

QUICK = msgspec.json.Decoder()


def loaded(text: str | bytes) -> Any:
    """A JSON value: by the fast parser, or by the standard one where that gives up (a number beyond all bounds, half an
    emoji). ValueError or RecursionError where it is none."""
    try:
        return QUICK.decode(text)
    except (ValueError, RecursionError):
        return json.loads(text)


def text_of(value: Any) -> str | None:
    """A string that is not blank, else null."""
    return value if isinstance(value, str) and value.strip() else None


def number_of(value: Any) -> float | None:
    """A finite number, else null."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def count_of(value: Any) -> int | None:
    """An integer that fits a column, else null."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None
