"""Who spawned whom, where the parent's session lies there under several names."""

import gzip
import json
from pathlib import Path

import pytest
from normalizing import Row, normalized_folder

KEY = "agent:main:main"


def session(session_id: str, replies: int) -> bytes:
    """A session of so many replies."""
    rows: list[Row] = [{"type": "session", "version": 3, "id": session_id, "timestamp": "2026-01-01T00:00:00Z"}]
    for number in range(replies):
        message = {"role": "assistant", "content": [{"type": "text", "text": f"reply {number}"}], "stopReason": "stop"}
        parent = f"r{number - 1}" if number else None
        rows.append({"type": "message", "id": f"r{number}", "parentId": parent, "message": message})
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def folder(raw: Path, parents: dict[str, bytes]) -> Path:
    """Files of a parent session, a child that the index says it spawned, and the index."""
    (raw / "m").mkdir(parents=True)
    for name, content in parents.items():
        (raw / "m" / name).write_bytes(content)
    (raw / "m" / "child.jsonl").write_bytes(session("child", 1))
    index = {KEY: {"sessionId": "parent"}, "agent:main:subagent:1": {"sessionId": "child", "spawnedBy": KEY}}
    (raw / "m" / "sessions.json").write_text(json.dumps(index), encoding="utf-8")
    return raw


@pytest.mark.parametrize(
    "parents",
    [
        {"a.jsonl": session("parent", 2)},
        {"a.jsonl": session("parent", 2), "b.jsonl": session("parent", 3)},
        {"a.jsonl": session("parent", 3), "b.jsonl": session("parent", 2)},
        {"a.jsonl.bak-1": session("parent", 3), "b.jsonl": session("parent", 3)},
        {"a.jsonl": session("parent", 2), "a.jsonl.gz": gzip.compress(session("parent", 9))},
    ],
    ids=" ".join,
)
def test_the_parent_is_the_trajectory_that_its_copies_make(tmp_path: Path, parents: dict[str, bytes]) -> None:
    _, result = normalized_folder(folder(tmp_path / "raw", parents), tmp_path / "data")
    [child] = [row for row in result.trajectories if row["session_id"] == "child"]
    [parent] = [row for row in result.trajectories if row["session_id"] == "parent"]
    assert child["parent_trajectory_id"] == parent["trajectory_id"]
    assert parent["context"]["session_key"] == KEY


def test_a_parent_whose_name_can_not_be_told_is_not_linked(tmp_path: Path) -> None:
    parents = {"a.jsonl": session("parent", 2), "b.jsonl.gz": gzip.compress(session("parent", 90))}
    _, result = normalized_folder(folder(tmp_path / "raw", parents), tmp_path / "data")
    assert [row["parent_trajectory_id"] for row in result.trajectories] == [None, None]


def test_two_sessions_under_one_key_are_no_parent(tmp_path: Path) -> None:
    raw = folder(tmp_path / "raw", {"a.jsonl": session("parent", 2)})
    (raw / "m" / "other").mkdir()
    (raw / "m" / "other" / "b.jsonl").write_bytes(session("second", 2))
    (raw / "m" / "other" / "sessions.json").write_text(json.dumps({KEY: {"sessionId": "second"}}), encoding="utf-8")
    _, result = normalized_folder(raw, tmp_path / "data")
    assert {row["parent_trajectory_id"] for row in result.trajectories} == {None}
