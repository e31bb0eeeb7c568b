"""The ingest benchmark: what normalize costs beside reading and parsing the same files in the same run."""

import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console

from benchmarks import command_of
from benchmarks.corpus import FULL, one_session_of, sessions_of, write_corpus, write_session
from openclawbench.base.terminal import table
from openclawbench.runtime.engines.processes import threads_of_polars

BIG_BYTES, SMALLEST_BIG = 200_000_000, 1_000_000  # of the one large session, at the default scale and at the least
DEFAULT_SCALE = 0.1
COLUMNS = ("measure", "s", "CPU-s", "MB/s", "MB/CPU-s", "x reference", "sessions/s", "peak MB")


@dataclass(frozen=True)
class Job:
    """What to measure, on how much, with which seed."""

    sessions: int
    seed: int
    big_bytes: int


def run_benchmark(job: Job, scratch: Path | None) -> dict[str, Any]:
    """Every measure, each in a child process so that its memory is its own. Nothing is left behind in `scratch`."""
    with tempfile.TemporaryDirectory(prefix="openclawbench-bench-", dir=scratch) as folder:
        corpus = Path(folder) / "corpus"
        written = write_corpus(corpus, job.sessions, job.seed)
        measures = small_sessions(corpus, job)
        shutil.rmtree(corpus)
        big = Path(folder) / "big"
        big_session = one_session_of(job.big_bytes, job.seed)
        (big / "raw").mkdir(parents=True)
        write_session(big / "raw", *big_session)
        measures |= {"big reference": child("reference", big), "big session": child("one_process", big)}
    size = {
        "sessions": written.sessions,
        "bytes": written.bytes,
        "big_bytes": len(big_session[1].content),
        "seed": job.seed,
    }
    return {"machine": machine(), "corpus": size, "measures": measures, "ratios": ratios(measures, size)}


def small_sessions(corpus: Path, job: Job) -> dict[str, Any]:
    """The measures on many sessions; the reference is measured between them, and its median is the yardstick."""
    results: dict[str, Any] = {}
    references = [child("reference", corpus)]
    results["scan"] = child("scan", corpus)
    results["scan, 1 % changed"] = child("scan_changed", corpus)
    results["normalize"] = child("one_process", corpus)
    references.append(child("reference", corpus))
    results["normalize, 2 processes"] = child("two_processes", corpus)
    results["normalize, bare pool"] = child("bare_pool", corpus)
    results["reference, 5 times"] = child("reference_again", corpus)
    results["reference, 5 times, 2 at once"] = at_once("reference_again", corpus)
    results["nothing changed"] = child("again", corpus)
    ((run, session),) = sessions_of(1, job.seed, first=job.sessions)
    write_session(corpus / "raw", run, session)
    results["one session more"] = child("again", corpus)
    references.append(child("reference", corpus))
    middle = median(result["cpu"] for result in references)
    return {"reference": next(result for result in references if result["cpu"] == middle)} | results


def child(name: str, folder: Path, threads: int | None = None, module: str = "measures") -> dict[str, Any]:
    """One measure of a module in a process of its own. `threads`: of polars; null: as many as it takes.

    Raises CalledProcessError where the measure fails; its message is on stderr.
    """
    command = [*command_of(module), name, str(folder)]
    with contextlib.nullcontext() if threads is None else threads_of_polars(threads):
        results: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return results


def at_once(name: str, folder: Path) -> dict[str, Any]:
    """The same measure in two processes at once: what the machine has of a second processor."""
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(child, (name, name), (folder, folder)))
    results = {name: max(result[name] for result in both) for name in ("seconds", "peak_mb")}
    return results | {name: sum(result[name] for result in both) for name in ("cpu", "passes")}


