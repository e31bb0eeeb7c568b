"""A RunArtifact document: its trace as events in both spellings (the documented one and the stored one)."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from openclawbench.sources.base import MalformedSession
from openclawbench.sources.io.json_ranges import array_ranges, object_ranges
from openclawbench.sources.io.json_values import TOO_DEEP
from openclawbench.sources.io.jsonl import BOM, Fault, RawLine, is_utf8, readable

# A trace event's kind as it is spelled -> as it is named here; any other kind keeps its own name.
KINDS = {
    "message": "message",
    "tool_call": "tool_call",
    "tool_result": "tool_result",
    "final_output": "final_output",
    "runner": "runner",
    "runner_trace": "runner",
}


@dataclass(frozen=True)
class Event:
    """One event of the trace and where it stands. `data` is its JSON text, readable by every parser."""

    index: int
    kind: str
    value: dict[str, Any]  # its fields; none where it is not an object
    row: RawLine
    data: bytes

    @property
    def metadata(self) -> dict[str, Any]:
        metadata = self.value.get("metadata")
        return metadata if isinstance(metadata, dict) else {}

    @property
    def role(self) -> str | None:
        """Role of a message event, else None."""
        role = self.value.get("role") if self.kind == "message" else None
        return role if isinstance(role, str) else None

    def text(self, key: str) -> str | None:
        """A value as text: a string as it is, any other JSON value as it is written; None if absent or blank."""
        value = self.value.get(key)
        if value is None:
            return None
        text = value if isinstance(value, str) else self.written(key)
        return text if text.strip() else None

    def written(self, key: str) -> str:
        """JSON text of a value, byte for byte."""
        start, end = object_ranges(self.data)[key]
        return self.data[start:end].decode("utf-8")


@dataclass
class Document:
    """The document without its trace, the trace, and one digest per record: the document's own first."""

    value: dict[str, Any]
    events: list[Event]
    digests: list[bytes]
    warnings: list[Fault] = field(default_factory=list)

    def part(self, *keys: str) -> dict[str, Any]:
        """The object at this path; empty if the document has no object there."""
        value: Any = self.value
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, dict) else {}


def read_document(content: bytes) -> Document:
    """Read a RunArtifact. Raises MalformedSession with the line where it is not a JSON object with a trace."""
    warnings = [] if is_utf8(content) else [Fault("invalid_utf8", 1, "bytes that are not UTF-8; kept as \\xNN")]
    try:
        value = json.loads(readable(content.removeprefix(BOM)).decode("utf-8"))
        trace = value.pop("trace", None) if isinstance(value, dict) else None
        if not isinstance(trace, list):
            raise MalformedSession(Fault("unexpected_shape", 1, "the artifact's trace is not a list"))
        digests = [digest(value), *(digest(event) for event in trace)]
    except json.JSONDecodeError as error:
        message = f"line {error.lineno}: not JSON: {error.msg}"
        raise MalformedSession(Fault("broken_json", error.lineno, message)) from error
    except (ValueError, RecursionError) as error:
        why = TOO_DEEP if isinstance(error, RecursionError) else error
        raise MalformedSession(Fault("broken_json", 1, f"not JSON that can be read: {why}")) from error
    events = events_of(trace, content)
    return Document(value, events, digests, warnings + sequence_faults(events))


def events_of(trace: list[Any], content: bytes) -> list[Event]:
    """The events with their places."""
    start = len(BOM) if content.startswith(BOM) else 0
    ranges = array_ranges(content, object_ranges(content, start)["trace"][0])
    events = []
    line, counted = 1, 0
    for index, (value, (begin, end)) in enumerate(zip(trace, ranges, strict=True)):
        line += content.count(b"\n", counted, begin)
        counted = begin
        raw = content[begin:end]
        data = readable(raw)
        row = RawLine(line, begin, end - begin, data is not raw, value)
        events.append(Event(index, kind_of(value), value if isinstance(value, dict) else {}, row, data))
    return events


def kind_of(value: Any) -> str:
    """The kind of an event; what is not an object or has no kind says so."""
    if not isinstance(value, dict):
        return "not_an_object"
    kind = value.get("event_type", value.get("kind"))
    return KINDS.get(kind, kind) if isinstance(kind, str) else "no_kind"


def sequence_faults(events: list[Event]) -> list[Fault]:
    """A warning where the events' own numbers are not 0, 1, 2 …: an event may have been lost before."""
    numbered = [(event, event.value["sequence"]) for event in events if "sequence" in event.value]
    line = next((event.row.line for event, number in numbered if number != event.index), None)
    if line is None:
        return []
    return [Fault("sequence_broken", line, f"line {line}: the trace's sequence numbers are not 0, 1, 2 …")]


def digest(value: Any) -> bytes:
    """Digest of a record, whatever its layout."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
