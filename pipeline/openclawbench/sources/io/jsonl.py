"""Bytes of a JSONL file -> raw records with their offsets, and the faults found. Nothing is dropped silently."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate, chain, count, repeat
from operator import sub
from typing import Any, TypeVar

import msgspec

from openclawbench.sources.io.json_values import STANDARD, TOO_DEEP, why_not_json
from openclawbench.sources.io.mmap_files import CHUNK, PageReleaser

T = TypeVar("T")
BOM = b"\xef\xbb\xbf"
# \uD8xx-\uDFxx escapes, with the backslashes before them: an even number means that the escape is real.
SURROGATE = re.compile(rb"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})(\\u[dD][c-fC-F][0-9a-fA-F]{2})?")
LOW_SURROGATE = re.compile(rb"(?<!\\)((?:\\\\)*)\\u([dD][c-fC-F][0-9a-fA-F]{2})")
SURROGATE_ESCAPE = re.compile(rb"\\u[dD]")  # any at all: a quick look before the careful one
NEWLINE = re.compile(rb"\n")
ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
DECODER = STANDARD
BLANKS = " \t\r\n"
OPENING, CLOSING = b"{}"
STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
FATAL = ("broken_json", "unexpected_shape", "nested_too_deeply")


class RawLine(msgspec.Struct, frozen=True, gc=False):
    """One JSON text in the file. `escaped` says that lone surrogates or invalid bytes in it were written out."""

    line: int  # 1-based
    offset: int  # bytes from the start of the file
    length: int  # bytes
    escaped: bool
    value: Any  # decoded
    file: str | None = None  # which it is in, where that is another than the session's


@dataclass
class Fault:
    """Something wrong with a file."""

    reason: str
    line: int
    message: str


@dataclass
class RawFile:
    """All JSON texts of a file in order, and what was wrong."""

    lines: list[RawLine] = field(default_factory=list)
    warnings: list[Fault] = field(default_factory=list)
    fatal: Fault | None = None
    torn: bool = False
    torn_length: int = 0


class UnexpectedShape(ValueError):
    """JSON, but not the shape that this format's records have."""


