"""The asking engine beside its neighbours: the same prompts to the same endpoint, each tool in its own environment.

A row a tool: calls/s and CPU a call as ratios to a plain AsyncOpenAI loop of the same round, memory, and for those that
go on after a kill what they paid for twice. Why one could not be measured stands in its row.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from benchmarks import command_of
from benchmarks.judge import LATENCY_MS, endpoint
from benchmarks.judge_measures import body
from benchmarks.process_tree import Measured, measured
from openclawbench.base.terminal import table
from openclawbench.errors import UsageError

DRIVERS = Path(__file__).with_name("peer_drivers.py")
OURS = "openclawbench"
INSTALL_S, RUN_S = 1200, 240
Result = dict[str, Any]


@dataclass(frozen=True)
class Peer:
    """An entry of peers.toml."""

    name: str
    package: str
    requirements: list[str]
    driver: str
    resumes: bool


@dataclass(frozen=True)
class Job:
    """What to measure."""

    peers: list[Peer]
    calls: int
    in_flight: int
    scratch: Path | None
    environment: dict[str, str]


class NotMeasured(Exception):
    """Why a tool could not be measured."""


def job(only: list[str], calls: int, in_flight: int, scratch: Path | None) -> Job:
    """The tools of peers.toml, or those that are named. UsageError for one that is not there."""
    listed = tomllib.loads(Path(__file__).with_name("peers.toml").read_text(encoding="utf-8"))
    peers = {row["name"]: Peer(**row) for row in listed["peer"]}
    if unknown := set(only) - peers.keys():
        raise UsageError(f"--only {sorted(unknown)[0]}: there is no such neighbour. Known are {', '.join(peers)}.")
    if not Path("/proc/self/task").exists():
        raise UsageError("bench peers reads /proc, which this system has not. Run it on Linux.")
    return Job([peers[name] for name in only or peers], calls, in_flight, scratch, listed["environment"])


def run_benchmark(todo: Job, console: Console) -> Result:
    """Every tool, one after the other; none of them ends the whole."""
    with scratch_folder(todo.scratch) as scratch:
        prompts = scratch / "prompts.json"
        prompts.write_text(json.dumps([body(number)["messages"][1]["content"] for number in range(todo.calls)]))
        rows = [row_of(OURS, todo, scratch, None)]
        for peer in todo.peers:
            console.print(f"{peer.name} ...")
            rows.append(row_of(peer.name, todo, scratch, peer))
    return {"latency_ms": LATENCY_MS, "calls": todo.calls, "in_flight": todo.in_flight, "rows": rows}


@contextmanager
def scratch_folder(named: Path | None) -> Iterator[Path]:
    """The folder of environments: the named one, which is kept, else one that is removed at the end."""
    if named is not None:
        yield named.absolute()
        return
    with TemporaryDirectory() as folder:
        yield Path(folder)


def row_of(name: str, todo: Job, scratch: Path, peer: Peer | None) -> Result:
    """The row of a tool (null: the engine itself)."""
    row: Result = {"name": name, "version": None, "why_not": None, "resume": None}
    folder = scratch / name
    shutil.rmtree(folder / "runs", ignore_errors=True)
    (folder / "runs").mkdir(parents=True)
    try:
        python = Path(sys.executable) if peer is None else installed(peer, folder)
        row["version"] = version(python, peer.package if peer else OURS)
        plain = Tool([sys.executable, "-P", str(DRIVERS), "openai"], todo, folder / "runs" / "plain", scratch)
        command = [str(python), "-P", str(DRIVERS), peer.driver] if peer else None
        row |= ratios(plain.run(), Tool(command, todo, folder / "runs" / "whole", scratch).run(), todo)
        if peer is None or peer.resumes:
            row["resume"] = Tool(command, todo, folder / "runs" / "killed", scratch).killed_and_resumed()
    except NotMeasured as why:
        row["why_not"] = str(why)
    return row


def installed(peer: Peer, folder: Path) -> Path:
    """The interpreter of a tool's own environment, made where it is not there. NotMeasured where it cannot be."""
    python = folder / "venv" / "bin" / "python"
    if (folder / "ready").exists():
        return python
    uv = Path(sys.executable).with_name("uv")
    pip = (
        [f"{uv}", "pip", "install", "--python", f"{python}"]
        if uv.exists()
        else [f"{python}", "-P", "-m", "pip", "install"]
    )
    environment = [sys.executable, "-P", "-m", "venv", "--clear", str(folder / "venv")]
    for command in (environment, [*pip, "--quiet", *peer.requirements]):
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_S)
        except subprocess.CalledProcessError as error:
            raise NotMeasured(f"not installed: {last_line(error.stderr)}") from error
        except subprocess.TimeoutExpired as error:
            raise NotMeasured(f"not installed within {INSTALL_S} s") from error
    (folder / "ready").touch()
    return python


def version(python: Path, package: str) -> str:
    """The version of a package that an interpreter has."""
    program = f"import importlib.metadata as m; print(m.version({package!r}))"
    output = subprocess.run([python, "-P", "-c", program], capture_output=True, text=True)
    return output.stdout.strip() or "?"


