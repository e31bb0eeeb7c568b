"""Harbor's job trees: task and outcome of each trial, one trajectory a run, sessions told apart by their paths."""

import json
from pathlib import Path
from typing import Any

import pytest
from normalizing import Normalized, normalized_folder

from openclawbench.inspect.doctor import examine_folder
from openclawbench.intake.intake import take_in
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.sidecars import harbor
from openclawbench.storage.data_folder import DataFolder

RULES = NormalizeRules.load()
USER = {"type": "message", "id": "u", "parentId": None, "message": {"role": "user", "content": "go"}}
DEEP = "agent/openclaw-state/agents/main/sessions/harbor.jsonl"


def session(day: int, *texts: str) -> bytes:
    header = {
        "type": "session",
        "version": 3,
        "id": "harbor",
        "timestamp": f"2026-05-0{day}T10:00:00.000Z",
        "cwd": "/app",
    }
    rows: list[dict[str, Any]] = [header, {**USER, "timestamp": header["timestamp"]}]
    for number, text in enumerate(texts):
        message = {"role": "assistant", "content": [{"type": "text", "text": text}], "stopReason": "stop"}
        parent = "u" if number == 0 else f"a{number - 1}"
        row = {"type": "message", "id": f"a{number}", "parentId": parent, "timestamp": header["timestamp"]}
        rows.append({**row, "message": message})
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def atif(session_id: str | None, text: str = "done") -> bytes:
    steps = [
        {"step_id": 1, "source": "user", "message": "go"},
        {"step_id": 2, "source": "agent", "message": text},
    ]
    document = {"schema_version": "ATIF-v1.6", "session_id": session_id, "agent": {"name": "openclaw", "version": "1"}}
    return json.dumps(document | {"steps": steps}, indent=1).encode()


def result(task: str, trial: str, **more: Any) -> bytes:
    known = {"id": trial, "task_name": task, "trial_name": trial, "trial_uri": "file:///x", "source": "claw"}
    blank = {"verifier_result": None, "exception_info": None, "config": {"agent": {"env": {"KEY": "k"}}}}
    return json.dumps(known | blank | more).encode()


def rewarded(reward: float | None, **others: float) -> dict[str, Any]:
    return {"verifier_result": {"rewards": ({} if reward is None else {"reward": reward}) | others}}


