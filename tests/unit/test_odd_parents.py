"""Parents that stand behind their records, circles of records, and a last line of which a part is whole."""

import json
from typing import Any

import pytest
from normalizing import normalized_rows, raw_row, read

TIME = "2026-03-01T10:00:00.000Z"
HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": TIME}
CALL = {"type": "toolCall", "id": "a", "name": "exec", "arguments": {"command": "ls"}}


def record(number: int, message: dict[str, Any], parent: int | None) -> dict[str, Any]:
    """A message."""
    parent_id = None if parent is None else str(parent)
    return {"type": "message", "id": str(number), "parentId": parent_id, "timestamp": TIME, "message": message}


def session(first: int | None = None, second: int = 1) -> list[dict[str, Any]]:
    """A question, a call, its result and an answer. `first`, `second`: parents of the first two."""
    text = [{"type": "text", "text": "r"}]
    return [
        record(1, {"role": "user", "content": "q"}, first),
        record(2, {"role": "assistant", "content": [CALL], "stopReason": "toolUse"}, second),
        record(3, {"role": "toolResult", "toolCallId": "a", "toolName": "exec", "content": text}, 2),
        record(4, {"role": "assistant", "content": [{"type": "text", "text": "done"}], "stopReason": "stop"}, 3),
    ]


def written(*records: dict[str, Any]) -> bytes:
    """A session file."""
    return b"\n".join(json.dumps(entry).encode() for entry in (HEADER, *records)) + b"\n"


def warnings_of(content: bytes) -> list[tuple[str, int]]:
    """What is warned of, where; the session has all its steps and the question."""
    actual_session = read(content).session
    assert actual_session is not None
    assert [(step["tool_name_raw"], step["reflection_text"]) for step in actual_session.steps] == [
        ("exec", "r"),
        (None, None),
    ]
    assert [turn["text"] for turn in actual_session.user_turns] == ["q"]
    return [(fault.reason, fault.line) for fault in actual_session.warnings]


def test_a_result_that_stands_before_its_call_is_read_after_it() -> None:
    entry, two, three, four = session()
    assert warnings_of(written(entry, two, three, four)) == []
    assert warnings_of(written(entry, three, two, four)) == [("later_parent", 3)]
    assert warnings_of(written(two, entry, three, four)) == [("later_parent", 2)]
    assert warnings_of(written(entry, two, four, three)) == [("later_parent", 4)]
    assert warnings_of(written(four, three, two, entry)) == [
        ("later_parent", 2),
        ("later_parent", 3),
        ("later_parent", 4),
    ]


@pytest.mark.parametrize(
    ("records", "line"), [(session(first=3), 2), (session(first=1), 2), (session(second=2), 3), (session(second=4), 3)]
)
def test_a_record_that_would_be_its_own_ancestor_is_told_as_that(records: list[dict[str, Any]], line: int) -> None:
    assert warnings_of(written(*records)) == [("circular_record", line)]


def test_a_parent_that_is_nowhere_is_told_as_that() -> None:
    assert warnings_of(written(*session(second=9))) == [("missing_parent", 3)]


def test_whole_records_on_a_torn_last_line_are_read() -> None:
    complete = written(*session()).rstrip(b"\n")
    torn = complete + b' {"type": "message", "mess'
    assert warnings_of(torn) == [("torn_last_line", 5)]
    chained = torn.replace(b"\n", b"", 1)  # the header and the question on one line
    assert warnings_of(chained) == [("several_objects_on_a_line", 1), ("torn_last_line", 4)]
    actual_session = read(b"".join(torn.split(b"\n"))).session
    assert actual_session is not None and actual_session.records_in == 6 and actual_session.truncated


def test_each_warning_has_the_line_of_its_own_first() -> None:
    entry, two, three, four = session()
    content = written(entry, three, two, four).rstrip(b"\n") + b' {"type": "mess'
    (row,) = normalized_rows([raw_row([content])]).files
    assert row["warnings"] == [
        {"name": "later_parent", "count": 1, "line": 3},
        {"name": "torn_last_line", "count": 1, "line": 5},
    ]
    assert row["first_warning_line"] == 3
