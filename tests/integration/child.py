"""The command line as a child process, and the files that it leaves. No test here runs the program in another way."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import NamedTemporaryFile
from typing import Any

import polars as pl

from openclawbench.workspace.configuration.setting_table import TEST_JUDGE

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "data" / "example"
TWO_AT_A_TIME = 2  # child processes
SMALL = {
    "scripted-a": [
        "2026.2.1-tool-errors",
        "2026.2.1-unknown-tool",
        "2026.6.11-hedge-in-thinking",
        "2026.4.15-memory-write",
        "2026.4.15-parallel-tools",
        "2026.4.15-spoofed-tool-text",
        "2026.4.15-unicode",
    ],
    "scripted-b": [
        "2026.4.15-subagent-spawn",
        "2026.6.11-apply-patch",
        "2026.6.11-branch-after-kill",
        "2026.6.11-memory-write",
        "2026.6.11-sequential-tools",
    ],
}


@dataclass(frozen=True)
class Ended:
    """A child process that has ended."""

    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Ran:
    """A data folder, the raw folder behind it, and the run that made it."""

    data: Path
    raw: Path
    ended: Ended


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The surroundings of a child: this checkout's code, and no setting of whoever runs the tests."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("OPENCLAWBENCH_")}
    kept = {TEST_JUDGE: os.environ[TEST_JUDGE]} if TEST_JUDGE in os.environ else {}
    return plain | kept | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"} | dict(more or {})


class Ready:
    """A loaded program that forks a child for each call; see ready.py."""

    def __init__(self) -> None:
        command = [sys.executable, Path(__file__).with_name("ready.py"), PICTURES[0]]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, env=environment(), cwd=ROOT, text=True, bufsize=1, **pipes)

    def fork(self, request: dict[str, Any]) -> int:
        """Begin a call; its process id."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps(request) + "\n")
        return self.number()

    def number(self) -> int:
        """The next number that the loaded program says: a process id, or the exit status at the end of a call."""
        assert self.process.stdout
        return int(self.process.stdout.readline())


PICTURES: list[Path] = []  # the folder of pictures that calls share (conftest.py)
READY: SimpleQueue[Ready] = SimpleQueue()  # those that wait for a call


class Started:
    """A call under way, in a process of its own."""

    def __init__(self, arguments: Sequence[str | Path], env: Mapping[str, str] | None, cwd: Path) -> None:
        try:
            self.ready = READY.get_nowait()
        except Empty:  # two, so that calls that are to run side by side begin together
            self.ready, other = Ready(), Ready()
            READY.put(other)
        self.out, self.err = NamedTemporaryFile(), NamedTemporaryFile()  # noqa: SIM115 (closed in wait)
        request = {"arguments": [*map(str, arguments)], "cwd": str(cwd), "out": self.out.name, "err": self.err.name}
        self.pid = self.ready.fork(request | {"env": environment(env)})

    def has_ended(self) -> bool:
        """True where the process is gone; call wait() then."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        return False

    def read_stderr(self) -> str:
        """What it has written to stderr so far."""
        return Path(self.err.name).read_text()

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def wait(self) -> Ended:
        """Its end; a negative status is the signal that ended it."""
        status = self.ready.number()
        READY.put(self.ready)
        with self.out, self.err:
            return Ended(status, self.out.read(), self.err.read().decode())


def start(*arguments: str | Path, env: Mapping[str, str] | None = None, cwd: Path = ROOT) -> Started:
    """Begin `openclawbench ARGUMENTS`."""
    return Started(arguments, env, cwd)


def call(*arguments: str | Path, env: Mapping[str, str] | None = None, cwd: Path = ROOT) -> Ended:
    """Run `openclawbench ARGUMENTS` to its end."""
    return start(*arguments, env=env, cwd=cwd).wait()


def call_all(calls: Mapping[str, list[str | Path]]) -> dict[str, Ended]:
    """Several independent calls, by name."""
    with ThreadPoolExecutor(TWO_AT_A_TIME) as pool:
        return dict(zip(calls, pool.map(lambda call_arguments: call(*call_arguments), calls.values()), strict=True))


def small_raw(to: Path) -> Path:
    """A raw folder of twelve sessions of the example."""
    for model, names in SMALL.items():
        (to / model).mkdir(parents=True)
        for name in names:
            shutil.copy2(EXAMPLE / "raw" / model / f"{name}.jsonl", to / model)
    return to


def few_shards(data: Path, count: int = 2) -> Path:
    """A new data folder with few shards, which makes a small run three times as fast."""
    (data / "work").mkdir(parents=True)
    (data / "work" / "layout.json").write_text(json.dumps({"shards": count}))
    return data


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def spoil(part: Path) -> None:
    """Damage a part in its middle: it ends as Parquet does, so that a run does not make it again by itself."""
    content = part.read_bytes()
    half = len(content) // 2
    part.write_bytes(content[:4] + b"\xff" * half + content[4 + half :])


def temporary(data: Path) -> list[str]:
    """Half-written files and folders."""
    return [str(path.relative_to(data)) for path in data.rglob(".tmp-*")]


def manifest(data: Path, stage: str) -> Any:
    """What a stage said of its last run."""
    return json.loads((data / "work" / "manifests" / f"{stage}.json").read_text())


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSONL file."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def table(data: Path, name: str) -> list[dict[str, Any]]:
    """Rows of a work table, by key."""
    frame = pl.read_parquet(data / "work" / name / "*.parquet")
    return frame.sort("source_model", "trajectory_id").to_dicts()


def redone(ended: Ended) -> dict[str, int]:
    """Stage -> parts that a run with --json redid."""
    assert ended.status == 0, ended.err
    return {stage["stage"]: stage["redone"] for stage in ended.json["stages"]}
