"""An aec-bench trajectory cut between two whole lines: the file does not say so, what lies beside it may."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from normalizing import Row, normalized_folder

from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.aec_bench.trajectory import AecTrajectory
from openclawbench.sources.aec_bench.truncation import last_reply
from openclawbench.sources.base import ParsedSession

RULES = NormalizeRules.load()
SHARED = Path(os.environ.get("OPENCLAWBENCH_SHARED", Path(__file__).parents[2].parent / "shared"))
SAMPLES = SHARED / "seed_samples" / "aec-bench" / "samples"
LINES: list[Row] = [
    {"version": 1, "format": "aec-bench-trajectory", "timestamp": "2026-01-02T03:04:00Z"},
    {"step": 0, "role": "user", "content": "look"},
    {"step": 1, "role": "assistant", "content": "Looking."},
    {"step": 1, "role": "tool_call", "tool_name": "bash", "command": "ls"},
    {"step": 1, "role": "tool_result", "tool_name": "bash", "stdout": "a", "stderr": "", "exit_code": 0},
    {"step": 2, "role": "tool_call", "tool_name": "bash", "command": "cat a"},
    {"step": 2, "role": "tool_result", "tool_name": "bash", "stdout": "b", "stderr": "", "exit_code": 0},
    {"step": 3, "role": "assistant", "content": " It says b. "},
]
TALK: list[Row] = [
    {"role": "user", "content": "look", "event": "message"},
    {"role": "assistant", "content": "It says b.", "event": "message"},
]


def jsonl(lines: list[Row]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def parsed(lines: int, **context: Any) -> ParsedSession:
    """The first lines of the trajectory, with a context."""
    return AecTrajectory().parse(jsonl(LINES[:lines]), context, RULES)


def warnings_of(session: ParsedSession) -> list[tuple[str, int]]:
    """Reasons of its warnings, with their lines."""
    return [(fault.reason, fault.line) for fault in session.warnings]


@pytest.mark.parametrize(("lines", "missing"), [(8, False), (7, True), (5, True), (2, True), (1, True)])
def test_more_turns_than_the_file_has(lines: int, missing: bool) -> None:
    session = parsed(lines, agent_result={"turns_used": 3, "provider_calls": 9})
    assert warnings_of(session) == [("steps_missing", lines)] * missing
    assert session.truncated == missing


@pytest.mark.parametrize(("lines", "missing"), [(8, False), (7, True), (3, True)])
def test_the_conversation_ends_with_words_that_are_not_there(lines: int, missing: bool) -> None:
    session = parsed(lines, **last_reply(jsonl(TALK).decode()))
    assert warnings_of(session) == [("steps_missing", lines)] * missing
    assert not session.truncated


@pytest.mark.parametrize(
    "context", [{"agent_result": {"provider_calls": 3}}, {"trial": {"trial_id": "t", "cost": {"model_calls": 3}}}]
)
def test_calls_to_a_model_may_be_repeated_ones(context: Row) -> None:
    assert warnings_of(parsed(8, **context)) == []
    session = parsed(7, **context)
    assert warnings_of(session) == [("steps_missing", 7)]
    assert not session.truncated


def test_fewer_turns_than_the_file_has_say_nothing() -> None:
    assert warnings_of(parsed(8, agent_result={"turns_used": 1, "provider_calls": 9})) == []
    assert warnings_of(parsed(8, agent_result={"turns_used": "many"})) == []


def test_steps_that_are_numbered_anew_count_again() -> None:
    content = jsonl(LINES + LINES[2:])
    session = AecTrajectory().parse(content, {"agent_result": {"turns_used": 6}}, RULES)
    assert warnings_of(session) == []


def test_a_torn_file_is_told_once() -> None:
    session = AecTrajectory().parse(jsonl(LINES[:7]) + b'{"st', {"agent_result": {"turns_used": 3}}, RULES)
    assert warnings_of(session) == [("torn_last_line", 8)]


@pytest.mark.parametrize("text", [None, "", "no json", "[]", jsonl(TALK[:1]).decode(), TALK[0], {"role": "assistant"}])
def test_a_conversation_in_which_the_agent_says_nothing(text: Any) -> None:
    assert last_reply(text) == {}


def test_what_lies_beside_is_found(tmp_path: Path) -> None:
    runs: list[tuple[str, int, dict[str, bytes]]] = [
        ("counted", 7, {"agent-result.json": json.dumps({"status": "completed", "turns_used": 3}).encode()}),
        ("said", 7, {"conversation.jsonl": jsonl(TALK)}),
        ("whole", 8, {"conversation.jsonl": jsonl(TALK)}),
        ("alone", 7, {}),
    ]
    for second, (name, lines, beside) in enumerate(runs):
        folder = tmp_path / "raw" / "m" / name
        folder.mkdir(parents=True)
        head = [LINES[0] | {"timestamp": f"2026-01-02T03:04:0{second}Z"}, *LINES[1:lines]]
        for file, content in {"trajectory.jsonl": jsonl(head), **beside}.items():
            (folder / file).write_bytes(content)
    _, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    files = {row["path"].split("/")[1]: row for row in result.files if row["disposition"] == "trajectory"}
    assert {name: [warning["name"] for warning in row["warnings"]] for name, row in files.items()} == {
        "counted": ["steps_missing"],
        "said": ["steps_missing"],
        "whole": [],
        "alone": [],
    }


@pytest.mark.parametrize(
    ("name", "missing"), [("2101b866", 0), ("3e1e91a7", 0), ("5d562cf1", 0), ("b8cb05b9", 0), ("eeeded8b", 1)]
)
def test_real_runs(name: str, missing: int) -> None:
    if not SAMPLES.is_dir():
        pytest.skip(f"{SAMPLES}: the seed samples are not there")
    folder = next(SAMPLES.glob(f"{name}*"))
    talk = (folder / "conversation.jsonl").read_text(encoding="utf-8")
    context = {"agent_result": json.loads((folder / "agent-result.json").read_text(encoding="utf-8"))}
    lines = (folder / "trajectory.jsonl").read_bytes().splitlines(keepends=True)
    source = AecTrajectory()
    assert len(warnings_of(source.parse(b"".join(lines), context | last_reply(talk), RULES))) == missing
    for cut in range(1, len(lines)):
        assert warnings_of(source.parse(b"".join(lines[:cut]), context | last_reply(talk), RULES)) == [
            ("steps_missing", cut)
        ]
