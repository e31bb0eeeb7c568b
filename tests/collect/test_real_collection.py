"""Both real programs: 13 tasks of 9 categories, scored as scripted, with a kill in the middle.

`make test-collect` installs them; OPENCLAWBENCH_TEST_COLLECT is their folder, with bfcl/, node24/, openclaw-<release>/.
"""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDER = os.environ.get("OPENCLAWBENCH_TEST_COLLECT")
RELEASES = ("2026.6.11", "2026.9.6")
PASSES = {
    "simple_python_0": True,
    "simple_python_1=wrong": False,
    "multiple_0": True,
    "parallel_0": True,
    "parallel_1=none": False,
    "parallel_multiple_0": True,
    "irrelevance_0": True,
    "irrelevance_1=wrong": False,
    "live_simple_0-0-0": True,
    "multi_turn_base_0": True,
    "multi_turn_base_3=wrong": False,
    "multi_turn_miss_func_0": True,
    "multi_turn_miss_param_0": True,
}
pytestmark = pytest.mark.skipif(FOLDER is None, reason="needs OpenClaw and bfcl-eval: make test-collect installs them")


@dataclass
class Collecting:
    """A data folder, and the programs that collect into it."""

    data: Path
    environment: dict[str, str]

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-P", "-m", "openclawbench", *arguments, "--data", str(self.data)]

    def ended(self, *arguments: str) -> str:
        """What a command printed; it must succeed."""
        done = subprocess.run(
            self.command(*arguments), env=self.environment, capture_output=True, text=True, timeout=900
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def outcomes(self) -> dict[str, str]:
        """Task id -> outcome."""
        rows = map(json.loads, self.ended("export", "outcomes").splitlines())
        return {row["task_id"]: row["oracle_outcome"] for row in rows}


@pytest.fixture(params=RELEASES)
def collecting(request: pytest.FixtureRequest, tmp_path: Path) -> Collecting:
    assert FOLDER is not None
    folder = Path(FOLDER)
    programs = {
        "OPENCLAWBENCH_BFCL_PYTHON": str(folder / "bfcl" / "bin" / "python"),
        "OPENCLAWBENCH_NODE": str(folder / "node24" / "node_modules" / "node" / "bin" / "node"),
        "OPENCLAWBENCH_OPENCLAW": str(folder / f"openclaw-{request.param}" / "node_modules" / "openclaw"),
    }
    return Collecting(tmp_path, os.environ | programs)


def test_thirteen_tasks_end_as_scripted(collecting: Collecting) -> None:
    collecting.ended("collect", "plan", *PASSES)
    log = collecting.data / "collect" / "sessions.jsonl"
    with subprocess.Popen(
        collecting.command("collect", "run"), env=collecting.environment, stderr=subprocess.DEVNULL
    ) as run:
        deadline = time.monotonic() + 600
        while not (log.exists() and log.read_bytes().count(b"\n") >= 3) and time.monotonic() < deadline:
            time.sleep(0.1)
        os.kill(run.pid, signal.SIGKILL)
    first = log.read_bytes()
    assert 3 <= first.count(b"\n") < len(PASSES)
    collecting.ended("collect", "run")
    assert log.read_bytes().startswith(first[: first.rindex(b"\n")])
    collecting.ended("collect", "score")
    collecting.ended("run")
    expected = {task.partition("=")[0]: "pass" if passes else "fail" for task, passes in PASSES.items()}
    assert collecting.outcomes() == expected


def test_own_tools_run_walled_in_and_do_not_count_for_the_score(collecting: Collecting) -> None:
    """The agent runs a command and writes a file before the task's function: only the function is scored. What the
    command prints holds no key of the user's, and on Linux it reaches no network."""
    collecting.environment["SOME_API_KEY"] = "sk-of-the-user-0123456789"
    collecting.ended("collect", "plan", "simple_python_0", "--mode", "own-tools")
    path = collecting.data / "collect" / "plan.json"
    plan = json.loads(path.read_text())
    command = "env; curl -sS -m 3 http://192.0.2.1/ || echo no network"
    plan["tasks"][0]["script"]["steps"][:0] = [
        {"text": "", "calls": [["exec", {"command": command}]]},
        {"text": "", "calls": [["write", {"path": "notes.txt", "content": "noted"}]]},
    ]
    path.write_text(json.dumps(plan))
    for step in (("collect", "run"), ("collect", "score"), ("run",)):
        collecting.ended(*step)
    assert collecting.outcomes() == {"simple_python_0": "pass"}
    [master] = (collecting.data / "release").rglob("master_table_all.jsonl")
    record = json.loads(master.read_bytes())
    assert (record["mode"], record["trace_summary"]["end"]) == ("own_tools", "completed")
    steps = record["steps"]
    assert [step["tool_name_raw"] for step in steps[:3]] == ["exec", "write", "b__calculate_triangle_area"]
    reflection_text = steps[0]["reflection_text"]
    assert "ENDPOINT_URL=http://127.0.0.1:" in reflection_text and "SOME_API_KEY" not in reflection_text
    if sys.platform == "linux":
        assert record["collection"]["network"] == "endpoint" and "no network" in reflection_text