def tree(root: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = root / "raw" / "model-a" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root / "raw"


def read(tmp_path: Path, files: dict[str, bytes]) -> Normalized:
    return normalized_folder(tree(tmp_path, files), tmp_path / "data")[1]


def outcome_of(trial_result: dict[str, Any], path: str = f"m/job/t1/{DEEP}") -> dict[str, Any]:
    trial = harbor.trial_of(path, {harbor.TRIAL: trial_result})
    assert trial is not None
    return harbor.outcome(trial, RULES)


def test_each_trial_is_one_trajectory_with_its_task(tmp_path: Path) -> None:
    files = {}
    for number in (1, 2, 3):
        files[f"job/t{number}/{DEEP}"] = session(number, f"I did {number}.")
        files[f"job/t{number}/agent/trajectory.json"] = atif("harbor")
        files[f"job/t{number}/result.json"] = result(f"task-{number}", f"t{number}", **rewarded(1.0))
    files["job/result.json"] = json.dumps({"id": "j", "n_total_trials": 3, "stats": {}}).encode()
    normalized = read(tmp_path, files)
    assert sorted(row["task_id"] for row in normalized.trajectories) == ["task-1", "task-2", "task-3"]
    assert {row["subset"] for row in normalized.trajectories} == {"claw"}
    fates = {row["path"]: (row["disposition"], row["reason"]) for row in normalized.files}
    assert fates["model-a/job/t1/agent/trajectory.json"] == ("sidecar", "beside_trajectory")
    assert fates["model-a/job/t1/result.json"] == ("sidecar", "used_as_context")
    assert fates["model-a/job/result.json"] == ("sidecar", "harbor_job_result")
    assert {disposition for disposition, _ in fates.values()} == {"trajectory", "sidecar"}


def test_a_document_alone_is_the_trajectory_of_its_trial(tmp_path: Path) -> None:
    """Sessions of several trials have one session id: the trial tells them apart."""
    files = {}
    for number in (1, 2):
        files[f"job/t{number}/agent/trajectory.json"] = atif("harbor", f"I did {number}.")
        files[f"job/t{number}/result.json"] = result(f"task-{number}", f"t{number}", **rewarded(0.0))
    normalized = read(tmp_path, files)
    assert sorted(row["task_id"] for row in normalized.trajectories) == ["task-1", "task-2"]
    assert not any(row["divergent"] for row in normalized.trajectories)


def test_a_document_of_another_run_beside_a_session_is_kept(tmp_path: Path) -> None:
    files = {"job/t1/" + DEEP: session(1, "I did it."), "job/t1/agent/trajectory.json": atif("another")}
    normalized = read(tmp_path, files | {"job/t1/result.json": result("task", "t1", **rewarded(1))})
    assert len(normalized.trajectories) == 2


def test_a_document_outside_harbors_trees_is_kept(tmp_path: Path) -> None:
    normalized = read(tmp_path, {"x/trajectory.json": atif("harbor"), "x/s.jsonl": session(1, "I did it.")})
    assert len(normalized.trajectories) == 2


def test_no_key_of_a_trial_reaches_the_context() -> None:
    document = json.loads(result("task", "t1", **rewarded(1.0)))
    assert "env" not in json.dumps(harbor.trial_of("m/job/t1/s.jsonl", {harbor.TRIAL: document}))


@pytest.mark.parametrize(
    ("trial_result", "status", "success", "score"),
    [
        (rewarded(1.0), "scored", True, 1.0),
        (rewarded(0.0), "scored", False, 0.0),
        (rewarded(0.4), "scored", False, 0.4),
        (rewarded(None, accuracy=1.0), "scored", True, 1.0),
        (rewarded(None, accuracy=1.0, style=0.0), "not_scored", None, None),
        (rewarded(None), "not_scored", None, None),
        ({}, "not_scored", None, None),
        ({"exception_info": {"exception_type": "SandboxBuildFailedError"}}, "infra_error", None, None),
        (rewarded(1.0) | {"exception_info": {"exception_type": "ApiRateLimitError"}}, "infra_error", None, 1.0),
        (rewarded(0.0) | {"exception_info": {"exception_type": "AgentTimeoutError"}}, "scored", False, 0.0),
        ({"exception_info": {"exception_type": "VerifierTimeoutError"}}, "not_scored", None, None),
        ({"verifier_result": {"rewards": {"reward": "high"}}}, "not_scored", None, None),
        ({"verifier_result": {"rewards": [1]}}, "not_scored", None, None),
    ],
)
def test_what_a_result_says(
    trial_result: dict[str, Any], status: str, success: bool | None, score: float | None
) -> None:
    new_outcome_of = outcome_of(json.loads(result("task", "t1")) | trial_result)
    assert (new_outcome_of["status"], new_outcome_of["success"], new_outcome_of["score"]) == (status, success, score)
    assert new_outcome_of["flags"] == (["partial_reward"] if score == 0.4 else [])


def test_a_step_of_a_trial_has_its_own_reward() -> None:
    steps = [{"step_name": "one", **rewarded(1.0)}, {"step_name": "two", **rewarded(0.0)}]
    document = json.loads(result("task", "t1", step_results=steps, **rewarded(0.5)))
    first, second = (outcome_of(document, f"m/job/t1/steps/{name}/agent/s.jsonl") for name in ("one", "two"))
    assert (first["success"], first["task_id"]) == (True, "task/one")
    assert (second["success"], second["task_id"]) == (False, "task/two")


CONFIG = {"trial_name": "t5", "trials_dir": "jobs/job", "task": {"path": "../tasks/task-5", "source": "claw"}}
STATE = "agent/openclaw-state"


def job(**trials: dict[str, bytes]) -> dict[str, bytes]:
    """A job folder as Harbor leaves it: what every trial has, and the files of each."""
    files = {"job/config.json": json.dumps({"job_name": "job", "jobs_dir": "jobs"}).encode(), "job/job.log": b"log\n"}
    files["job/result.json"] = json.dumps({"id": "j", "n_total_trials": len(trials), "stats": {}}).encode()
    for name, own in trials.items():
        known = {"config.json": json.dumps(CONFIG | {"trial_name": name, "job_id": "j"}).encode(), "trial.log": b"x\n"}
        known |= {"agent/openclaw.txt": b"log {", "artifacts/out.jsonl": b'{"rows": 1}\n', "verifier/ctrf.json": b"{}"}
        files |= {f"job/{name}/{path}": content for path, content in (known | own).items()}
    return files


def whole_job() -> dict[str, bytes]:
    """Trials that passed, failed twice (two attempts at a task), were lost to the infrastructure with and without a
    session, were interrupted, and have a document alone."""
    infra = {"exception_info": {"exception_type": "EnvironmentStartTimeoutError", "exception_message": "no start"}}
    audit = {f"{STATE}/logs/config-audit.jsonl": b'{"event": "config.write"}\n'}
    return job(
        skill__aaa={DEEP: session(1, "Done."), "agent/trajectory.json": atif("harbor"), "verifier/reward.txt": b"1.0"}
        | {"result.json": result("skill", "skill__aaa", **rewarded(1.0))}
        | audit,
        skill__bbb={DEEP: session(2, "Done."), "result.json": result("skill", "skill__bbb", **rewarded(0.0))},
        mail__ccc={DEEP: session(3, "Done."), "result.json": result("mail", "mail__ccc", **infra, **rewarded(0.0))},
        mail__ddd={"result.json": result("mail", "mail__ddd", **infra), "exception.txt": b"Traceback\n"},
        blog__eee={DEEP: session(4, "Half"), "verifier/reward.txt": b"0.0"},
        doc__fff={"agent/trajectory.json": atif("harbor"), "result.json": result("doc", "doc__fff", **rewarded(1))},
    )


def test_a_whole_job_is_read(tmp_path: Path) -> None:
    """Nothing of it is quarantined, and only what a verifier scored is a pass or a failure."""
    normalized = read(tmp_path, whole_job())
    assert {row["disposition"] for row in normalized.files} == {"trajectory", "sidecar"}
    assert sorted(str(row["task_id"]) for row in normalized.trajectories) == ["doc", "mail", "skill", "skill", "task-5"]
    reasons = {row["path"].removeprefix("model-a/job/"): row["reason"] for row in normalized.files}
    assert reasons["skill__aaa/artifacts/out.jsonl"] == "harbor_task_file"
    assert reasons[f"skill__aaa/{STATE}/logs/config-audit.jsonl"] == "openclaw_config_audit"
    assert reasons["mail__ddd/result.json"] == "harbor_trial_result"
    assert reasons["blog__eee/config.json"] == "used_as_context"
    config = next(row for row in normalized.files if row["path"].endswith("blog__eee/config.json"))
    assert "task of the trial, which was interrupted" in config["message"]


def test_doctor_says_what_a_job_is(tmp_path: Path) -> None:
    _, sentences = examine_folder(tree(tmp_path, whole_job()))
    assert sentences == [
        "model-a/job: a Harbor job tree of 6 trials: 5 sessions, 5 outcomes (1 fail, 1 infra_error, 1 not_scored, "
        "2 pass), 1 trial without a session."
    ]
    _, alone = examine_folder(tmp_path / "raw" / "model-a")
    assert alone[0].endswith("Put it into a folder that names the source model; this one would be taken for it.")


def test_an_interrupted_trial_is_of_its_task_and_has_no_verdict() -> None:
    reported = harbor.trial_of("m/job/t5/agent/s.jsonl", {harbor.TRIAL: {"stats": {}}, harbor.TRIAL_CONFIG: CONFIG})
    assert reported is not None
    outcome = harbor.outcome(reported, RULES)
    assert (outcome["status"], outcome["success"], outcome["task_id"], outcome["run_id"]) == (
        "not_scored",
        None,
        "task-5",
        "t5",
    )
    assert outcome["error_message"] == "the trial was interrupted: it has no result.json"
    assert harbor.trial_of("m/s.jsonl", {harbor.TRIAL_CONFIG: {"task": {"path": "x"}}}) is None


def manifest(tmp_path: Path, *rows: dict[str, Any]) -> None:
    lines = [json.dumps({"source_model": "model-a"} | row) for row in rows]
    (tmp_path / "raw" / "run_manifest.jsonl").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    "name", [f"job/t{{}}/{DEEP}", f"model-a/job/t{{}}/{DEEP}", f"/data/raw/model-a/job/t{{}}/{DEEP}"]
)
def test_a_row_may_name_a_session_by_its_path(tmp_path: Path, name: str) -> None:
    raw = tree(tmp_path, {f"job/t{number}/{DEEP}": session(number, "I did it.") for number in (1, 2)})
    manifest(tmp_path, *({"native_session_basename": name.format(n), "task_id": f"task-{n}"} for n in (1, 2)))
    oracle = tmp_path / "oracle.jsonl"
    row = {"source_model": "model-a", "native_session_basename": name.format(2), "status": "scored", "success": True}
    oracle.write_text(json.dumps(row) + "\n")
    intake = take_in(DataFolder(tmp_path / "data"), raw, oracle, save=False)
    assert [fault for fault in intake.faults if "ambiguous" in fault["reason"]] == []
    known = [record for shard in range(intake.shards) for record in intake.oracle_rows.table(shard).to_dicts()]
    assert [(entry["sessions_named"], entry["basename"]) for entry in known] == [
        (1, f"job/t2/{DEEP.removesuffix('.jsonl')}")
    ]
    assert intake.counts["manifest_rows_without_session"] == 0


def test_a_path_that_fits_several_names_none(tmp_path: Path) -> None:
    raw = tree(tmp_path, {f"job/t{number}/{DEEP}": session(number, "I did it.") for number in (1, 2)})
    manifest(tmp_path, {"native_session_basename": "sessions/harbor.jsonl", "task_id": "task"})
    intake = take_in(DataFolder(tmp_path / "data"), raw, None, save=False)
    assert [fault["reason"] for fault in intake.faults] == ["run_manifest_ambiguous"]


def test_documents_one_a_line_are_sessions(tmp_path: Path) -> None:
    rows = [json.dumps(json.loads(atif(name, f"I am {name}."))).encode() for name in ("a", "b", "c")]
    normalized = read(tmp_path, {"all.jsonl": b"\n".join(rows) + b"\n"})
    assert sorted(row["native_session_basename"] for row in normalized.trajectories) == ["a", "b", "c"]
    assert {row["disposition"] for row in normalized.files} == {"trajectory"}
    broken = read(tmp_path / "x", {"all.jsonl": rows[0] + b"\n{broken\n" + rows[1] + b"\n"})
    assert sorted(row["disposition"] for row in broken.files) == ["quarantined", "trajectory", "trajectory"]
