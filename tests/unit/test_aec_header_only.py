"""Runs of which the trajectory has nothing but its header: the conversation beside it is all there is of them."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from normalizing import Normalized, check_accounting, normalized_folder

HEADER = {"version": 1, "format": "aec-bench-trajectory", "timestamp": "2026-01-02T03:04:00Z"}
LATER = HEADER | {"timestamp": "2026-01-03T03:04:00Z"}
SAID = [
    {"role": "system", "content": "s", "event": "message"},
    {"role": "user", "content": "do it", "event": "message"},
]
ANSWER = {"role": "assistant", "content": "done", "event": "message"}
STEPS = [{"step": 0, "role": "user", "content": "do it"}, {"step": 1, "role": "assistant", "content": "done"}]
RESULT = {"adapter_name": "a", "status": "failed", "failure_kind": "token_budget_reached", "turns_used": 2}
SAMPLES = Path(os.environ.get("OPENCLAWBENCH_SHARED", Path(__file__).parents[2].parent / "shared")) / "seed_samples"


def jsonl(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def read(tmp_path: Path, files: dict[str, bytes]) -> Normalized:
    """Files below a folder of one source model, normalized; the accounts hold."""
    for name, content in files.items():
        path = tmp_path / "raw" / "m" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    intake, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    check_accounting(result, sum(len(entries) for entries in intake.entries.values()))
    return result


def fates(normalized: Normalized) -> dict[str, tuple[str, str | None]]:
    return {row["path"].removeprefix("m/"): (row["disposition"], row["reason"]) for row in normalized.files}


def test_the_conversation_stands_in_for_a_header(tmp_path: Path) -> None:
    files = {"a/trajectory.jsonl": jsonl(HEADER), "a/conversation.jsonl": jsonl(*SAID, ANSWER)}
    normalized = read(tmp_path, files)
    assert fates(normalized) == {
        "a/trajectory.jsonl": ("sidecar", "header_only"),
        "a/conversation.jsonl": ("trajectory", None),
    }
    assert [turn["text"] for turn in normalized.turns] == ["do it"]
    assert [step["action_text"] for step in normalized.steps] == ["done"]


def test_runs_of_one_task_that_said_nothing_are_told_apart_by_their_headers(tmp_path: Path) -> None:
    headers = {"a": HEADER, "b": LATER}
    files = {f"{name}/trajectory.jsonl": jsonl(header) for name, header in headers.items()}
    files |= {f"{name}/conversation.jsonl": jsonl(*SAID) for name in headers}
    normalized = read(tmp_path, files | {"a/agent-result.json": json.dumps(RESULT).encode()})
    assert len({row["trajectory_id"] for row in normalized.trajectories}) == 2
    ends = {row["source_file"]: (row["run"]["end"], row["truncated"]) for row in normalized.trajectories}
    assert ends == {"m/a/conversation.jsonl": ("error", True), "m/b/conversation.jsonl": ("unanswered", False)}


@pytest.mark.parametrize(
    "files",
    [
        {"trajectory.jsonl": jsonl(HEADER, *STEPS), "conversation.jsonl": jsonl(*SAID, ANSWER)},
        {"trajectory.jsonl": jsonl(HEADER)},
        {"trajectory.jsonl": jsonl(HEADER), "conversation.jsonl": b'{"notes": 1}\n{}\n'},
    ],
)
def test_any_other_trajectory_stays_one(tmp_path: Path, files: dict[str, bytes]) -> None:
    assert fates(read(tmp_path, files))["trajectory.jsonl"] == ("trajectory", None)


def test_real_runs_that_failed_before_their_first_step(tmp_path: Path) -> None:
    samples = SAMPLES / "aec-bench" / "samples"
    if not samples.is_dir():
        pytest.skip(f"{samples} is not there")
    small = [path.parent for path in samples.glob("*/trajectory.jsonl") if path.stat().st_size < 200]
    assert len(small) == 2
    for folder in small:
        shutil.copytree(folder, tmp_path / "raw" / "m" / folder.name)
    normalized = read(tmp_path, {})
    assert {row["source_file"].rpartition("/")[2] for row in normalized.trajectories} == {"conversation.jsonl"}
    assert len(normalized.trajectories) == 2
    assert {row["run"]["end"] for row in normalized.trajectories} == {"error"}
    assert all(turn["text"] for turn in normalized.turns) and len(normalized.turns) == 2
