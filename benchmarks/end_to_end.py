"""The benchmark of everything: raw sessions to a release at four sizes, each part beside its reference in one run;
how cost grows with size; what the engine costs beside a bare pool."""

import tempfile
from pathlib import Path
from statistics import correlation, linear_regression
from typing import Any

from rich.console import Console

from benchmarks.corpus import write_corpus
from benchmarks.ingest import child, machine, rounded
from openclawbench.base.terminal import table

SHARES = (0.01, 0.1, 0.3, 1.0)  # of the largest size
PARTS = {"packet": "reference", "annotate": "read_evidence", "release": "copy_lines"}  # what is measured -> beside what
ENGINES = ("processes", "bare_pool")
RAY = ("ray_1", "ray_2")
PEAK_MB, ENGINE = 1024, 1.05  # goals: peak resident memory of a process; × a bare pool


def sizes_of(sessions: int) -> list[int]:
    """The sizes to measure, the largest last."""
    return [max(1, round(sessions * share)) for share in SHARES]


def run_end_to_end(sizes: list[int], seed: int, with_ray: bool, scratch: Path | None) -> dict[str, Any]:
    """Every part at every size, each in a process of its own, the engines at the largest; nothing is left behind."""
    results = []
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="openclawbench-bench-", dir=scratch) as folder:
            corpus = Path(folder) / "corpus"
            written = write_corpus(corpus, size, seed)
            order = ["reference", "packet", "read_evidence", "annotate", "release", "copy_lines"]
            if size == sizes[-1]:
                order += [*ENGINES, *(RAY if with_ray else ())]
            measures = {name: child(name, corpus, module="end_to_end_measures") for name in order}
        results.append({"sessions": written.sessions, "bytes": written.bytes, "measures": measures})
    return {
        "machine": machine(),
        "seed": seed,
        "sizes": results,
        "ratios": ratios(results),
        "growth": {part: growth(results, part) for part in (*PARTS, "whole")},
    }


def ratios(sizes: list[dict[str, Any]]) -> dict[str, float]:
    """The numbers that have a goal or a reference, at the largest size."""
    largest = sizes[-1]["measures"]
    results = {
        f"{part}_x_{reference}_cpu": largest[part]["cpu"] / largest[reference]["cpu"]
        for part, reference in PARTS.items()
    }
    results["peak_mb"] = max(largest[part]["peak_mb"] for part in PARTS)
    for kind, key in (("wall", "working"), ("cpu", "cpu")):
        results[f"engine_x_bare_pool_{kind}"] = largest["processes"][key] / largest["bare_pool"][key]
    if "ray_2" in largest:
        results["ray_2_workers_x_1_wall"] = largest["ray_1"]["working"] / largest["ray_2"]["working"]
    return results


def growth(sizes: list[dict[str, Any]], part: str) -> dict[str, float]:
    """The straight line through CPU seconds over sessions: milliseconds a session, seconds at none, and R squared."""
    parts = PARTS if part == "whole" else (part,)
    x = [float(size["sessions"]) for size in sizes]
    y = [sum(size["measures"][name]["cpu"] for name in parts) for size in sizes]
    slope, intercept = linear_regression(x, y)
    return {"ms_per_session": 1000 * slope, "intercept_s": intercept, "r2": correlation(x, y) ** 2}


def print_end_to_end(console: Console, results: dict[str, Any]) -> None:
    """A line a measure and size, then the ratios and the lines through them."""
    console.print(f"seed {results['seed']}; {results['machine']}\n")
    columns = ("sessions", "MB", "measure", "s", "CPU-s", "x reference", "sessions/s", "peak MB")
    rows = []
    for size in results["sizes"]:
        for name, measure in size["measures"].items():
            beside = size["measures"][PARTS[name]]["cpu"] if name in PARTS else None
            numbers = (
                measure["seconds"],
                measure["cpu"],
                beside and measure["cpu"] / beside,
                size["sessions"] / measure["seconds"],
            )
            rows.append(
                [size["sessions"], round(size["bytes"] / 1e6), name, *map(rounded, (*numbers, measure["peak_mb"]))]
            )
    console.print(table(None, columns, rows))
    console.print()
    goals = {"peak_mb": PEAK_MB, "engine_x_bare_pool_wall": ENGINE, "engine_x_bare_pool_cpu": ENGINE}
    ratio_rows = [[name, rounded(value), goals.get(name)] for name, value in results["ratios"].items()]
    console.print(table("At the largest size", ("ratio", "value", "goal: at most"), ratio_rows))
    console.print()
    lines = [[name, *map(rounded, value.values())] for name, value in results["growth"].items()]
    console.print(table("CPU over sessions", ("part", "ms a session", "s at none", "R2"), lines))
