"""Both real programs: 13 tasks of 9 categories, scored as scripted, with a kill in the middle.

`make test-collect` installs them; OPENCLAWBENCH_TEST_COLLECT is their folder, with bfcl/, node24/, openclaw-<release>/.
"""

import json
import os
import signal
import subprocess
import sys
import time
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


@pytest.mark.parametrize("release", RELEASES)
def test_thirteen_tasks_end_as_scripted(release: str, tmp_path: Path) -> None:
    assert FOLDER is not None
    folder = Path(FOLDER)
    environment = os.environ | {
        "OPENCLAWBENCH_BFCL_PYTHON": str(folder / "bfcl" / "bin" / "python"),
        "OPENCLAWBENCH_NODE": str(folder / "node24" / "node_modules" / "node" / "bin" / "node"),
        "OPENCLAWBENCH_OPENCLAW": str(folder / f"openclaw-{release}" / "node_modules" / "openclaw"),
    }

    def command(*arguments: str) -> list[str]:
        return [sys.executable, "-P", "-m", "openclawbench", *arguments, "--data", str(tmp_path)]

    def ended(*arguments: str) -> str:
        done = subprocess.run(command(*arguments), env=environment, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stderr
        return done.stdout

    ended("collect", "plan", *PASSES)
    log = tmp_path / "collect" / "sessions.jsonl"
    with subprocess.Popen(command("collect", "run"), env=environment, stderr=subprocess.DEVNULL) as run:
        deadline = time.monotonic() + 600
        while not (log.exists() and log.read_bytes().count(b"\n") >= 3) and time.monotonic() < deadline:
            time.sleep(0.1)
        os.kill(run.pid, signal.SIGKILL)
    first = log.read_bytes()
    assert 3 <= first.count(b"\n") < len(PASSES)
    ended("collect", "run")
    assert log.read_bytes().startswith(first[: first.rindex(b"\n")])
    ended("collect", "score")
    ended("run")
    rows = [json.loads(line) for line in ended("export", "outcomes").splitlines()]
    outcomes = {row["task_id"]: row["oracle_outcome"] for row in rows}
    assert outcomes == {task.partition("=")[0]: "pass" if passes else "fail" for task, passes in PASSES.items()}
