"""The benchmark of size: what the last steps of a release cost with more records than anybody waits for from raw files.

The merged records are made up: the tables of a small corpus, copied under new names, shard by shard.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.corpus import write_corpus
from benchmarks.ingest import child, machine, rounded
from openclawbench.base.terminal import table

A_SHARD = 1000  # records that are copied, unless fewer are asked for
SHORT = 2_000  # bytes of a session, median: a release of a million of them fits on a disk
GOALS_MB = {31_264: 600, 300_000: 800, 1_000_000: 1000}  # of the largest process
SLOPE_KB, SPEED = 0.2, 1.6  # goals: kB a record; two processes × one


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
            alone = {name: child(f"{name}_1", large, module="size_measures") for name in ("corpus", "release")}
            side_by_side = {name: child(f"{name}_2", large, module="size_measures") for name in ("corpus", "release")}
            measures[size] = {"one process": alone, "two processes": side_by_side}
            shutil.rmtree(large)
    return {"machine": machine(), "measures": measures, "fit": fit(measures), "goals": GOALS_MB}


def peak_of(measure: dict[str, Any]) -> float:
    """MB of the largest process of corpus stages and release."""
    parts = [*measure["one process"].values(), *measure["two processes"].values()]
    return float(max(max(part["peak_mb"], part["worker_mb"]) for part in parts))


def seconds_of(parts: dict[str, Any]) -> float:
    """Seconds of corpus stages and release together."""
    return float(sum(part["seconds"] for part in parts.values()))


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
    rows, peaks = [], []
    for size, measure in results["measures"].items():
        for processes, parts in (("1", measure["one process"]), ("2", measure["two processes"])):
            for name, part in parts.items():
                numbers = [rounded(part[key]) for key in ("seconds", "cpu", "peak_mb", "worker_mb")]
                rows.append([size, name, processes, *numbers])
        speed = seconds_of(measure["one process"]) / seconds_of(measure["two processes"])
        peaks.append([size, rounded(peak_of(measure)), results["goals"].get(size), rounded(speed), SPEED])
    console.print(table(None, ("records", "what", "processes", "s", "CPU-s", "peak MB", "largest worker MB"), rows))
    console.print()
    console.print(table(None, ("records", "largest process MB", "goal", "two processes × one", "goal"), peaks))
    if results["fit"]:
        line = results["fit"]
        console.print(
            f"\nlargest process: {line['base_mb']:.0f} MB + {line['kb_a_record']:.2f} kB a record (goal {SLOPE_KB})"
        )
