"""sessions.json, the index beside OpenClaw's sessions: run contexts, and faults, which are reported because they lose
contexts. Of an entry only what is used is held, however long the rest of it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from openclawbench.sources.io.json_values import why_not_json
from openclawbench.sources.io.jsonl import BOM, Fault
from openclawbench.sources.openclaw.context import ENTRY_KEYS, fits, run_context

INDEX = "sessions.json"
REASON = "broken_context"
KINDS = {bool: "true or false", str: "text", int: "a whole number", float: "a number"}
KEY_SAID = 80  # characters of a session key in a sentence
LOOKED_AT = ("sessionId", *(key for key, _ in ENTRY_KEYS.values()))
STANDARD_BYTES = 64 << 20  # what the fast parser refuses is given to the standard one up to this size
Entry = msgspec.defstruct("Entry", [(key, Any, None) for key in LOOKED_AT], gc=False)
INDEX_DECODER = msgspec.json.Decoder(dict[str, msgspec.Raw])
ENTRY_DECODER = msgspec.json.Decoder(Entry)


class NoIndex(ValueError):
    """The text is JSON but not an object of entries by session key."""


def is_index(path: str) -> bool:
    """True for a file of the index's name."""
    return path.rpartition("/")[2] == INDEX


def contexts_by_session(content: bytes | memoryview) -> dict[str, dict[str, Any]]:
    """RunContext fields by session id, of several entries of one the first; empty if the index is broken."""
    try:
        index = entries_of(content)
    except (ValueError, RecursionError):
        return {}
    contexts: dict[str, dict[str, Any]] = {}
    for key, entry in index.items():
        session_id = entry.get("sessionId") if isinstance(entry, dict) else None
        if isinstance(session_id, str) and session_id not in contexts:
            contexts[session_id] = run_context(key, entry)
    return contexts


def entries_of(content: bytes | memoryview) -> dict[str, Any]:
    """Entries by session key, of each object the keys that are looked at. Raises ValueError or RecursionError for no
    JSON, NoIndex for no object."""
    text = content[len(BOM) :] if content[: len(BOM)] == BOM else content
    try:
        return {key: entry_of(raw) for key, raw in INDEX_DECODER.decode(text).items()}
    except (ValueError, RecursionError):
        if len(content) > STANDARD_BYTES:
            raise
    index = json.loads(bytes(text).decode("utf-8", "replace"))
    if not isinstance(index, dict):
        raise NoIndex("no object of entries by session key")
    return index


def entry_of(raw: msgspec.Raw) -> Any:
    """An entry, of an object the keys that are looked at. ValueError or RecursionError if it is not valid JSON."""
    try:
        entry = ENTRY_DECODER.decode(raw)
    except ValueError:
        return json.loads(bytes(raw))
    return {key: getattr(entry, key) for key in LOOKED_AT}


def index_fault(path: str, content: bytes | memoryview) -> Fault | None:
    """What is wrong with a session index, with the line of the first fault; None for a sound one, and for any other
    file."""
    if not is_index(path):
        return None
    try:
        index = entries_of(content)
    except NoIndex as error:
        return Fault(REASON, 1, f"line 1: {error}")
    except (ValueError, RecursionError) as error:
        return Fault(REASON, *why_broken(content, error))
    faults = list(entry_faults(index))
    if not faults:
        return None
    key, what = faults[0]
    line = line_of(bytes(content), key)
    return Fault(REASON, line, f"line {line}: the entry {quoted_key(key)}: {what}{more_faults(len(faults))}")


def why_broken(content: bytes | memoryview, error: ValueError | RecursionError) -> tuple[int, str]:
    """Line and sentence for text that is not valid JSON."""
    if len(content) > STANDARD_BYTES:
        return 1, f"line 1: not JSON: {error}"
    line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
    text = bytes(content).removeprefix(BOM).decode("utf-8", "replace").strip()
    return line, f"line {line}: not JSON: {why_not_json(text, error)}"


def line_of(content: bytes, key: str) -> int:
    """Line in which a key is first named."""
    named = json.dumps(key, ensure_ascii=False).encode("utf-8", "replace")
    return content.count(b"\n", 0, max(content.find(named), 0)) + 1


def quoted_key(key: Any) -> str:
    """A session key as a sentence names it."""
    return repr(key if len(str(key)) <= KEY_SAID else f"{str(key)[:KEY_SAID]}…")


def more_faults(faults: int) -> str:
    """The sentence on the faults after the first."""
    return f" (and {faults - 1} more of that kind)" if faults > 1 else ""


def entry_faults(index: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(session key, what is wrong) of each value that is not of its type."""
    for key, entry in index.items():
        if not isinstance(entry, dict):
            yield key, "it is not an object"
            continue
        if entry.get("sessionId") is not None and not isinstance(entry["sessionId"], str):
            yield key, "`sessionId` is not text"
        for name, kind in ENTRY_KEYS.values():
            if entry.get(name) is not None and not fits(entry[name], kind):
                yield key, f"`{name}` is not {KINDS[kind]}"
