"""RunArtifact documents as bytes: places of events, what makes two files one run, what cannot be read."""

import json
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from run_artifact_builders import (
    ADAPTER,
    RULES,
    documented,
    final,
    message,
    parse,
    refusal,
    runner,
    stored,
    turn,
    written,
)

from openclawbench.sources.base import MalformedSession
from openclawbench.sources.identification import decode
from openclawbench.sources.io.json_ranges import array_ranges, object_ranges

DONE = message("assistant", "Done.", "All good.")


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("indent", [None, 2])
def test_pointers_name_the_bytes_of_the_event(indent: int | None, bom: bytes) -> None:
    document = stored(message("user", 'br]ac}ket "quoted" \\ é\u2028'), *turn(1), DONE)
    content = bom + json.dumps(document, indent=indent, ensure_ascii=False).encode()
    session = ADAPTER.parse(content, {}, RULES)
    parts = []
    for raw in (raw for step in session.steps for raw in step["raw"]):
        event = json.loads(content[raw["offset"] : raw["offset"] + raw["length"]])
        assert content.count(b"\n", 0, raw["offset"]) + 1 == raw["line"]
        parts.append((raw["part"], event["sequence"]))
    assert parts == [("narration", 1), ("call", 2), ("result", 3), ("result", 4), ("reply", 5)]


def test_ranges_know_strings_and_nesting() -> None:
    data = b' { "a" : [ 1 , "]\\"}" , {"b":[[],{}]} , -2.5e3,null ] , "tr\\u0061ce":true, "a":[ ]}'
    ranges = object_ranges(data)
    assert {key: data[start:end] for key, (start, end) in ranges.items()} == {"a": b"[ ]", "trace": b"true"}
    at = data.index(b"[")
    result = [data[start:end] for start, end in array_ranges(data, at)]
    assert result == [b"1", b'"]\\"}"', b'{"b":[[],{}]}', b"-2.5e3", b"null"]
    assert (array_ranges(b"[]"), object_ranges(b"{ }")) == ([], {})
    for broken in (b"", b"[1", b'["a', b"[1 2]", b"{", b"[{]", b"3"):
        with pytest.raises(ValueError, match="byte"):
            array_ranges(broken)


def test_surrogates_and_invalid_bytes_are_written_out_and_named() -> None:
    content = written(stored(message("user", "U"), message("assistant", "REPLY"))).replace(
        b"REPLY", b"cut \\ud83d here"
    )
    content = content.replace(b'"U"', b'"bad \xff byte"')
    session = parse(content)
    assert session.steps[0]["action_text"] == "cut \\ud83d here"
    assert session.user_turns[0]["raw_text"] == "bad \\xff byte"
    assert session.escaped_fields == ["user_turns[1].text", "steps[1].action_text"]
    assert [warning.reason for warning in session.warnings] == ["invalid_utf8"]


def test_detect_and_identity() -> None:
    document = stored(DONE)
    assert ADAPTER.detect(document) and ADAPTER.detect(documented())
    for other in (
        None,
        [],
        {"type": "session"},
        document | {"identity": {"run_id": "x"}},
        {"identity": document["identity"]},
    ):
        assert not ADAPTER.detect(other)
    session_id, identity = ADAPTER.identity(document, written(document))
    assert (session_id, identity) == ("run_7", '["run_7", "case_1", "s", "p", null, null]')
    moved = document | {"status": "failed", "trace": []}
    assert ADAPTER.identity(moved, b"")[1] == identity
    assert ADAPTER.identity(document | {"identity": document["identity"] | {"repetition": 2}}, b"")[1] != identity


def test_a_copy_in_another_layout_has_the_same_digests() -> None:
    document = stored(*turn(1), DONE)
    assert parse(document).record_digests == parse(json.dumps(document).encode()).record_digests
    assert parse(document).record_digests != parse(document | {"status": "x"}).record_digests


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "broken_json"),
        (b'{"trace": 3}', "unexpected_shape"),
        (b"[]", "unexpected_shape"),
        (b'{"trace":[]} {}', "broken_json"),
    ],
)
def test_what_cannot_be_read_is_refused(content: bytes, reason: str) -> None:
    assert refusal(content) == reason


def test_a_document_cut_anywhere_is_refused() -> None:
    content = written(stored(*turn(1), DONE))
    for end in range(0, len(content), 7):
        assert refusal(content[:end]) == "broken_json"


JUNK = [None, True, -1, 10**400, "", "x", [], {}, [[]], {"a": 1}, float("nan"), "\x00", [1, {"uri": "../x"}]]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a JSON value."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


@pytest.mark.parametrize("seed", range(150))
def test_a_damaged_document_is_read_with_exact_accounting_or_refused(seed: int) -> None:
    random = Random(seed)
    trace = [
        message("user", "hi"),
        runner("provider_attempt"),
        *turn(1),
        runner("provider_attempt"),
        *turn(2),
        final("x"),
    ]
    document = json.loads(written(stored(*trace)))
    for _ in range(random.randint(1, 5)):
        container, key = random.choice(places(document))
        container[key] = random.choice(JUNK)
    content = bytearray(written(document))
    for _ in range(random.randint(0, 2)):
        content[random.randrange(len(content))] = random.randrange(256)
    first = decode(bytes(content))
    if ADAPTER.detect(first):
        context = ADAPTER.read_context(
            first, "m/run_1.json", {"evaluation:e": first, "session:s": "x", "trace:t": first}
        )
        with suppress(MalformedSession):
            parse(bytes(content), **context)
