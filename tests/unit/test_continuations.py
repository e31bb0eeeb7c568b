"""A Harbor trial whose context was summarized: several documents, one trajectory, one pass."""

import json
from pathlib import Path
from typing import Any

import pytest
from normalizing import Normalized, check_accounting, normalized_folder

Row = dict[str, Any]
AGENT = {"name": "terminus-2", "version": "2.0.0", "model_name": "gpt"}
RESULT = {
    "id": "x",
    "task_name": "hello",
    "trial_name": "hello__abc",
    "verifier_result": {"rewards": {"reward": 1.0}},
    "exception_info": None,
}
SUMMARY = "trajectory.summarization-1-summary.json"


def user(text: str, **more: Any) -> Row:
    return {"source": "user", "message": text} | more


def agent(text: str, tokens: int, **more: Any) -> Row:
    return {"source": "agent", "message": text, "metrics": {"prompt_tokens": tokens, "completion_tokens": 1}} | more


def document(*steps: Row, **more: Any) -> Row:
    numbered = [{"step_id": number} | step for number, step in enumerate(steps, start=1)]
    return {"schema_version": "ATIF-v1.7", "session_id": "s", "agent": AGENT, "steps": numbered} | more


COPIED = {"is_copied_context": True}
FIRST = document(
    user("The task"),
    agent("look", 10, observation={"results": [{"content": "a.txt"}]}),
    {
        "source": "system",
        "message": "Performed context summarization.",
        "observation": {"results": [{"subagent_trajectory_ref": [{"trajectory_path": SUMMARY}]}]},
    },
    continued_trajectory_ref="trajectory.cont-1.json",
    final_metrics={"total_prompt_tokens": 10},
)
SECOND = document(
    user("The task", **COPIED),
    agent("a summary", 99, **COPIED),
    agent("write", 20, observation={"results": [{"content": "ok"}]}),
    continued_trajectory_ref="trajectory.cont-2.json",
    final_metrics={"total_prompt_tokens": 35},
)
THIRD = document(user("The task", **COPIED), agent("Done.", 30), final_metrics={"total_prompt_tokens": 75})
HELPER = document(user("Summarize."), agent("A summary", 5), session_id="s-summary")
TRIAL: Row = {
    "agent/trajectory.json": FIRST,
    "agent/trajectory.cont-1.json": SECOND,
    "agent/trajectory.cont-2.json": THIRD,
    f"agent/{SUMMARY}": HELPER,
    "result.json": RESULT,
}


def read(tmp_path: Path, files: Row) -> Normalized:
    for name, value in files.items():
        path = tmp_path / "raw" / "m" / "job" / "hello__abc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=1, ensure_ascii=False), encoding="utf-8")
    intake, normalized = normalized_folder(tmp_path / "raw", tmp_path / "data")
    check_accounting(normalized, sum(len(entries) for entries in intake.entries.values()))
    return normalized


def test_a_trial_is_one_trajectory_with_its_task(tmp_path: Path) -> None:
    normalized = read(tmp_path, TRIAL)
    (top,) = normalized.trajectories
    assert [turn["text"] for turn in normalized.turns if turn["trajectory_id"] == top["trajectory_id"]] == ["The task"]
    steps = [(step["step_id"], step["action_text"], step["reflection_text"]) for step in normalized.steps_of(top)]
    assert steps == [(1, "look", "a.txt"), (2, "write", "ok"), (3, "Done.", None)]
    fates = {Path(row["path"]).name: (row["disposition"], row["reason"]) for row in normalized.files}
    assert fates[SUMMARY] == ("sidecar", "context_summary")
    assert fates["trajectory.cont-1.json"] == fates["trajectory.cont-2.json"] == ("sidecar", "continuation")


def test_tokens_of_copied_context_count_once(tmp_path: Path) -> None:
    """The last document counts those of the whole trial."""
    (top,) = read(tmp_path, TRIAL).trajectories
    assert (top["run"]["input_tokens"], top["run"]["output_tokens"]) == (75, 3)


def test_totals_of_the_last_document_alone_are_not_those_of_the_run(tmp_path: Path) -> None:
    last = THIRD | {"final_metrics": {"total_prompt_tokens": 30}}
    files = TRIAL | {"agent/trajectory.cont-2.json": last}
    (top,) = read(tmp_path, files).trajectories
    assert top["run"]["input_tokens"] == 60


def test_a_step_of_a_later_document_points_to_its_bytes(tmp_path: Path) -> None:
    normalized = read(tmp_path, TRIAL)
    (top,) = normalized.trajectories
    files = []
    for step in normalized.steps_of(top):
        (raw,) = step["raw"]
        content = (tmp_path / "raw" / (raw["file"] or top["source_file"])).read_bytes()
        record = content[raw["offset"] : raw["offset"] + raw["length"]]
        assert json.loads(record)["message"] == step["action_text"]
        assert content.count(b"\n", 0, raw["offset"]) == raw["line"] - 1
        files.append(raw["file"] and Path(raw["file"]).name)
    assert files == [None, "trajectory.cont-1.json", "trajectory.cont-2.json"]


def test_a_trial_is_passed_once(tmp_path: Path) -> None:
    """What a sub-agent did is no second attempt at the task."""
    steps = json.loads(json.dumps(FIRST).replace(SUMMARY, "helper.json"))
    normalized = read(tmp_path, TRIAL | {"agent/trajectory.json": steps, "agent/helper.json": HELPER})
    assert len(normalized.trajectories) == 2
    top = next(row for row in normalized.trajectories if row["parent_trajectory_id"] is None)
    assert [row["trajectory_id"] for row in normalized.outcomes] == [top["trajectory_id"]]


@pytest.mark.parametrize("missing", ["agent/trajectory.cont-1.json", "agent/trajectory.cont-2.json"])
def test_a_document_that_is_missing_is_told(missing: str, tmp_path: Path) -> None:
    normalized = read(tmp_path, {name: value for name, value in TRIAL.items() if name != missing})
    (first,) = [row for row in normalized.files if row["path"].endswith("/trajectory.json")]
    assert "continued_elsewhere" in {warning["name"] for warning in first["warnings"]}
    (second,) = [row for row in normalized.files if row["path"].endswith(("cont-1.json", "cont-2.json"))]
    assert second["disposition"] == ("trajectory" if missing.endswith("cont-1.json") else "sidecar")


def test_a_document_without_the_first_one_is_a_trajectory(tmp_path: Path) -> None:
    (row,) = read(tmp_path, {"agent/trajectory.cont-1.json": SECOND, "result.json": RESULT}).trajectories
    assert row["num_steps"] == 1
