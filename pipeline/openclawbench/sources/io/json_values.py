"""JSON values that may be of any type, as the columns want them; null for all that does not fit."""

import json
import math
from typing import Any

import msgspec

QUICK = msgspec.json.Decoder()
MOST_COUNT = 2**63  # a column holds no whole number of this size
MOST_DIGITS = 4000  # of a whole number: Python refuses one with a few more


def whole_number(digits: str) -> int | float:
    """A whole number; one of too many digits is infinite, as 1e400 is."""
    return int(digits) if len(digits) <= MOST_DIGITS else float(digits)


STANDARD = json.JSONDecoder(parse_int=whole_number)


def loaded(text: str | bytes) -> Any:
    """A JSON value: by the fast parser, or by the standard one where that gives up (a number beyond all bounds, half an
    emoji). ValueError or RecursionError where it is none."""
    try:
        return QUICK.decode(text)
    except (ValueError, RecursionError):
        return STANDARD.decode(text if isinstance(text, str) else text.decode("utf-8"))


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
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < MOST_COUNT else None
