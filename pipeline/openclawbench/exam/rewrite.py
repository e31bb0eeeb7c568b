"""Rewrite a recorded session: other names, paths, figures, language, ids and times, the same behaviour.

Works on the bytes of a session file. Every JSON string in it is decoded, recorded values in it are replaced, and it is
encoded as it was; everything else keeps its bytes. So recorded values put back give the recorded bytes.
"""

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
MILLISECONDS = re.compile(rb'("(?:timestamp|\w+At|\w+_at)":|"tool:[\w-]+:)(\d{13})(?=[,}"])')
HEX_ID = re.compile(r"[0-9a-f]{8}")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
HASH = re.compile(r"[\w-]{43}", re.ASCII)  # SHA-256 in the letters of URLs
HASH_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
NAME = re.compile(r"[\w-]{8,}", re.ASCII)  # of which an id is a whole one
WROTE = re.compile(r"Successfully wrote (\d+) bytes to ")


class Rewrite(NamedTuple):
    """What changes in a recorded session. `values`: recorded value -> value."""

    values: Mapping[str, str]
    seed: int | None  # of ids, times and usage; None: those of the recording
    start: datetime | None = None  # of the session; None with a seed: moved by whole days that the seed says


def rewrite_session(recorded: bytes, rewrite: Rewrite) -> bytes:
    """The session with the values of `rewrite`, and new ids, times and usage, in place of the recorded ones.

    Raises ValueError if the session says of a written file another length than the file has: then the recording is
    not of the family that the values are of.
    """
    replaced = replace_strings(recorded, replacer(rewrite.values))
    replaced = correct_lengths(recorded, replaced)
    if rewrite.seed is None:
        return replaced
    source = random.Random(rewrite.seed)
    return renumber(move_times(replaced, source, rewrite.start), source)


def replacer(values: Mapping[str, str]) -> Callable[[str], str]:
    """Replaces recorded values in a text in one pass, longer ones first: no replacement is replaced again."""
    changed = {old: new for old, new in values.items() if old}
    if not changed:
        return lambda text: text
    pattern = re.compile("|".join(map(re.escape, sorted(changed, key=len, reverse=True))))
    return lambda text: pattern.sub(lambda match: changed[match[0]], text)


def replace_strings(lines: bytes, replace: Callable[[str], str]) -> bytes:
    """The same bytes with every JSON string replaced. A string that holds JSON itself (`partialArgs`) is read as such:
    its own strings are replaced."""

    def one_string(match: re.Match[bytes]) -> bytes:
        text = json.loads(match[0])
        new = inner(text, replace)
        return match[0] if new == text else encode_string(new)

    return STRING.sub(one_string, lines)


def inner(text: str, replace: Callable[[str], str]) -> str:
    """A text, or the JSON that it is, with its values replaced."""
    if text.startswith("{") and is_json(text):
        return replace_strings(text.encode(), replace).decode()
    return replace(text)


def is_json(text: str) -> bool:
    """Whether a text is a JSON value."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def encode_string(text: str) -> bytes:
    """A string as JavaScript's JSON.stringify writes it."""
    return json.dumps(text, ensure_ascii=False).encode()


def correct_lengths(recorded: bytes, replaced: bytes) -> bytes:
    """The runtime records the length of a file that it wrote, in bytes or (up to 2026.6) in UTF-16 units. Replace it by
    the length of the new content, in the same unit."""
    lines = replaced.split(b"\n")
    contents: dict[str, tuple[str, str]] = {}  # call id -> recorded and new content
    for number, (old, new) in enumerate(zip(recorded.split(b"\n"), lines, strict=True)):
        before, after = record(old), record(new)
        for call, changed in zip(calls(before), calls(after), strict=True):
            content, other = call["arguments"].get("content"), changed["arguments"].get("content")
            if isinstance(content, str) and isinstance(other, str):
                contents[call["id"]] = content, other
        match = WROTE.search(old.decode())
        written = contents.get(before.get("message", {}).get("toolCallId", ""))
        if match is None or written is None:
            continue
        measure = next(
            (measurement for measurement in (utf8_bytes, utf16_units) if measurement(written[0]) == int(match[1])), None
        )
        if measure is None:
            raise ValueError(
                f"line {number + 1}: says that it wrote {match[1]} bytes, but the call's content has another size"
            )
        old_phrase, new_phrase = (f"Successfully wrote {size} bytes to " for size in map(measure, written))
        lines[number] = new.replace(old_phrase.encode(), new_phrase.encode())
    return b"\n".join(lines)