class Tool:
    """One command that asks every prompt; `command` null: the engine."""

    def __init__(self, command: list[str] | None, todo: Job, folder: Path, scratch: Path) -> None:
        self.todo, self.folder = todo, folder
        self.kept = folder / "kept"  # where it may keep what it goes on from
        self.command, self.prompts = command, scratch / "prompts.json"
        self.kept.mkdir(parents=True)

    def arguments(self, url: str) -> list[str]:
        """The command line."""
        if self.command is None:
            calls, in_flight = str(self.todo.calls), str(self.todo.in_flight)
            return [*command_of("judge_measures"), "engine", url, calls, in_flight, str(self.kept)]
        return [*self.command, str(self.prompts), url, str(self.todo.in_flight), str(self.kept)]

    def environment(self) -> dict[str, str]:
        """No setting and no home of whoever measures."""
        prefixes = ("OPENAI_", "OPENCLAWBENCH_", "PYTHONPATH")
        plain = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
        home = {"HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache")}
        return plain | home | self.todo.environment

    def run(self) -> tuple[Measured, Result]:
        """Run it to its end: what it took, what the endpoint saw. NotMeasured where it fails."""
        with endpoint(LATENCY_MS) as url:
            measure = self.measure(url, 0)
            return measure, stats(url)

    def measure(self, url: str, enough: int) -> Measured:
        """One run; killed when so many calls are paid for (zero: never). NotMeasured where it ends otherwise."""
        log = self.folder / "log"
        outcome = measured(
            self.arguments(url),
            self.environment(),
            log,
            RUN_S,
            lambda: stats(url)["requests"] > 0,
            lambda: bool(enough) and stats(url)["paid"] >= enough,
        )
        if outcome.status is None and not outcome.killed:
            raise NotMeasured(f"still running after {RUN_S} s, {stats(url)['paid']} calls paid for")
        if outcome.status:
            raise NotMeasured(f"ended with status {outcome.status}: {last_line(log.read_text(errors='replace'))}")
        return outcome

    def killed_and_resumed(self) -> str:
        """What comes of a kill -9 in the middle and another start, in words."""
        with endpoint(LATENCY_MS) as url:
            if not self.measure(url, self.todo.calls // 2).killed:
                return "ended before it could be killed"
            at_kill = stats(url)["paid"]
            try:
                self.measure(url, 0)
            except NotMeasured as why:
                calls = stats(url)
                return (
                    f"{calls['paid'] - calls['different']} twice, {self.todo.calls - calls['different']} never; {why}"
                )
            calls = stats(url)
        lost = self.todo.calls - calls["different"]
        return f"{calls['paid'] - calls['different']} twice, {max(lost, 0)} never (killed at {at_kill})"


def stats(url: str) -> Result:
    """What the endpoint has counted."""
    with urllib.request.urlopen(f"{url}/stats", timeout=30) as response:
        content: Result = json.loads(response.read())
    return content


def ratios(plain: tuple[Measured, Result], measured_results: tuple[Measured, Result], todo: Job) -> Result:
    """A tool's numbers beside those of the plain loop."""
    (reference, reference_stats), (own, own_stats) = plain, measured_results
    return {
        "calls_ratio": reference_stats["span"] / own_stats["span"],
        "cpu_ms_per_call": (own.cpu - own.cpu_before) / todo.calls * 1000,
        "cpu_ratio": (own.cpu - own.cpu_before) / (reference.cpu - reference.cpu_before),
        "cpu_s_before_first_call": own.cpu_before,
        "peak_mb": own.peak_mb,
        "calls_more": own_stats["paid"] - todo.calls,
        "most_in_flight": own_stats["most_in_flight"],
    }


def last_line(text: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" │╰╯─")]
    return lines[-1][:200] if lines else "without a word"


def print_results(console: Console, results: Result) -> None:
    """One table."""
    names = ["tool", "version", "calls/s ×", "CPU a call ×", "CPU ms a call", "CPU s before", "MB", "in flight"]
    names += ["kill -9, then again"]
    cells = [
        [row["name"], row["version"] or "", *numbers(row), row["why_not"] or row["resume"] or ""]
        for row in results["rows"]
    ]
    load = f"{results['calls']} calls, {results['in_flight']} in flight, {results['latency_ms']} ms"
    title = f"{load}; × a plain AsyncOpenAI loop"
    console.print(table(title, names, cells))


def numbers(row: Result) -> list[str]:
    """The numbers of a row; empty where it was not measured."""
    if "peak_mb" not in row:
        return [""] * 6
    return [
        f"{row['calls_ratio']:.2f}",
        f"{row['cpu_ratio']:.2f}",
        f"{row['cpu_ms_per_call']:.1f}",
        f"{row['cpu_s_before_first_call']:.1f}",
        f"{row['peak_mb']:.0f}",
        str(row["most_in_flight"]),
    ]