def decode_shape(decoder: "msgspec.json.Decoder[T]", data: bytes, what: str) -> T:
    """A record of a shape, e.g. "a message". Raises UnexpectedShape for another shape, ValueError for what is not valid
    JSON."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise UnexpectedShape(f"{what} of unexpected shape: {error}") from error


def pieces(content: bytes | memoryview) -> Iterator[tuple[int, int, bytes]]:
    """(line number, offset, bytes) of each non-blank line. Only b"\\n" ends a line: texts hold U+2028 and the like."""
    offset = len(BOM) if content[: len(BOM)] == BOM else 0
    ends = chain((match.start() for match in NEWLINE.finditer(content, offset)), [len(content)])
    for number, end in enumerate(ends, start=1):
        data = bytes(content[offset:end])
        if data and not data.isspace():
            yield number, offset, data
        offset = end + 1


def number_of_lines(content: bytes | memoryview) -> int:
    """How many lines are not blank, in little memory whatever their length."""
    releaser, number, has_text = PageReleaser(content), 0, False
    for at in range(len(BOM) if content[: len(BOM)] == BOM else 0, len(content), CHUNK):
        releaser.release_to(at)
        first, *others = bytes(content[at : at + CHUNK]).split(b"\n")
        has_text = has_text or bool(first.strip())
        for part in others:
            number += has_text
            has_text = bool(part.strip())
    return number + has_text


def escape_surrogates(data: bytes) -> bytes:
    """Lone surrogate escapes become their six characters, so that every parser reads them and nothing is lost."""
    if SURROGATE_ESCAPE.search(data) is None:
        return data

    def keep_pairs(match: re.Match[bytes]) -> bytes:
        return match[0] if match[3] else match[1] + rb"\\u" + match[2]

    high = SURROGATE.sub(keep_pairs, data)
    low = LOW_SURROGATE.sub(lambda m: m[0] if is_second_half(high, m) else m[1] + rb"\\u" + m[2], high)
    return data if low == data else low


def is_second_half(data: bytes, match: re.Match[bytes]) -> bool:
    """True if a low surrogate escape stands right after a high one."""
    before = data[max(0, match.start() - 6) : match.start()]
    return not match[1] and re.fullmatch(rb"\\u[dD][89abAB][0-9a-fA-F]{2}", before) is not None


def escape_invalid_bytes(data: bytes) -> bytes:
    """Bytes that are not UTF-8 become their four characters \\xNN inside the JSON text (as an escaped backslash)."""
    text = data.decode("utf-8", "surrogateescape")
    return ESCAPED_BYTE.sub(lambda m: f"\\\\x{ord(m[0]) - 0xDC00:02x}", text).encode("utf-8")


def read_lines(
    content: bytes | memoryview,
    decode: Callable[[bytes], Any],
    quick: msgspec.json.Decoder[Any] | None = None,
    is_clean_utf8: bool = False,
) -> RawFile:
    """Split a file into JSON texts, each decoded by `decode` (ValueError or RecursionError: it is not valid JSON).

    Two objects on one line are two records; a broken last line is a torn one (the writer was killed), of which the
    whole records at its beginning are kept; a broken line before it makes the file unusable, because a step may be lost
    with it. `quick` decodes as `decode` does, and may say less about what it refuses. `is_clean_utf8`: as of
    utf8_check.are_clean_utf8().
    """
    if is_clean_utf8 and quick and isinstance(content, bytes) and (lines := clean_lines(content, quick)) is not None:
        return RawFile(lines)
    if isinstance(content, bytes) and (lines := plain_lines(content, quick.decode if quick else decode)) is not None:
        return RawFile(lines)
    raw, releaser = RawFile(), PageReleaser(content)
    for number, offset, data in pieces(content):
        releaser.release_to(offset)
        valid = is_utf8(data)
        if valid and SURROGATE_ESCAPE.search(data) is None:
            try:
                raw.lines.append(RawLine(number, offset, len(data), False, decode(data)))
                continue
            except (ValueError, RecursionError):
                pass  # below, with a reason
        faults: list[Fault] = []
        texts = texts_of_line(number, offset, data, decode, valid, faults)
        broken = [fault for fault in faults if fault.reason in FATAL]
        torn = broken and broken[0].reason == "broken_json" and is_last(content, offset + len(data))
        if torn and (raw.lines or texts):
            end = texts[-1].offset + texts[-1].length if texts else offset
            raw.torn = True
            raw.torn_length = offset + len(data) - end
            after = f"; what is whole before its break is read ({len(texts)})" if texts else ""
            raw.warnings.append(Fault("torn_last_line", number, f"line {number}: the last line is incomplete{after}"))
        elif broken:
            raw.fatal = broken[0]
            return raw
        raw.warnings.extend(fault for fault in faults if fault.reason not in FATAL)
        raw.lines.extend(texts)
    return raw


def clean_lines(content: bytes, decoder: msgspec.json.Decoder[Any]) -> list[RawLine] | None:
    """plain_lines() of a clean file, in two thirds of the time: its bytes are not cut into lines. Null also where a
    line does not begin and end as an object does."""
    ends = ends_of_objects(content)
    try:
        values = decoder.decode_lines(content) if ends else []
    except (ValueError, RecursionError):
        return None
    if ends is None or len(values) != len(ends):
        return None
    starts = [0, *[end + 1 for end in ends[:-1]]]
    return list(map(RawLine, count(1), starts, map(sub, ends, starts), repeat(False), values))


def ends_of_objects(content: bytes) -> list[int] | None:
    """Where each line ends; None if one does not begin with { or end with }. Where all do, no object is on several
    lines: none goes on with a { where it may be interrupted after a }, and no text has a newline."""
    ends, start, size = [], 0, len(content)
    while start < size:
        end = content.find(b"\n", start)
        end = size if end < 0 else end
        if content[start] != OPENING or content[end - 1] != CLOSING:
            return None
        ends.append(end)
        start = end + 1
    return ends


def plain_lines(content: bytes, decode: Callable[[bytes], Any]) -> list[RawLine] | None:
    """The records of a file in which every line is one, as nearly every file is; None for any other, which is then
    looked at line by line."""
    if SURROGATE_ESCAPE.search(content) is not None:
        return None
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    try:
        values = list(map(decode, lines))
    except (ValueError, RecursionError):
        return None
    if not all(map(is_utf8, lines)):
        return None
    lengths = list(map(len, lines))
    offsets = accumulate(lengths, lambda offset, length: offset + length + 1, initial=0)
    return list(map(RawLine, count(1), offsets, lengths, repeat(False), values))


def is_last(content: bytes | memoryview, end: int) -> bool:
    """True if nothing but blanks follows a line that ends here."""
    return not bytes(content[end:]).strip()


def is_too_deep(data: bytes) -> bool:
    """True for a line that the parser gives up for its depth, and that was not cut short."""
    text = data.decode("utf-8", "surrogateescape").strip(BLANKS)
    try:
        DECODER.decode(text)
    except RecursionError:
        return is_closed(text)
    except ValueError:
        return False
    return False


def is_closed(text: str) -> bool:
    """True if as many brackets are closed as opened outside strings. Needs no parser, so depth does not matter."""
    bare = STRING.sub("", text)
    return all(bare.count(opened) == bare.count(closed) for opened, closed in ("[]", "{}"))


def is_utf8(content: bytes) -> bool:
    """True if the bytes are UTF-8."""
    if content.isascii():
        return True
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def texts_of_line(
    number: int, offset: int, data: bytes, decode: Callable[[bytes], Any], valid: bool, faults: list[Fault]
) -> list[RawLine]:
    """The JSON texts on one line (nearly always one)."""
    if not valid:
        faults.append(Fault("invalid_utf8", number, f"line {number}: bytes that are not UTF-8; kept as \\xNN"))
    clean = escape_surrogates(data) if valid else readable(data)
    try:
        return [RawLine(number, offset, len(data), clean is not data, decode(clean))]
    except UnexpectedShape as error:
        faults.append(Fault("unexpected_shape", number, f"line {number}: {error}"))
        return []
    except (ValueError, RecursionError):
        return split_objects(RawLine(number, offset, len(data), clean is not data, None), data, decode, faults)


def readable(data: bytes) -> bytes:
    """JSON text that every parser reads: invalid bytes and lone surrogates written out; unchanged without them."""
    return escape_surrogates(data if is_utf8(data) else escape_invalid_bytes(data))


def split_objects(row: RawLine, data: bytes, decode: Callable[[bytes], Any], faults: list[Fault]) -> list[RawLine]:
    """Rows with their own offsets where objects are chained on one line; a fault where it is not JSON, with the rows of
    what is before that."""
    text = data.decode("utf-8", "surrogateescape").rstrip(BLANKS)
    position, offset = 0, row.offset
    objects: list[RawLine] = []
    while position < len(text):
        start = position
        while text[start] in BLANKS:
            start += 1
        try:
            _, end = DECODER.raw_decode(text, start)
            part = text[start:end].encode("utf-8", "surrogateescape")
            clean = readable(part)
            value = decode(clean)
        except (ValueError, RecursionError) as error:
            if isinstance(error, RecursionError) and is_closed(text[start:]):
                faults.append(Fault("nested_too_deeply", row.line, f"line {row.line}: {TOO_DEEP}"))
                return []
            why = why_not_json(text, error, start)
            faults.append(Fault("broken_json", row.line, f"line {row.line}: not JSON: {why}"))
            return objects
        offset += start - position  # blanks are one byte each
        objects.append(RawLine(row.line, offset, len(part), clean is not part, value))
        position, offset = end, offset + len(part)
    faults.append(
        Fault("several_objects_on_a_line", row.line, f"line {row.line}: {len(objects)} JSON objects on a line")
    )
    return objects
