"""The judge benchmark: the asking engine beside bare loops over the same endpoint of fixed latency, in the same run."""

import json
import os
import statistics
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from benchmarks import command_of
from benchmarks.judge_measures import fill
from openclawbench.base.terminal import table

LATENCY_MS = 200
IN_FLIGHT = (64, 256)
CALLS_PER_SLOT = 120  # at --scale 1
LEAST_CALLS_PER_SLOT = 4
DEFAULT_SCALE = 0.1
MEASURES = ("bare_aiohttp", "engine", "bare_openai", "engine_openai")
REFERENCES = ("bare_aiohttp", "bare_openai")
ANSWERED = 125_000
MEMORY = (2_000, 20_000)
Result = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """What to measure."""

    rounds: int
    scratch: Path | None
    scale: float = DEFAULT_SCALE
    answered: int = ANSWERED
    memory: tuple[int, int] = MEMORY  # calls of two runs that should take the same memory

    @property
    def calls_per_slot(self) -> int:
        """Calls of a measure for each one in flight."""
        return max(LEAST_CALLS_PER_SLOT, round(CALLS_PER_SLOT * self.scale))


def keep_to(process: int, number: int) -> None:
    """Keep a process that just began to one processor, counted from the first that there is, where there are several
    and the system can: who asks and who answers do not get in each other's way (as the goals were measured)."""
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []
    if len(usable) > 1:
        os.sched_setaffinity(process, {usable[number]})


@contextmanager
def endpoint(milliseconds: float, apart: bool = False) -> Iterator[str]:
    """The base URL of an endpoint of fixed latency in a process of its own; `apart`: on the second processor."""
    command = [*command_of("fixed_latency"), str(milliseconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        if apart:
            keep_to(process.pid, 1)
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        process.stdin.close()
        process.kill()


def measure(name: str, url: str, calls: int, in_flight: int, folder: Path) -> Result:
    """One measure in a process of its own, on the first processor."""
    command = [*command_of("judge_measures"), name, url, str(calls), str(in_flight), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        keep_to(process.pid, 0)
        output, _ = process.communicate()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    content: Result = json.loads(output)
    return content | {"measure": name, "in_flight": in_flight, "calls": calls}


def run_benchmark(job: Job) -> Result:
    """Every measure of every round, one after another, so that each stands beside its reference."""
    rows: list[Result] = []
    with TemporaryDirectory(dir=job.scratch) as scratch, endpoint(LATENCY_MS, apart=True) as url:
        for number in range(job.rounds):
            for in_flight in IN_FLIGHT:
                for name in MEASURES:
                    folder = Path(scratch) / f"{number}-{in_flight}-{name}"
                    rows.append(measure(name, url, in_flight * job.calls_per_slot, in_flight, folder))
        return {
            "latency_ms": LATENCY_MS,
            "rows": rows,
            "restart": restart(url, job.answered, Path(scratch) / "restart"),
            "memory": [measure("engine", url, calls, 256, Path(scratch) / f"memory-{calls}") for calls in job.memory],
        }


def restart(url: str, answered: int, folder: Path) -> Result:
    """A ledger with so many settled answers, then one question more than those: how long until it is sent."""
    fill(folder, answered)
    return measure("engine", url, answered + 1, 64, folder)


def medians(rows: list[Result]) -> list[Result]:
    """One row a measure and number in flight: medians of the rounds, ratios taken within each round."""
    values = []
    for in_flight in IN_FLIGHT:
        for name in MEASURES:
            some = [row for row in rows if row["measure"] == name and row["in_flight"] == in_flight]
            ratios = {
                reference: statistics.median(
                    other["seconds"] / row["seconds"]
                    for row, other in zip(some, same(rows, reference, in_flight), strict=True)
                )
                for reference in REFERENCES
            }
            values.append(
                {
                    "measure": name,
                    "in_flight": in_flight,
                    "calls_per_second": statistics.median(row["calls"] / row["seconds"] for row in some),
                    "cpu_ms_per_call": statistics.median(row["cpu"] / row["calls"] * 1000 for row in some),
                    "peak_mb": max(row["peak_mb"] for row in some),
                    "ratios": ratios,
                }
            )
    return values


def same(rows: list[Result], name: str, in_flight: int) -> list[Result]:
    """The rows of a reference, a round each."""
    return [row for row in rows if row["measure"] == name and row["in_flight"] == in_flight]


def print_results(console: Console, results: Result) -> None:
    """Tables for people."""
    names = ["measure", "in flight", "calls/s", "CPU ms a call", "peak MB", *(f"× {name}" for name in REFERENCES)]
    cells = (
        [
            row["measure"],
            row["in_flight"],
            f"{row['calls_per_second']:.0f}",
            f"{row['cpu_ms_per_call']:.2f}",
            f"{row['peak_mb']:.0f}",
            *(f"{row['ratios'][name]:.2f}" for name in REFERENCES),
        ]
        for row in medians(results["rows"])
    )
    console.print(table(f"{results['latency_ms']} ms", names, cells))
    again, memory = results["restart"], results["memory"]
    console.print(
        f"restart over {again['calls'] - 1} answers: {again['to_first_call']:.2f} s to the first new call, "
        f"{again['peak_mb']:.0f} MB"
    )
    small, big = memory
    console.print(
        f"memory: {small['peak_mb']:.0f} MB for {small['calls']} calls, {big['peak_mb']:.0f} MB for {big['calls']} "
        f"({big['peak_mb'] / small['peak_mb']:.2f} times)"
    )
