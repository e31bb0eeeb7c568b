"""Faults of sessions.json, the index beside OpenClaw's sessions: what it says of their runs is lost with them."""

import json
from collections.abc import Iterator
from typing import Any

from pipeline.sources.jsonl import BOM, Fault
from pipeline.sources.not_json import why_not_json
from pipeline.sources.openclaw_context import ENTRY_KEYS, fits

INDEX = "sessions.json"
REASON = "broken_context"
KINDS = {bool: "true or false", str: "text", int: "a whole number", float: "a number"}


def index_fault(path: str, content: bytes) -> Fault | None:
    """What is wrong with a session index, with the line of the first fault; null for a sound one, and for any other
    file."""
    if path.rpartition("/")[2] != INDEX:
        return None
    text = content.removeprefix(BOM).decode("utf-8", "replace")
    try:
        index = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        return Fault(REASON, line, f"line {line}: not JSON: {why_not_json(text.strip(), error)}")
    if not isinstance(index, dict):
        return Fault(REASON, 1, "line 1: no object of entries by session key")
    faults = list(entry_faults(index))
    if not faults:
        return None
    key, what = faults[0]
    line = text.count("\n", 0, max(text.find(json.dumps(key, ensure_ascii=False)), 0)) + 1
    more = f" (and {len(faults) - 1} more of that kind)" if len(faults) > 1 else ""
    return Fault(REASON, line, f"line {line}: the entry {key!r}: {what}{more}")


def entry_faults(index: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(session key, what is wrong) of each value that is not of its type."""
    for key, entry in index.items():
        if not isinstance(entry, dict):
            yield key, "it is no object"
            continue
        if entry.get("sessionId") is not None and not isinstance(entry["sessionId"], str):
            yield key, "`sessionId` is not text"
        for name, kind in ENTRY_KEYS.values():
            if entry.get(name) is not None and not fits(entry[name], kind):
                yield key, f"`{name}` is not {KINDS[kind]}"