def ratios(measures: dict[str, Any], size: dict[str, Any]) -> dict[str, float]:
    """The numbers that have a goal."""
    single, double, bare = (measures[name] for name in ("normalize", "normalize, 2 processes", "normalize, bare pool"))
    once, twice = measures["reference, 5 times"], measures["reference, 5 times, 2 at once"]
    return {
        "normalize_x_reference_cpu": measures["reference"]["cpu"] / single["cpu"],
        "normalize_peak_mb": single["peak_mb"],
        "two_processes_x_one_wall": single["seconds"] / double["seconds"],
        "two_references_x_one_wall": 2 * once["seconds"] / twice["seconds"],
        "engine_x_bare_pool_wall": double["after_scan"] / bare["after_scan"],
        "engine_x_bare_pool_cpu": double["cpu"] / bare["cpu"],
        "scan_of_1_percent_x_scan_cpu": measures["scan, 1 % changed"]["cpu"] / measures["scan"]["cpu"],
        "scan_of_1_percent_written_mb": measures["scan, 1 % changed"]["written_mb"],
        "rerun_s_per_10000_sessions": measures["nothing changed"]["seconds"] * 10_000 / size["sessions"],
        "rerun_cpu_s_per_10000_sessions": measures["nothing changed"]["cpu"] * 10_000 / size["sessions"],
        "one_session_more_s": measures["one session more"]["seconds"],
        "one_session_more_cpu_s": measures["one session more"]["cpu"],
        "big_session_s": measures["big session"]["seconds"],
        "big_session_peak_x_size": measures["big session"]["peak_mb"] * (1 << 20) / size["big_bytes"],
    }


def machine() -> dict[str, Any]:
    """Where this was measured. Where compiled modules are not kept (PYTHONDONTWRITEBYTECODE), each process compiles the
    program again: some 2.5 s of it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = {line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")}
    return {
        "processor": ", ".join(sorted(names)) or platform.processor(),
        "processors": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "load_average": os.getloadavg()[0],
        "compiled_modules": "not kept" if sys.dont_write_bytecode else "kept",
        **{name: version(name) for name in ("msgspec", "orjson", "polars", "pyarrow") if find_spec(name)},
    }


def print_results(console: Console, results: dict[str, Any]) -> None:
    """The table and the ratios."""
    corpus, measures = results["corpus"], results["measures"]
    console.print(
        f"{corpus['sessions']} sessions, {corpus['bytes'] / 1e6:.0f} MB, "
        f"and one of {corpus['big_bytes'] / 1e6:.0f} MB, seed {corpus['seed']}; {results['machine']}\n"
    )
    rows = []
    for name, result in measures.items():
        big = name.startswith("big")
        passes = result.get("passes", 1)
        size, sessions = (corpus["big_bytes"], 1) if big else (corpus["bytes"] * passes, corpus["sessions"] * passes)
        yardstick = measures["big reference" if big else "reference"]["cpu"] * passes
        numbers = [result["seconds"], result["cpu"], size / 1e6 / result["seconds"], size / 1e6 / result["cpu"]]
        reads_all = name not in ("scan, 1 % changed", "nothing changed", "one session more")  # these read only stamps
        rates = [yardstick / result["cpu"] if reads_all else None, sessions / result["seconds"], result["peak_mb"]]
        rows.append([name, *map(rounded, [*numbers[:2], *(numbers[2:] if reads_all else (None, None)), *rates])])
    console.print(table(None, COLUMNS, rows))
    console.print()
    console.print(
        table(None, ("ratio", "value"), [[name, rounded(result)] for name, result in results["ratios"].items()])
    )


def rounded(value: float | None) -> float | None:
    """Three digits are more than a benchmark knows."""
    return None if value is None else float(f"{value:.3g}")


def big_bytes_at(scale: float) -> int:
    """Bytes of the one large session at a scale: whole from the default scale (0.1) on, below it as much smaller."""
    return max(SMALLEST_BIG, round(BIG_BYTES * min(1.0, scale / DEFAULT_SCALE)))


def sessions_at(scale: float) -> int:
    """Sessions of a corpus at a scale; 1 is the whole."""
    return max(1, round(FULL * scale))
