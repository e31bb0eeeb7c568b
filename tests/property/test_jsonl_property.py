"""The JSONL reader: no bytes make it raise, every record is found again at its offset, no character is lost."""

import json
import re
from itertools import pairwise
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from openclawbench.sources.identification import decode, decode_anything, first_line, identify
from openclawbench.sources.io.jsonl import (
    BOM,
    SURROGATE_ESCAPE,
    RawFile,
    escape_invalid_bytes,
    escape_surrogates,
    is_utf8,
    pieces,
    read_lines,
    readable,
)
from openclawbench.sources.io.utf8_check import are_clean_utf8
from openclawbench.sources.openclaw.records import LINE, decode_line
from openclawbench.tables.bytes_column import bytes_column

ANY_CHARACTER = st.characters(codec=None, exclude_categories=())  # lone surrogates too
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(ANY_CHARACTER, max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab\\\u2028é", max_size=3), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.sampled_from(["type", "id", "text", "\u2028"]), VALUES, max_size=3)
BYTES = st.binary(max_size=60)
FRAGMENTS = st.sampled_from(
    [b"{", b"}", b'{"a":1}', b"\n", b"\r\n", b" ", b'"', b"\\ud83d", b"\\\\ud83d", b"\xff", b"\x00", BOM, b"[" * 2000]
)


def text_of(value: Any) -> bytes:
    """JSON with every non-ASCII character raw, lone surrogates as escapes."""
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[\ud800-\udfff]", lambda m: f"\\u{ord(m[0]):04x}", text).encode()


def again(content: bytes, raw: RawFile) -> list[Any]:
    """Every record decoded once more from the bytes that its pointer names."""
    return [json.loads(readable(content[row.offset : row.offset + row.length])) for row in raw.lines]


@given(st.lists(BYTES | FRAGMENTS, max_size=12).map(b"".join))
@example(b'{"a":1}\n{"a":')
@example(b"\xef\xbb\xbf\xef\xbb\xbf{}")
@example(b'{"id":' + b"[" * 5000)
def test_no_bytes_make_it_raise(content: bytes) -> None:
    for each in (json.loads, decode_line):
        raw = read_lines(content, each)
        assert all(0 <= row.offset <= row.offset + row.length <= len(content) for row in raw.lines)
        if raw.fatal is None:
            assert {row.line for row in raw.lines} | ({0} if raw.torn else set()) or not list(pieces(content))
    assert identify(first_line(content)).identity


@given(st.lists(OBJECTS.map(text_of) | FRAGMENTS | st.just(b"\n"), max_size=12).map(b"".join))
@example(b'{"a":1}\n\n{"a":1}{"b":2}\n')
@example(b'{"id":"\xff"}\n{"unread":"\xff"}')
@example(b'{"message":{"details":"\\ud83d"}}\n')
@example(b'{"type":"a"}{"type":\n"b"}')
@example(b'{"type":"a"}{"data":{\n}}')
@example(b'{"type":"a"}{"type":"b"}\n\n{"type":"c"}')
@example(b'{"type":"a"}\r\n{"type":"b"}\r\n')
@example(b'{"type":"a"}\n{"type":"b"}')
def test_a_file_without_faults_is_read_in_one_go_as_it_would_be_line_by_line(content: bytes) -> None:
    for each, quick in ((json.loads, None), (decode_line, LINE)):
        by_line = read_lines(memoryview(content), each)
        assert read_lines(content, each, quick) == by_line
        if next(are_clean_utf8(bytes_column("content", [content, None]))):
            assert read_lines(content, each, quick, is_clean_utf8=True) == by_line


@given(OBJECTS.map(text_of) | st.lists(FRAGMENTS, max_size=4).map(b"".join) | BYTES)
@example(b'{"a":1e400,"b":NaN}')
@example(b'{"timestamp":' + b"[" * 980 + b"]" * 980 + b"}")
@example(b'{"a":123456789012345678901234567890,"a":0.1}')
def test_the_fast_parser_and_the_patient_one_say_the_same_of_a_first_record(data: bytes) -> None:
    assert repr(decode(data)) == repr(decode_anything(data))


@given(st.lists(OBJECTS, min_size=1, max_size=5), st.booleans(), st.sampled_from([b"\n", b"\r\n", b"\n\n"]))
def test_records_are_found_again_at_their_offsets(objects: list[Any], bom: bool, end: bytes) -> None:
    content = (BOM if bom else b"") + end.join(map(text_of, objects))
    raw = read_lines(content, json.loads)
    assert raw.fatal is None
    assert not raw.torn
    values = [row.value for row in raw.lines]
    assert len(values) == len(objects)
    assert again(content, raw) == values
    for row, wanted in zip(raw.lines, objects, strict=True):
        assert row.escaped == (json.dumps(row.value) != json.dumps(wanted))
    lines = [number for number, _, _ in pieces(content)]
    assert [row.line for row in raw.lines] == lines


@given(st.lists(OBJECTS, min_size=2, max_size=5), st.sampled_from([b"", b" ", b"\t "]))
@example([{"id": "x"}, {"id": "x"}], b"")
@example([{"text": {"id": "x"}}, {"id": "x"}, {"id": "\ud83d"}], b" ")
def test_objects_on_one_line_are_records_of_their_own(objects: list[Any], between: bytes) -> None:
    content = b'{"first":1}\n' + between.join(map(text_of, objects)) + b"\n"
    raw = read_lines(content, json.loads)
    assert raw.fatal is None
    rows = raw.lines[1:]
    assert len(rows) == len(objects)
    assert again(content, raw)[1:] == [row.value for row in rows]
    assert all(entry.offset + entry.length <= other.offset for entry, other in pairwise(rows))
    assert [content[row.offset : row.offset + row.length] for row in rows] == list(map(text_of, objects))
    assert [fault.reason for fault in raw.warnings] == ["several_objects_on_a_line"]


@given(st.lists(OBJECTS, min_size=1, max_size=4), st.data())
def test_a_torn_last_line_is_noted_and_the_rest_is_kept(objects: list[Any], data: st.DataObject) -> None:
    last = b'{"type":"message","id":"torn"}'
    cut = data.draw(st.integers(1, len(last) - 1))
    content = b"\n".join([*map(text_of, objects), last[:cut]])
    raw = read_lines(content, json.loads)
    assert raw.fatal is None
    assert raw.torn
    assert raw.torn_length == cut
    assert len(raw.lines) == len(objects)
    behind = read_lines(content[: len(content) - cut].removesuffix(b"\n") + b" " + last[:cut], json.loads)
    assert behind.fatal is None and behind.torn and len(behind.lines) == len(objects)
    assert (behind.torn_length, behind.warnings[-1].reason) == (cut + 1, "torn_last_line")
    assert behind.warnings[-1].line == len(objects)
    middle = read_lines(content + b'\n{"type":"custom"}', json.loads)
    assert middle.fatal is not None
    assert (middle.fatal.reason, middle.fatal.line) == ("broken_json", len(objects) + 1)


@given(st.text(ANY_CHARACTER, max_size=20))
@example("\ud83d\ud83d\udf0d")
@example("\\ud83d\ud83d")
@example("\udf0d\ud83d\\")
def test_lone_surrogates_become_their_six_characters(text: str) -> None:
    """As Node writes them: pairs stay one character, a backslash of the text stays one."""
    complete_text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    written = re.sub("[\ud800-\udfff]", lambda m: f"\\u{ord(m[0]):04x}", complete_text)
    for encoded in (text_of(text), json.dumps(text).encode()):
        assert json.loads(escape_surrogates(encoded)) == written
        assert escape_surrogates(escape_surrogates(encoded)) == escape_surrogates(encoded)


@given(st.text(st.characters(codec="utf-8"), max_size=20))
def test_text_without_lone_surrogates_is_left_alone(text: str) -> None:
    for encoded in (json.dumps(text).encode(), json.dumps(text, ensure_ascii=False).encode()):
        assert escape_surrogates(encoded) is encoded


@given(st.lists(st.binary(max_size=6) | st.sampled_from([b"caf", "é".encode(), b"\xe9"]), max_size=6).map(b"".join))
def test_invalid_bytes_are_written_out_and_can_be_put_back(data: bytes) -> None:
    clean = escape_invalid_bytes(data)
    assert clean.decode("utf-8") is not None
    if b"\\\\x" not in data:
        back = re.sub(rb"\\\\x([89a-f][0-9a-f])", lambda m: bytes([int(m[1], 16)]), clean)
        assert back == data


@given(st.lists(BYTES | OBJECTS.map(text_of) | st.text(ANY_CHARACTER, max_size=5).map(text_of) | st.none(), min_size=2))
def test_a_file_is_sound_where_every_line_is(contents: list[bytes | None]) -> None:
    all_utf8 = all(content is None or is_utf8(content) for content in contents)
    for content, is_sound in zip(contents, are_clean_utf8(bytes_column("content", contents)), strict=True):
        assert is_sound == (all_utf8 and content is not None and SURROGATE_ESCAPE.search(content) is None)
