"""What lies beside sessions: what was taken of it is said, and its records count the same however it is written."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from normalizing import SAMPLES, check_accounting, normalized_folder, read
from rich.console import Console

from openclawbench.cli.commands.doctor import print_examined
from openclawbench.construct.normalize.messages import FORMATS_READ
from openclawbench.inspect.doctor import examine
from openclawbench.intake.intake import take_in
from openclawbench.records.session import SourceFile
from openclawbench.storage.data_folder import DataFolder

HEADER = {"type": "session", "version": 3, "id": "s-1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w"}
SAY = {"role": "user", "content": "q"}
RECORD = {"type": "message", "id": "1", "parentId": None, "timestamp": HEADER["timestamp"], "message": SAY}
SESSION = f"{json.dumps(HEADER)}\n{json.dumps(RECORD)}\n"
INDEX = {"agent:main": {"sessionId": "s-1", "status": "done"}, "other": {"sessionId": "s-2"}}
PROMPT = {"traceSchema": "openclaw-trajectory", "type": "prompt.submitted", "data": {"prompt": "q"}}
TRIAL = {"trial_id": "t-1", "completeness": "complete", "task": {"task_id": "a-task"}}
AEC = SAMPLES.parent / "golden/cases/mixed-formats/raw/model-aec/beam/trajectory.jsonl"
ROW = {"record_type": "result", "run_id": "r", "provider": "p", "model": "m", "thinking_level": None}


def files_in(tmp_path: Path, files: dict[str, str]) -> dict[str, dict[str, Any]]:
    """What became of each file, by its path below the source model."""
    for name, text in files.items():
        path = tmp_path / "raw" / "m" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    intake, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    check_accounting(result, sum(len(entries) for entries in intake.entries.values()))
    return {row["path"].removeprefix("m/"): row for row in result.files}


def test_what_gave_context_says_what_it_gave(tmp_path: Path) -> None:
    files = files_in(
        tmp_path,
        {
            "a/s-1.jsonl": SESSION,
            "a/sessions.json": json.dumps(INDEX),
            "a/s-1.trajectory.jsonl": json.dumps(PROMPT) + "\n",
            "b/s-1.jsonl": SESSION.replace("s-1", "s-3"),
            "b/sessions.json": json.dumps(INDEX),
            "b/notes.json": "{}",
        },
    )
    reasons = {name: row["reason"] for name, row in files.items() if row["disposition"] == "sidecar"}
    assert reasons == {
        "a/sessions.json": "used_as_context",
        "a/s-1.trajectory.jsonl": "used_as_context",
        "b/sessions.json": "no_session",
        "b/notes.json": "no_session",
    }
    assert files["a/sessions.json"]["message"] == "m/a/sessions.json: lies beside sessions and gave them: run context."
    message = files["a/s-1.trajectory.jsonl"]["message"]
    assert "(openclaw_trajectory) and gave them: the first prompt." in message
    assert "is not one" in files["b/sessions.json"]["message"]


def test_a_trial_record_says_what_it_gave(tmp_path: Path) -> None:
    files = files_in(tmp_path, {"t-1/trajectory.jsonl": AEC.read_text(), "t-1/trial.json": json.dumps(TRIAL)})
    assert files["t-1/trajectory.jsonl"]["disposition"] == "trajectory"
    assert files["t-1/trial.json"]["reason"] == "used_as_context"
    assert "(aec_trial_v1) and gave them: task, attempt" in files["t-1/trial.json"]["message"]


def test_what_was_taken_is_known_without_reading_it_again(tmp_path: Path) -> None:
    """The scan keeps it: a second run with nothing changed gives the same rows."""
    files_in(tmp_path, {"s-1.jsonl": SESSION, "sessions.json": json.dumps(INDEX)})
    keys = []
    for _ in range(2):
        intake = take_in(DataFolder(tmp_path / "data"), tmp_path / "raw", None, save=True)
        keys.append({shard: intake.key(SourceFile, shard) for shard in intake.entries})
        assert any("run context" in (raw_entry.context or "") for raw_entry in intake.entries_at("m/sessions.json"))
    assert keys[0] == keys[1]


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize(
    ("name", "document", "count"),
    [
        ("m/sessions.json", INDEX, 1),
        ("m/config.json", {"agents": [1, 2], "models": {"a": 1}}, 1),
        ("m/s.jsonl.lock", {"pid": 1, "createdAt": "2026"}, 1),
        ("m/run_1.json", {"identity": {"runner_type": "openclaw", "run_id": "r"}, "trace": "not a list"}, 1),
        ("m/strange.jsonl", {"what": {"is": ["this"]}}, 1),
    ],
)
def test_a_document_is_one_record_however_it_is_written(name: str, document: Any, count: int, indent: int) -> None:
    session_file = read(json.dumps(document, indent=indent).encode() + b"\n", name)
    assert (session_file.disposition in ("sidecar", "quarantined"), session_file.records_in) == (True, count)


@pytest.mark.parametrize(
    ("name", "content", "count"),
    [
        ("m/notes.txt", b"one\ntwo\nthree\n", 1),
        ("m/film.mp4", bytes(range(256)) * 9, 1),
        ("m/nothing.txt", b"", 0),
        ("m/events.ndjson", b'{"a": 1}\n\n{"a": 2}\n', 2),
        ("m/s.trajectory.jsonl", json.dumps(PROMPT).encode() + b"\n" + json.dumps(PROMPT).encode(), 2),
        ("m/diary.jsonl", b"Dear diary,\nall is well\n", 2),
    ],
)
def test_a_file_of_lines_counts_its_lines_and_any_other_is_one(name: str, content: bytes, count: int) -> None:
    assert read(content, name).records_in == count


@pytest.mark.parametrize("content", [b"", b'{"type":"x"}\n', b"torn"])
def test_an_acp_stream_lies_beside_a_session(content: bytes) -> None:
    session_file = read(content, "m/s-1.acp-stream.jsonl")
    assert (session_file.disposition, session_file.reason) == ("sidecar", "openclaw_acp_stream")
    assert read(SESSION.encode(), "m/s-1.acp-stream.jsonl").disposition == "trajectory", "what it holds goes first"


def test_all_formats_are_named() -> None:
    known = "openclaw, openclaw_sqlite, run_artifact, llm_benchmark, aec_trajectory, atif, mini_swe_agent, message_list"
    assert known == FORMATS_READ


def test_doctor_counts_files_and_what_is_in_them(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    rows = [ROW | {"prompt_id": entry} for entry in "ab"]
    (tmp_path / "m" / "results.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "m" / "s-1.jsonl").write_text(SESSION)
    text = io.StringIO()
    print_examined(examine(tmp_path), Console(file=text, width=200))
    assert "\n2 files, 3 sessions and other parts in them: " in text.getvalue()
