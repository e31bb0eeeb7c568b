"""The benchmark of a release: what it costs to write one from merged records, beside its goals."""

import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.corpus import FULL, write_corpus
from benchmarks.ingest import child, machine, rounded
from openclawbench.base.terminal import table

SECONDS, PEAK_MB = 60.0, 1024  # goals, for the whole corpus on two processors
VALIDATE = 1.0  # goal: the time of `validate`, × that of the release


def run_release(sessions: int, seed: int, scratch: Path | None) -> dict[str, Any]:
    """Everything up to merge in one process, the release in another, and again with nothing changed; nothing is left
    behind in `scratch`. Peak memory is that of the process and of its largest worker, added."""
    with tempfile.TemporaryDirectory(prefix="openclawbench-bench-", dir=scratch) as folder:
        corpus = Path(folder) / "corpus"
        written = write_corpus(corpus, sessions, seed)
        merged = child("merged", corpus)
        released = child("released", corpus)
        again = child("released", corpus)
        validated = child("validated", corpus)
    return {
        "machine": machine(),
        "corpus": {"sessions": written.sessions, "bytes": written.bytes, "seed": seed},
        "measures": {"up to merge": merged, "release": released, "nothing changed": again, "validate": validated},
        "ratios": {
            "release_s": released["seconds"],
            "release_s_for_31264": released["seconds"] * FULL / written.sessions,
            "release_cpu_s_for_31264": released["cpu"] * FULL / written.sessions,
            "release_peak_mb": released["peak_mb"] + released["worker_mb"],
            "validate_x_release_s": validated["seconds"] / released["seconds"],
            "validate_peak_mb": max(validated["peak_mb"], validated["worker_mb"]),
        },
        "goals": {"release_s_for_31264": SECONDS, "release_peak_mb": PEAK_MB, "validate_x_release_s": VALIDATE},
    }


def print_release(console: Console, results: dict[str, Any]) -> None:
    """A line a measure, the parts of the release, then what has a goal."""
    corpus = results["corpus"]
    size = f"{corpus['sessions']} sessions, {corpus['bytes'] / 1e6:.0f} MB"
    console.print(f"{size}, seed {corpus['seed']}; {results['machine']}\n")
    names = ("seconds", "cpu", "peak_mb", "worker_mb")
    rows = [[name, *(rounded(value.get(part, 0.0)) for part in names)] for name, value in results["measures"].items()]
    console.print(table(None, ("measure", "s", "CPU-s", "peak MB", "largest worker MB"), rows))
    console.print()
    parts = results["measures"]["release"]["parts"]
    console.print(
        table(None, ("part of the release", "s of work"), [[name, rounded(value)] for name, value in parts.items()])
    )
    console.print()
    goals = results["goals"]
    ratios = [[name, rounded(value), goals.get(name)] for name, value in results["ratios"].items()]
    console.print(table(None, ("ratio", "value", "goal: at most"), ratios))
