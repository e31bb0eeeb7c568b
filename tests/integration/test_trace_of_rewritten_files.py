"""What a program took out of a file, and what it wrote into a second one, is still reached byte for byte."""

import json
from pathlib import Path
from typing import Any

import pytest

from openclawbench.api import TrajectoryView, open_data, run

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-05-01T00:00:00.000Z", "cwd": "/w"}
POLL = "[OpenClaw heartbeat poll]"
Row = dict[str, Any]


def entry(name: str, parent: str | None, second: int, role: str, text: str) -> Row:
    message = {"role": role, "content": [{"type": "text", "text": text}], "stopReason": "stop"}
    time = f"2026-05-01T00:00:{second:02d}.000Z"
    return {"type": "message", "id": name, "parentId": parent, "timestamp": time, "message": message}


START = [HEADER, entry("a", None, 1, "user", "Hello"), entry("b", "a", 2, "assistant", "Hello, you.")]
POLLED = [*START, entry("c", "b", 3, "user", POLL)]
REMOVED = entry("d", "c", 4, "assistant", "Nothing new.")
LAST = entry("f", "e", 6, "assistant", "All is well.")


def text(rows: list[Row], end: str = "\n") -> str:
    return "\n".join(map(json.dumps, rows)) + end


def write(folder: Path, **files: str) -> Path:
    """A data folder with these files of one session."""
    raw = folder / "raw" / "m"
    raw.mkdir(parents=True)
    names = {"main": "s.jsonl", "backup": "s.jsonl.bak-7-178", "archive": "s.jsonl.reset.2026-05-01T00-00-05.000Z"}
    for name, content in files.items():
        (raw / names[name]).write_text(content, encoding="utf-8")
    return folder


def only(folder: Path) -> TrajectoryView:
    """The only trajectory of a data folder."""
    data = open_data(folder)
    (name,) = data.trajectories()["trajectory_id"]
    return data.trajectory(name)


def test_what_was_taken_out_is_read_from_the_backup(tmp_path: Path) -> None:
    main = text([*POLLED, entry("e", "c", 5, "user", POLL), LAST])
    folder = write(tmp_path, main=main, backup=text([*POLLED, REMOVED]))
    run(folder, to="normalize")
    trajectory = only(folder)
    (record,) = trajectory.removed()
    assert (record.step_id, record.source_file, record.line) == (None, "m/s.jsonl.bak-7-178", 5)
    assert json.loads(record.content) == REMOVED


@pytest.mark.parametrize("end", ["\n", ""], ids=["a last line feed", "none"])
def test_a_reply_in_a_file_without_a_header_is_the_end_of_the_archived_one(tmp_path: Path, end: str) -> None:
    late = entry("z", "b", 9, "assistant", "And a late word.")
    folder = write(tmp_path, archive=text(START, end), main=text([late]))
    run(folder, to="normalize")
    trajectory = only(folder)
    assert trajectory.record.num_steps == 2
    records = trajectory.raw()
    assert [json.loads(record.content)["id"] for record in records] == ["b", "z"]
    assert (records[1].source_file, records[1].line, records[1].offset) == ("m/s.jsonl", 1, 0)


def test_a_file_without_a_header_whose_parent_is_elsewhere_is_still_told(tmp_path: Path) -> None:
    late = entry("z", "elsewhere", 9, "assistant", "And a late word.")
    folder = write(tmp_path, archive=text(START), main=text([late]))
    run(folder, to="normalize")
    trajectory = only(folder)
    assert trajectory.record.num_steps == 1
