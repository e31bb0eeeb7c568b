"""JSON values of any type as the columns want them (null for what does not fit), and why a text is not valid JSON."""

import json
import math
from typing import Any, NoReturn

import msgspec

QUICK = msgspec.json.Decoder()
MOST_COUNT = 2**63  # a column holds no whole number of this size
MOST_DIGITS = 4000  # of a whole number: Python refuses one with a few more


def whole_number(digits: str) -> int | float:
    """A whole number; one of too many digits is infinite, as 1e400 is."""
    return int(digits) if len(digits) <= MOST_DIGITS else float(digits)


STANDARD = json.JSONDecoder(parse_int=whole_number)


def load_json(text: str | bytes) -> Any:
    """A JSON value: by the fast parser, or by the standard one where that gives up (a number beyond all bounds, half an
    emoji). Raises ValueError or RecursionError if it is not valid JSON."""
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
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def count_of(value: Any) -> int | None:
    """An integer that fits a column, else null."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < MOST_COUNT else None


TOO_DEEP = "a value is nested too deeply to be read"


class NoNumber(ValueError):
    """NaN or an infinity, which Python's parser reads, and JSON does not have."""


def refuse_constant(constant: str) -> NoReturn:
    """Called by the parser for NaN, Infinity and -Infinity."""
    raise NoNumber(f"{constant} is not a JSON value")


DECODER = json.JSONDecoder(parse_constant=refuse_constant, parse_int=whole_number)


def why_not_json(text: str, error: ValueError | RecursionError, start: int = 0) -> str:
    """What is wrong with a text, from `start` on, that a parser refused with `error`; with the column (from 1) where it
    is known."""
    try:
        DECODER.raw_decode(text, start)
    except json.JSONDecodeError as cause:
        line = f"line {cause.lineno} of the text, " if cause.lineno > 1 else ""
        return f"{cause.msg} ({line}column {cause.colno})"
    except RecursionError:
        return TOO_DEEP
    except ValueError as cause:  # NoNumber, or an integer of more digits than Python reads
        return str(cause)
    return TOO_DEEP if isinstance(error, RecursionError) else str(error)


def without_blanks(value: Any) -> Any:
    """A JSON value without members that are null or empty, and whole numbers as such: a table fills in what a row
    lacks, and has one type for all numbers of a column."""
    if isinstance(value, dict):
        members = {name: without_blanks(member) for name, member in value.items()}
        return {name: member for name, member in members.items() if member is not None and member not in ([], {})}
    if isinstance(value, list):
        return [without_blanks(member) for member in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
