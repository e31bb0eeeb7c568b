"""Content blocks of types that nothing knows: counted by type, so many names of so many characters."""

import json
from pathlib import Path
from typing import Any

import pytest
from normalizing import RULES, Row, normalized_rows, raw_row, read

from openclawbench.sources.base import ParsedSession

CASE = Path(__file__).parents[1] / "golden" / "cases" / "unknown-blocks" / "raw" / "model-a"
HEADER: Row = {"type": "session", "id": "s", "timestamp": "2026-01-01T00:00:00.000Z"}


def session_of(*messages: Row) -> ParsedSession:
    """A session of these messages."""
    records = [HEADER, *({"type": "message", "message": message} for message in messages)]
    session = read(b"".join(json.dumps(record).encode() + b"\n" for record in records)).session
    assert session is not None
    return session


def assistant_line(*blocks: Any, stop: str = "stop") -> Row:
    return {"role": "assistant", "content": list(blocks), "stopReason": stop}


def test_they_are_counted_wherever_they_stand() -> None:
    content = (CASE / "never-seen.jsonl").read_bytes()
    (trajectory,) = normalized_rows([raw_row([content], sha256="0" * 64)]).trajectories
    assert trajectory["unknown_blocks"] == [
        {"name": "(no type)", "count": 1},
        {"name": "citation", "count": 1},
        {"name": "file_ref", "count": 1},
        {"name": "hologram", "count": 2},
        {"name": "server_tool_use", "count": 1},
    ]


def test_what_is_read_is_not() -> None:
    session = read((CASE / "other-spelling.jsonl").read_bytes()).session
    assert session is not None
    assert session.unknown_blocks == {}


def test_names_are_bounded_in_length_and_number() -> None:
    limits = RULES.counted_names
    kinds = [f"{number:03d}" + "x" * 1000 for number in range(limits.names + 5)]
    session = session_of(assistant_line(*({"type": kind} for kind in kinds)), assistant_line({"type": kinds[0]}))
    assert set(session.unknown_blocks) == {
        *(kind[: limits.characters] for kind in kinds[: limits.names]),
        limits.others,
    }
    assert session.unknown_blocks[limits.others] == 5
    assert session.unknown_blocks[kinds[0][: limits.characters]] == 2


@pytest.mark.parametrize("stop", ["error", "aborted"])
def test_a_message_that_failed_is_noise_as_any_other(stop: str) -> None:
    session = session_of(assistant_line({"type": "hologram"}, stop=stop))
    assert session.record_counts["runner:no_step"] == 1
    assert session.run["empty_replies"] == 0


def test_a_known_block_with_a_field_of_another_kind_is_still_refused() -> None:
    content = (
        json.dumps(HEADER).encode()
        + b"\n"
        + json.dumps({"type": "message", "message": assistant_line({"type": "text", "text": 7})}).encode()
    )
    assert read(content + b"\n").reason == "unexpected_shape"


@pytest.mark.parametrize(
    ("result", "feedback", "is_error"),
    [
        ({"content": "out"}, "out", None),
        ({"content": [{"type": "text", "text": "out"}], "is_error": False}, "out", False),
        ({"content": {"ok": True}, "is_error": True}, '{"ok": true}', True),
        ({"content": None}, None, None),
        ({"text": "out"}, "out", None),
    ],
)
def test_a_result_block(result: Row, feedback: str | None, is_error: bool | None) -> None:
    call = {"type": "tool_use", "id": "t", "name": "exec", "input": {"command": "ls"}}
    beside = {"type": "text", "text": "beside"}
    block = {"type": "tool_result", "tool_use_id": "t"} | result
    for blocks, reported in (([block], feedback), ([block, beside], "\n".join(filter(None, [feedback, "beside"])))):
        (step,) = session_of(assistant_line(call), {"role": "tool", "content": blocks}).steps
        assert (step["action_text"], step["arguments"]) == ('exec {"command": "ls"}', '{"command": "ls"}')
        assert (step["reflection_text"], step["result_is_error"], step["has_result"]) == (reported, is_error, True)
