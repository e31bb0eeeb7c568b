"""Where the values of a JSON document stand in its bytes, so that a pointer names the raw bytes. For documents that a
JSON parser has accepted: strings and nesting are respected, the rest of the grammar is not checked."""

import json
import re

from openclawbench.sources.io.jsonl import BOM, readable

BLANK = re.compile(rb"[ \t\r\n]*+")
STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
TO_BRACKET = re.compile(rb"(?:[^\"\[\]{}]++|" + STRING.pattern + rb")*+[\[\]{}]", re.DOTALL)
SCALAR = re.compile(rb'[^][{},:" \t\r\n]++')
Range = tuple[int, int]  # first byte, byte after the last


def element_ranges(content: bytes, key: str | None) -> list[Range]:
    """Byte range of each element of the array that `key` of the document's object holds, or of the document itself
    where `key` is None; empty if there is no such array.

    ValueError if brackets, quotes, colons or commas do not fit.
    """
    start = skip_blanks(content, len(BOM) if content.startswith(BOM) else 0)
    if key is None:
        return array_ranges(content, start) if content[start : start + 1] == b"[" else []
    if content[start : start + 1] != b"{":
        return []
    begin, _ = object_ranges(content, start).get(key, (len(content), 0))
    return array_ranges(content, begin) if content[begin : begin + 1] == b"[" else []


def object_ranges(data: bytes, start: int = 0) -> dict[str, Range]:
    """Byte range of each member's value of the object at `start`; of a repeated key the last, as parsers do.

    ValueError if there is no whole object.
    """
    ranges: dict[str, Range] = {}
    at = skip_blanks_after(data, start, b"{")
    while data[at : at + 1] != b"}":
        key_end = value_end(data, at)
        value_start = skip_blanks_after(data, key_end, b":")
        end = value_end(data, value_start)
        ranges[json.loads(readable(data[at:key_end]))] = (value_start, end)
        at = next_member(data, end, b"}")
    return ranges


def array_ranges(data: bytes, start: int = 0) -> list[Range]:
    """Byte range of each element of the array at `start`. ValueError if there is no whole array."""
    ranges: list[Range] = []
    at = skip_blanks_after(data, start, b"[")
    while data[at : at + 1] != b"]":
        end = value_end(data, at)
        ranges.append((at, end))
        at = next_member(data, end, b"]")
    return ranges


def value_end(data: bytes, start: int) -> int:
    """The byte after the value that begins at `start`. Strings and nesting are known, scalars are not checked."""
    first = data[start : start + 1]
    if first not in (b"{", b"["):
        match = (STRING if first == b'"' else SCALAR).match(data, start)
        if match is None:
            raise ValueError(f"byte {start}: no JSON value")
        return match.end()
    depth, at = 0, start
    while (match := TO_BRACKET.match(data, at)) is not None:
        at = match.end()
        depth += 1 if data[at - 1] in b"{[" else -1
        if depth == 0:
            return at
    raise ValueError(f"byte {start}: a value without an end")


def skip_blanks_after(data: bytes, at: int, mark: bytes) -> int:
    """The first byte that is not a blank after `mark`, which is the next byte that is not a blank."""
    at = skip_blanks(data, at)
    if data[at : at + 1] != mark:
        raise ValueError(f"byte {at}: expected {mark!r}")
    return skip_blanks(data, at + 1)


def next_member(data: bytes, at: int, close: bytes) -> int:
    """Where the next member begins, or where the bracket that closes stands."""
    at = skip_blanks(data, at)
    return at if data[at : at + 1] == close else skip_blanks_after(data, at, b",")


def skip_blanks(data: bytes, at: int) -> int:
    """The first byte at or after `at` that is not a blank."""
    match = BLANK.match(data, at)
    return match.end() if match else at
