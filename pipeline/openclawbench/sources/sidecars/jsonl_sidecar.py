"""A JSONL file beside a session, as the intake hands it to an adapter: its records, and what kind of file it is."""

import json
from collections.abc import Iterator
from typing import Any


def is_session_header(first: Any) -> bool:
    """True for the first record of a native OpenClaw session."""
    return isinstance(first, dict) and first.get("type") == "session" and "timestamp" in first


def records_in(value: Any, *, backwards: bool = False) -> Iterator[Any]:
    """The whole records of a JSONL file that lies beside, `backwards` from its end: `value` is its text, or its only
    record; null: unreadable."""
    if not isinstance(value, str):
        yield from () if value is None else (value,)
        return
    lines = value.lstrip("\ufeff").split("\n")
    for line in reversed(lines) if backwards else lines:
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            continue
