"""Ways to damage a session: its bytes, its JSON values, its lines. Each takes a seeded generator, gives new bytes."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

Mutation = Callable[[bytes, Random], bytes]

# What stands in a file where a value was: JSON that is odd, and what is none.
ODD_VALUES = (
    b"null",
    b"true",
    b"[]",
    b"{}",
    b'""',
    b"0",
    b"-0.0",
    b"1e999",
    b"-1e-999",
    b"NaN",
    b"Infinity",
    b"9" * 40,
    b"-" + b"9" * 400,
    b"0." + b"3" * 400,
    b"18446744073709551616",
    b'"\\ud83d"',
    b'"\\udc00\\ud800"',
    b'"\\u0000"',
    b'"\\\\ud83d \\\\\\ud83d"',
    b'"\xed\xa0\xbd"',
    b'"\xf0\x9f"',
    b'"\xe2\x80\xa8"',
    b'"a\x00b"',
    b'"[openclaw] missing tool result in session history"',
    b"[" * 20_000,
    *(b"[" * depth + b"]" * depth for depth in (200, 950, 1_100, 3_000)),
    *(b'{"a":' * depth + b"1" + b"}" * depth for depth in (200, 950, 1_100, 20_000)),
    b'["text",7,null,{"type":"text","text":7}]',
    b'[{"type":"toolCall"}]',
    b'[{"type":"toolCall","id":1,"name":[],"arguments":"x"}]',
    b'[{"type":"image","data":7}]',
    b'"assistant"',
    b'"toolResult"',
    b'"1970-13-45T99:99:99Z"',
    b'{"total":"x","cost":{"total":1e300}}',
)
INSERTED = (
    b"\x00",
    b"\xff",
    b"\n",
    b"\r\n",
    b"\xe2\x80\xa8",
    b"\xef\xbb\xbf",
    b"\\ud83d",
    b"\\udc4d",
    b"{}",
    b"[",
    b"}",
    b'"',
    b"\\",
    b",",
    b"\x1b[2J",
    b'{"type":"session","id":"other","timestamp":"2026-01-01T00:00:00Z"}',
)


def flip_bits(content: bytes, random: Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 8, 64))):
        damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
    return bytes(damaged)


def insert(content: bytes, random: Random) -> bytes:
    place = random.randrange(len(content) + 1)
    return content[:place] + random.choice(INSERTED) * random.choice((1, 1, 1, 50)) + content[place:]


def remove(content: bytes, random: Random) -> bytes:
    start = random.randrange(len(content))
    return content[:start] + content[start + random.choice((1, 2, 10, 100, 1000)) :]


def repeat(content: bytes, random: Random) -> bytes:
    start, end = sorted(random.randrange(len(content) + 1) for _ in range(2))
    return content[:end] + content[start:end] * random.choice((1, 1, 3)) + content[end:]


def cut(content: bytes, random: Random) -> bytes:
    return content[: random.randrange(len(content) + 1)]


def line_ends(content: bytes, random: Random) -> bytes:
    return content.replace(b"\n", random.choice((b"\r\n", b"\r", b"\n\n", b"\xe2\x80\xa8", b"", b" \n", b"\n\x00\n")))


def byte_order_mark(content: bytes, random: Random) -> bytes:
    return random.choice((b"\xef\xbb\xbf", b"\xef\xbb\xbf\xef\xbb\xbf", b"\xff\xfe", b"\n\n", b"\x00")) + content


def lines(content: bytes, random: Random) -> bytes:
    """Lines swapped, doubled, dropped or shuffled."""
    rows = content.split(b"\n")
    entry, other = random.randrange(len(rows)), random.randrange(len(rows))
    match random.randrange(4):
        case 0:
            rows[entry], rows[other] = rows[other], rows[entry]
        case 1:
            rows.insert(other, rows[entry])
        case 2:
            del rows[entry]
        case _:
            tail = rows[1:]
            random.shuffle(tail)
            rows[1:] = tail
    return b"\n".join(rows)


def values(content: bytes, random: Random) -> bytes:
    """A value of a record changed; what an earlier change made unreadable or too deep gets bytes inserted."""
    try:
        return other_value(content, random)
    except (ValueError, RecursionError):
        return insert(content, random)


def other_value(content: bytes, random: Random) -> bytes:
    """A value of a record replaced, dropped, moved or doubled, somewhere in its tree."""
    rows = content.split(b"\n")
    index = random.randrange(len(rows))
    try:
        record = json.loads(rows[index])
    except (ValueError, RecursionError):
        record, rows, index = json.loads(content), [content], 0
    places = list(paths(record))
    if not places:
        return insert(content, random)
    holder, key = random.choice(places)
    marker = "\ue000here\ue000"
    match random.randrange(5):
        case 0:
            del holder[key]
        case 1:
            other, name = random.choice(places)
            holder[key] = json.loads(json.dumps(other[name])) if name_in(other, name) else None
        case 2 if isinstance(key, str):
            text = json.dumps(record)
            doubled = f"{json.dumps(key)}: "
            place = text.find(doubled)
            before, after = text[:place] + doubled, f", {text[place:]}"
            rows[index] = before.encode() + random.choice(ODD_VALUES) + after.encode()
            return b"\n".join(rows)
        case _:
            holder[key] = marker
    dumped = json.dumps(record, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
    for written in (json.dumps(marker).encode(), json.dumps(marker, ensure_ascii=False).encode()):
        dumped = dumped.replace(written, random.choice(ODD_VALUES))
    rows[index] = dumped
    return b"\n".join(rows)


def name_in(holder: Any, name: Any) -> bool:
    return name in holder if isinstance(holder, dict) else name < len(holder)


def paths(value: Any) -> list[tuple[Any, Any]]:
    """(object or list, key) of every value inside a value."""
    result: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        keys = holder.keys() if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            result.append((holder, key))
            waiting.append(holder[key])
    return result


BYTES: tuple[Mutation, ...] = (flip_bits, insert, remove, repeat, cut, line_ends, byte_order_mark)
MUTATIONS: tuple[Mutation, ...] = (*BYTES, lines, values, values, values, values, values)


def mutant(content: bytes, random: Random, mutations: tuple[Mutation, ...] = MUTATIONS) -> bytes:
    """The content damaged in one to three ways."""
    for _ in range(random.choice((1, 1, 2, 3))):
        content = random.choice(mutations)(content, random) if content else content
    return content
