"""The benchmark of the CPU stages: what describe to packet cost beside normalize, on one corpus, in one run."""

import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.corpus import FULL, write_corpus
from benchmarks.ingest import child, machine, rounded
from openclawbench.base.terminal import table

AFTER, PEAK_MB = 0.5, 1024  # goals: CPU seconds of all stages after normalize, × normalize's; peak resident memory
WHOLE = 60  # goal: seconds from the raw files of the whole corpus to packets, on two processors


def run_stages(sessions: int, seed: int, scratch: Path | None) -> dict[str, Any]:
    """Every stage up to packet in one process, then all of it over two; nothing is left behind in `scratch`."""
    with tempfile.TemporaryDirectory(prefix="openclawbench-bench-", dir=scratch) as folder:
        corpus = Path(folder) / "corpus"
        written = write_corpus(corpus, sessions, seed)
        process = child("every_stage", corpus, threads=1)
        raw_to_packets = child("raw_to_packets", corpus)
    first, stages, after, apart = (process.pop(name) for name in ("normalize", "stages", "after", "apart"))
    return {
        "machine": machine(),
        "corpus": {"sessions": written.sessions, "bytes": written.bytes, "steps": process["steps"], "seed": seed},
        "normalize": first,
        "stages": stages,
        "after": after,
        "apart": apart,
        "process": process,
        "whole": raw_to_packets,
        "ratios": {
            "after_normalize_x_normalize_cpu": after["cpu"] / first["cpu"],
            "normalize_cpu_s": first["cpu"],
            "after_normalize_cpu_s": after["cpu"],
            "after_normalize_us_per_step": 1e6 * after["cpu"] / max(process["steps"], 1),
            "peak_mb": process["peak_mb"],
            "raw_to_packets_s": raw_to_packets["seconds"],
        },
        "goals": {
            "after_normalize_x_normalize_cpu": AFTER,
            "peak_mb": PEAK_MB,
            "raw_to_packets_s": WHOLE * sessions / FULL,
        },
    }


def print_stages(console: Console, results: dict[str, Any]) -> None:
    """A line a stage, then what has a goal."""
    corpus, normalize_cpu = results["corpus"], results["normalize"]["cpu"]
    size = f"{corpus['sessions']} sessions, {corpus['bytes'] / 1e6:.0f} MB, {corpus['steps']} steps"
    console.print(f"{size}, seed {corpus['seed']}; {results['machine']}\n")
    first = ["normalize", rounded(results["normalize"]["seconds"]), rounded(normalize_cpu), 1.0]
    parts = {
        **results["stages"],
        "all after normalize, with manifests": results["after"],
        "apart: reading the oracle's rows": results["apart"]["oracle"],
        "apart: digests of code and rules": results["apart"]["digests"],
    }
    rows = [
        [name, *map(rounded, (value["seconds"], value["cpu"], value["cpu"] / normalize_cpu))]
        for name, value in parts.items()
    ]
    console.print(table(None, ("stage", "s", "CPU-s", "x normalize"), [first, *rows]))
    console.print()
    goals = results["goals"]
    ratios = [[name, rounded(value), rounded(goals.get(name))] for name, value in results["ratios"].items()]
    console.print(table(None, ("ratio", "value", "goal: at most"), ratios))
