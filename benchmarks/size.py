"""The benchmark of size: what the last steps of a release cost with more records than anybody waits for from raw files.

The merged records are made up: the tables of a small corpus, copied under new names, shard by shard. One process has
one thread of the dataframe library, so that it is one processor; two have one each. Beside them, in the same run, is
what the machine makes of a second processor at all: lines parsed and hashed by one process, and by two at once.
"""

import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.corpus import write_corpus
from benchmarks.ingest import child, machine, rounded
from openclawbench.base.terminal import table
from openclawbench.runtime.engines.processes import threads_of_polars

A_SHARD = 1000  # records that are copied, unless fewer are asked for
SHORT = 2_000  # bytes of a session, median: a release of a million of them fits on a disk
GOALS_MB = {31_264: 600, 300_000: 800, 1_000_000: 1000}  # of the largest process
SLOPE_KB, SPEED = 0.2, 1.6  # goals: kB a record; two processes × one


def measure(name: str, folder: Path) -> dict[str, Any]:
    """One measure of `size_measures`, in a process of its own with one thread of the dataframe library."""
    return child(name, folder, threads=1, module="size_measures")


def reference(folder: Path) -> dict[str, Any]:
    """Lines parsed and hashed by one process, and by two at once: wall seconds, and how much faster two are."""
    alone = measure("reference", folder)["seconds"]
    half = partial(child, folder=folder, module="size_measures")
    with threads_of_polars(1), ThreadPoolExecutor(2) as pool:  # set once: two threads share the environment
        halves = pool.map(half, ("reference_even", "reference_odd"))
        both = max(one["seconds"] for one in halves)
    return {"one process": alone, "two processes": both, "ceiling": alone / both}


def run_size(sizes: list[int], seed: int, scratch: Path | None) -> dict[str, Any]:
    """Corpus stages and release of each number of records, on one process and on two; nothing is left behind."""
    measures: dict[int, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="openclawbench-bench-", dir=scratch) as folder:
        small = Path(folder) / "small"
        write_corpus(small, min(A_SHARD, *sizes), seed, SHORT)
        child("released", small)
        for size in sizes:
            large = Path(folder) / "large"
            large.mkdir()
            (large / "records").write_text(str(size))
            child("made", large, module="size_measures")
            alone = {name: measure(f"{name}_1", large) for name in ("corpus", "release")}
            side_by_side = {name: measure(f"{name}_2", large) for name in ("corpus", "release")}
            measures[size] = {"one process": alone, "two processes": side_by_side, "reference": reference(large)}
            shutil.rmtree(large)
    return {"machine": machine(), "measures": measures, "fit": fit(measures), "goals": GOALS_MB}


def peak_of(measure: dict[str, Any]) -> float:
    """MB of the largest process of corpus stages and release."""
    parts = [*measure["one process"].values(), *measure["two processes"].values()]
    return float(max(max(part["peak_mb"], part["worker_mb"]) for part in parts))


def seconds_of(parts: dict[str, Any]) -> float:
    """Seconds of corpus stages and release together."""
    return float(sum(part["seconds"] for part in parts.values()))


def speed_of(measure: dict[str, Any]) -> float:
    """How many times as fast two processes are as one."""
    return seconds_of(measure["one process"]) / seconds_of(measure["two processes"])


def fit(measures: dict[int, dict[str, Any]]) -> dict[str, float] | None:
    """The line through the largest processes: MB, and kB a record; null for fewer than two sizes."""
    if len(measures) < 2:
        return None
    import numpy as np

    peaks = [peak_of(measure) for measure in measures.values()]
    slope, base = np.polyfit([*measures], peaks, 1)
    return {"base_mb": float(base), "kb_a_record": float(slope) * 1000}


def print_size(console: Console, results: dict[str, Any]) -> None:
    """A line a size and measure; the largest processes beside their goals; the fit."""
    console.print(f"{results['machine']}\n")
    rows, peaks, speeds = [], [], []
    for size, measures in results["measures"].items():
        for processes, parts in (("1", measures["one process"]), ("2", measures["two processes"])):
            for name, part in parts.items():
                numbers = [rounded(part[key]) for key in ("seconds", "cpu", "peak_mb", "worker_mb")]
                rows.append([size, name, processes, *numbers])
        peaks.append([size, rounded(peak_of(measures)), results["goals"].get(size)])
        speed, ceiling = speed_of(measures), measures["reference"]["ceiling"]
        speeds.append([size, rounded(speed), SPEED, rounded(ceiling), f"{speed / ceiling:.0%}"])
    console.print(table(None, ("records", "what", "processes", "s", "CPU-s", "peak MB", "largest worker MB"), rows))
    console.print()
    console.print(table(None, ("records", "largest process MB", "goal"), peaks))
    console.print()
    names = ("records", "two processes × one", "goal", "this machine's own ceiling", "share of it")
    console.print(table(None, names, speeds))
    if results["fit"]:
        line = results["fit"]
        console.print(
            f"\nlargest process: {line['base_mb']:.0f} MB + {line['kb_a_record']:.2f} kB a record (goal {SLOPE_KB})"
        )
