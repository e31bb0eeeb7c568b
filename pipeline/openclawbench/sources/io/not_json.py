"""Why a text is no JSON, in words that a person can act on."""

import json
from typing import NoReturn

from openclawbench.sources.io.json_values import whole_number

TOO_DEEP = "a value is nested too deeply to be read"


class NoNumber(ValueError):
    """NaN or an infinity, which Python's parser reads, and JSON does not have."""


def refused(constant: str) -> NoReturn:
    """Called by the parser for NaN, Infinity and -Infinity."""
    raise NoNumber(f"{constant} is no JSON value")


DECODER = json.JSONDecoder(parse_constant=refused, parse_int=whole_number)


def why_not_json(text: str, error: ValueError | RecursionError, start: int = 0) -> str:
    """What is wrong with a text, from `start` on, that a parser refused with `error`; with the column (from 1) where it
    is known."""
    try:
        DECODER.raw_decode(text, start)
    except json.JSONDecodeError as found:
        line = f"line {found.lineno} of the text, " if found.lineno > 1 else ""
        return f"{found.msg} ({line}column {found.colno})"
    except RecursionError:
        return TOO_DEEP
    except ValueError as found:  # NoNumber, or an integer of more digits than Python reads
        return str(found)
    return TOO_DEEP if isinstance(error, RecursionError) else str(error)
