"""A disk that is full, and a ledger that is damaged: every command ends with one sentence and status 2, leaves nothing
half, and a run with room again makes what a run without the fault makes.

The disk is full for a file of more than `limit` bytes (RLIMIT_FSIZE), which the kernel says of every write, also of
those of polars and SQLite.
"""

import os
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from child import files

pytestmark = pytest.mark.slow
CASES = Path(__file__).parents[1] / "golden" / "cases"
RAW = CASES / "multi-turn" / "raw"
ENV = {**os.environ, "POLARS_MAX_THREADS": "1", "OPENAI_API_KEY": "none", "OPENCLAWBENCH_DATA": ""}
ENDPOINT = ["--judge", "openai", "--model", "m", "--endpoint-url", "http://127.0.0.1:9/v1", "--price-in", "0"]
FULL = ("File too large", "disk is full", "disk I/O error", "database or disk is full")


def called(*arguments: str | Path, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    """A call of the program in a process of its own, which can write no file of more than `limit` bytes."""
    bounded = None if limit is None else partial(resource.setrlimit, resource.RLIMIT_FSIZE, (limit, limit))
    command = [sys.executable, "-m", "openclawbench", *map(str, arguments)]
    return subprocess.run(command, env=ENV, capture_output=True, text=True, preexec_fn=bounded, timeout=300)


def run(data: Path, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    return called("run", "--raw", RAW, "--judge", "rules", "--data", data, limit=limit)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("whole") / "data"
    ended = run(data)
    assert ended.returncode == 0, ended.stderr
    return data


def is_one_sentence(ended: subprocess.CompletedProcess[str]) -> None:
    errors = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    assert (ended.returncode, len(errors)) == (2, 1), ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_run_on_a_full_disk_is_one_sentence_and_goes_on_with_room_again(released: Path, tmp_path: Path) -> None:
    for limit in (0, 1_500, 20_000, 60_000, 150_000):
        data = tmp_path / str(limit) / "data"
        ended = run(data, limit)
        is_one_sentence(ended)
        assert any(cause in ended.stderr for cause in FULL), ended.stderr
        assert not (data / "release").exists(), f"a release is there though files above {limit} bytes cannot be written"
    assert run(data).returncode == 0
    assert files(data / "release") == files(released / "release")


@pytest.mark.parametrize(
    "command",
    [
        ["export", "step", "--format", "csv", "-o", "OUT/step.csv"],
        ["export", "--to", "atif", "-o", "OUT/atif"],
        ["report", "evidence"],
        ["audit", "sample-events", "--n", "3"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_what_is_written_from_a_run_is_whole_or_not_there(command: list[str], released: Path, tmp_path: Path) -> None:
    before = files(released)
    out = [argument.replace("OUT", str(tmp_path)) for argument in command]
    is_one_sentence(called(*out, "--data", released, limit=100))
    assert files(tmp_path) == {}
    left = {name: content for name, content in files(released).items() if before.get(name) != content}
    assert {name for name in left if not name.endswith("lock")} == set()


DAMAGED = b"not a database, but long enough to be looked at" * 100


@pytest.mark.parametrize("content", [DAMAGED, b"SQLite format 3\0" + b"\xff" * 5_000], ids=["other", "header alone"])
def test_commands_that_read_a_damaged_ledger_say_so_and_the_others_go_on(content: bytes, released: Path) -> None:
    ledger = released / "ledger" / "ledger.sqlite"
    ledger.parent.mkdir(exist_ok=True)
    ledger.write_bytes(content)
    asking = ["annotate", *ENDPOINT, "--price-out", "0"]
    reading = [["ledger", name] for name in ("stats", "verify", "export", "compact")]
    for command in (*reading, asking, [*asking, "--dry-run"], [*asking, "--pass", "2"]):
        ended = called(*command, "--data", released)
        is_one_sentence(ended)
        assert "ledger.sqlite: the file is damaged" in ended.stderr
        assert ledger.read_bytes() == content
    for command in (["status"], ["release"], ["report", "triage"], ["ledger", "merge"]):
        ended = called(*command, "--data", released)
        assert (ended.returncode, "Traceback" in ended.stderr) == (0, False), ended.stderr
    ledger.unlink()
