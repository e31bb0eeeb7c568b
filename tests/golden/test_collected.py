"""Real sessions of BFCL tasks and their real score tree: each outcome is joined to its session, and is as scripted."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from openclawbench.collect.plan import read_plan

SAID = ("plan", "openclaw", "evaluator", "model", "endpoint_host", "network")
COLLECTED = Path(__file__).parents[2] / "data" / "collected"


def test_every_outcome_of_the_collection_is_joined(tmp_path: Path) -> None:
    data = tmp_path / "bfcl"
    shutil.copytree(COLLECTED, data)

    def carry_out(*arguments: str) -> str:
        command = [sys.executable, "-P", "-m", "openclawbench", *arguments, "--data", str(data)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    carry_out("collect", "convert")
    carry_out("fuse")
    rows = {row["task_id"]: row for row in map(json.loads, carry_out("export", "outcomes").splitlines())}
    tasks = read_plan(COLLECTED / "collect").tasks
    assert rows.keys() == {task.task_id for task in tasks} and len(tasks) == 17
    assert {row["oracle_match"] for row in rows.values()} == {"matched"}
    assert {row["oracle"]["evaluator"]["name"] for row in rows.values()} == {"bfcl-eval"}
    # A multi-turn task that BFCL's own answer solves, and an irrelevance task in which no call is right, pass with it.
    expected = {task.task_id: task.script is not None and task.script.answers == "right" for task in tasks}
    assert {task: row["oracle_outcome"] == "pass" for task, row in rows.items()} == expected
    # And each record of a release says what made its session.
    carry_out("run", "--judge", "rules")
    [master] = (data / "release").rglob("master_table_all.jsonl")
    released = master.read_text("utf-8").splitlines()
    planned = {(row["source_model"], row["task_id"]): row for row in provenance_rows()}
    for record in map(json.loads, released):
        built = planned[record["source_model"], record["task_id"]]
        collection = {name: built[name] for name in SAID}
        assert record["collection"] == collection | {"parameters": json.dumps(built["parameters"])}
        assert record["mode"] == built["mode"]
    assert len(released) == 17


def provenance_rows() -> list[dict[str, Any]]:
    """The lines of the collection's own log."""
    log = (COLLECTED / "collect" / "sessions.jsonl").read_text("utf-8")
    return [json.loads(line) for line in log.splitlines()]