def utf8_bytes(text: str) -> int:
    """Bytes of a text in UTF-8."""
    return len(text.encode())


def utf16_units(text: str) -> int:
    """What JavaScript calls the length of a text."""
    return len(text.encode("utf-16-le")) // 2


def record(line: bytes) -> dict[str, Any]:
    """The record of a line; empty if the line is."""
    parsed: dict[str, Any] = json.loads(line) if line.strip() else {}
    return parsed


def calls(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tool calls of a message."""
    tool_calls = (block for block in blocks(record) if block.get("type") == "toolCall")
    return [block for block in tool_calls if isinstance(block.get("arguments"), dict)]


def blocks(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The content of a message; none where it is a text."""
    content = record.get("message", {}).get("content")
    return content if isinstance(content, list) else []


def move_times(lines: bytes, source: random.Random, start: datetime | None) -> bytes:
    """Move every time of the runtime (ISO with milliseconds, or milliseconds since 1970) by the same span, and stretch
    gaps by up to half, so that no time reveals a recording."""
    first = ISO.search(lines.decode())
    if first is None:
        return lines
    origin = parse_time(first[0])
    begin = start or origin + timedelta(days=source.randint(-200, 200), seconds=source.randint(0, 40_000))
    stretch = 1 + source.random() / 2

    def moved(time: datetime) -> datetime:
        return begin + (time - origin) * stretch

    def iso(match: re.Match[str]) -> str:
        return moved(parse_time(match[0])).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"

    def milliseconds(match: re.Match[bytes]) -> bytes:
        time = datetime.fromtimestamp(int(match[2]) / 1000, UTC)
        return match[1] + str(round(moved(time).timestamp() * 1000)).encode()

    return MILLISECONDS.sub(milliseconds, ISO.sub(iso, lines.decode()).encode())


def parse_time(text: str) -> datetime:
    """A time as the runtime writes it."""
    return datetime.fromisoformat(text)


def renumber(lines: bytes, source: random.Random) -> bytes:
    """Give new ids to records, calls and responses, and to what refers to them."""
    names: dict[str, str] = {}
    for line in lines.split(b"\n"):
        for name in ids(record(line)):
            if name not in names:
                names[name] = new_id(name, source)
    return NAME.sub(lambda match: names.get(match[0], match[0]), lines.decode()).encode()


def ids(record: Mapping[str, Any]) -> Iterator[str]:
    """Ids that a record gives: its own, its response's, its calls', its run's, and hashes of results."""
    message, data = record.get("message", {}), record.get("data", {})
    own = str(record.get("id", ""))
    if record.get("type") != "session" and (HEX_ID.fullmatch(own) or UUID.fullmatch(own)):
        yield own
    if message.get("responseId"):
        yield message["responseId"]
    if run := UUID.match(message.get("idempotencyKey", "")):
        yield run[0]
    yield from (call["id"] for call in calls(record))
    yield from (json.loads(block["textSignature"])["id"] for block in blocks(record) if "textSignature" in block)
    yield from (result["sourceHash"] for result in data.get("frozenToolResults", []))


def new_id(name: str, source: random.Random) -> str:
    """Another id of the same form: hexadecimal letters and digits are drawn again, the rest stays."""
    if HASH.fullmatch(name):
        return "".join(source.choice(HASH_LETTERS) for _ in name)
    if UUID.fullmatch(name):
        return uuid_of(source.getrandbits(128))
    head, mark, tail = name.rpartition("_" if name.startswith("call") else "-")
    kept, drawn = (f"{head}{mark}", tail) if mark else ("", name)
    return kept + "".join(source.choice("0123456789abcdef") for _ in range(max(8, len(drawn))))


def uuid_of(bits: int) -> str:
    """An id of the form that the runtime gives to sessions."""
    digits = f"{bits:032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
