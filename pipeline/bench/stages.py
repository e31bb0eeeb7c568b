"""The benchmark of the CPU stages: what describe to packet cost beside normalize, on one corpus, in one run."""

import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from pipeline.bench.corpus import write_corpus
from pipeline.bench.ingest import child, machine, rounded
from pipeline.console.terminal import table

AFTER, PEAK_MB = 0.5, 1024  # goals: CPU seconds of all stages after normalize, × normalize's; peak resident memory


def run_stages(sessions: int, seed: int, scratch: Path | None) -> dict[str, Any]:
    """Normalize in one process, then every stage up to packet in another; nothing is left behind in `scratch`."""
    with tempfile.TemporaryDirectory(prefix="openclawbench-bench-", dir=scratch) as folder:
        corpus = Path(folder) / "corpus"
        written = write_corpus(corpus, sessions, seed)
        first = child("one_process", corpus)
        second = child("each_stage", corpus)
    stages = second.pop("stages")
    after = sum(one["cpu"] for one in stages.values())
    return {
        "machine": machine(),
        "corpus": {"sessions": written.sessions, "bytes": written.bytes, "steps": second["steps"], "seed": seed},
        "normalize": first,
        "stages": stages,
        "process": second,
        "ratios": {
            "after_normalize_x_normalize_cpu": after / first["cpu"],
            "normalize_cpu_s": first["cpu"],
            "after_normalize_cpu_s": after,
            "after_normalize_us_per_step": 1e6 * after / max(second["steps"], 1),
            "peak_mb": second["peak_mb"],
        },
        "goals": {"after_normalize_x_normalize_cpu": AFTER, "peak_mb": PEAK_MB},
    }


def print_stages(console: Console, found: dict[str, Any]) -> None:
    """A line a stage, then what has a goal."""
    corpus, whole = found["corpus"], found["normalize"]["cpu"]
    size = f"{corpus['sessions']} sessions, {corpus['bytes'] / 1e6:.0f} MB, {corpus['steps']} steps"
    console.print(f"{size}, seed {corpus['seed']}; {found['machine']}\n")
    first = ["normalize", rounded(found["normalize"]["seconds"]), rounded(whole), 1.0]
    rows = [
        [name, *map(rounded, (one["seconds"], one["cpu"], one["cpu"] / whole))] for name, one in found["stages"].items()
    ]
    console.print(table(None, ("stage", "s", "CPU-s", "x normalize"), [first, *rows]))
    console.print()
    goals = found["goals"]
    ratios = [[name, rounded(one), goals.get(name)] for name, one in found["ratios"].items()]
    console.print(table(None, ("ratio", "value", "goal: at most"), ratios))
