"""What the ingest benchmark measures, each in a process of its own.

`python -m benchmarks.measures NAME FOLDER` measures one.

Prints one JSON line: wall seconds and CPU seconds of the work (the program's start is not in them), peak resident
memory of the process, and what was done.
"""

import contextlib
import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from openclawbench.construct.normalize.normalize import normalize
from openclawbench.flow import stages_up_to
from openclawbench.intake.intake import Intake, take_in
from openclawbench.judge.protocol import Judge
from openclawbench.runtime.engines.processes import Processes, start_worker, threads_each, threads_of_polars
from openclawbench.runtime.run import Run, StageReport
from openclawbench.runtime.shard_task import ShardWorker
from openclawbench.runtime.stage import Stage
from openclawbench.storage.data_folder import DataFolder, read_json
from openclawbench.workspace.progress import Progress
from openclawbench.workspace.settings import Settings, settings
from openclawbench.workspace.update import update

Result = TypeVar("Result")
PROCESSES = 2
REPEATS = 5  # of the reference, where two of them are to be at work at once


def sessions_below(folder: Path) -> list[Path]:
    """Every session file of the corpus, in the order of names."""
    return sorted((folder / "raw").glob("*/*.jsonl"))


def reference(folder: Path) -> dict[str, Any]:
    """Read every file and parse every line with orjson, keeping nothing: the yardstick."""
    import orjson  # of the extra `bench`: the pipeline itself does without

    lines = 0
    for path in sessions_below(folder):
        for line in path.read_bytes().split(b"\n"):
            try:
                orjson.loads(line)
            except ValueError:
                continue  # blank, torn, or with half an emoji
            lines += 1
    return {"lines": lines}


def reference_again(folder: Path) -> dict[str, Any]:
    """The reference several times over: long enough that two of them at once are at once."""
    return {"lines": sum(reference(folder)["lines"] for _ in range(REPEATS)), "passes": REPEATS}


def scan(folder: Path) -> dict[str, Any]:
    """Open, digest and recognise every file."""
    intake = take_in(DataFolder(folder / "scanned"), folder / "raw", None, save=True)
    return {"shards": intake.shards}


def scan_changed(folder: Path) -> dict[str, Any]:
    """The same again, with a new time at every hundredth file; `written_mb`: of the scan that is kept."""
    for path in sessions_below(folder)[::100]:
        path.touch()
    work = DataFolder(folder / "scanned").work
    before = {path: path.stat().st_mtime_ns for path in work.glob("scan*")}
    scan(folder)
    written = [path for path in work.glob("scan*") if path.stat().st_mtime_ns != before.get(path)]
    return {"written_mb": sum(path.stat().st_size for path in written) / 1e6}


def one_process(folder: Path) -> dict[str, Any]:
    """From raw files to durable Parquet: scan and normalize, into a data folder that has nothing."""
    data = DataFolder(folder / "data")
    intake = take_in(data, folder / "raw", None, save=True)
    data.save_layout({"shards": intake.shards})
    (report,) = Run(data, intake, None).update([normalize], lambda *_: None)
    return {"shards": report.redone}


def two_processes(folder: Path) -> dict[str, Any]:
    """The same over two processes."""
    data = DataFolder(folder / "data-2")
    intake = take_in(data, folder / "raw", None, save=True)
    data.save_layout({"shards": intake.shards})
    started, engine = time.perf_counter(), Processes(PROCESSES)
    (report,) = Run(data, intake, None, lambda _: engine).update([normalize], lambda *_: None)
    return {"shards": report.redone, "after_scan": time.perf_counter() - started}


def bare_pool(folder: Path) -> dict[str, Any]:
    """The same shards mapped by the standard library's pool of two processes, which does nothing else."""
    data = DataFolder(folder / "data-bare")
    run = Run(data, take_in(data, folder / "raw", None, save=True), None)
    run.plan([normalize])
    worker = ShardWorker(data, {}, run.rules)
    started = time.perf_counter()
    with library_pool() as pool:
        results = list(pool.map(worker.carry_out, run.chains([normalize])))
    return {"shards": len(results), "after_scan": time.perf_counter() - started}


@contextlib.contextmanager
def library_pool() -> Iterator[ProcessPoolExecutor]:
    """The standard library's pool, whose processes have the threads of polars that workers have."""
    spawn = multiprocessing.get_context("spawn")
    with threads_of_polars(threads_each(PROCESSES)), ProcessPoolExecutor(PROCESSES, spawn) as pool:
        yield pool


def again(folder: Path) -> dict[str, Any]:
    """`openclawbench normalize` on a folder that is up to date, or in which one session is new."""
    data = DataFolder(folder / "data")
    summary = update(data, settings(data, raw=str(folder / "raw")), "normalize", Progress())
    return {"redone": summary.redone}


def every_stage(folder: Path) -> dict[str, Any]:
    """Raw files to packets in one process, set up as each worker of a run is: a shard goes through all stages.

    Of CPU and wall seconds `normalize` has the scan of the sessions, its stage and its manifest; `stages` has every
    stage after it, `after` the rest of the run: those stages, what the engine does, and their manifests. `apart` has
    what belongs to none of them: the oracle's rows, which are read before any stage, and the digests of code and rules.
    """
    start_worker()
    data, run_through = DataFolder(folder / "data"), stages_up_to("packet")
    scanned, intake = timed(lambda: take_in(data, folder / "raw", None, save=True))
    data.save_layout({"shards": intake.shards})
    oracle, intake = timed(lambda: take_in(data, folder / "raw", folder / "oracle", save=True))
    run = Concluded(data, intake, None)
    digests, _ = timed(lambda: run.plan(run_through))
    total, report_of_stage = timed(
        lambda: {report.stage: report for report in run.update(run_through, lambda *_: None)}
    )
    reports = [report_of_stage[stage.name] for stage in run_through]
    each = {report.stage: {"cpu": report.cpu, "seconds": report.seconds, "shards": report.redone} for report in reports}
    first = each.pop("normalize")
    own = {name: first[name] + run.spent["normalize"][name] for name in total}
    return {
        "normalize": {name: scanned[name] + own[name] for name in scanned},
        "stages": each,
        "after": {name: total[name] - own[name] for name in total},
        "apart": {"oracle": oracle, "digests": digests},
        "steps": read_json(data.manifest_file("describe"))["outputs"]["Descriptor"]["rows"],
    }


class Concluded(Run):
    """A run that says what it took to conclude each stage: to count its rows, and to leave its manifest."""

    def __init__(self, data: DataFolder, intake: Intake, judge: Judge | None) -> None:
        super().__init__(data, intake, judge)
        self.spent: dict[str, dict[str, float]] = {}

    def conclude(self, stage: Stage, report: StageReport) -> StageReport:
        """As any run does."""
        self.spent[stage.name], report = timed(partial(super().conclude, stage, report))
        return report


def timed(work: Callable[[], Result]) -> tuple[dict[str, float], Result]:
    """CPU and wall seconds of some work, and what it gives."""
    cpu, started = cpu_seconds(), time.perf_counter()
    result = work()
    return {"cpu": cpu_seconds() - cpu, "seconds": time.perf_counter() - started}, result


def raw_to_packets(folder: Path) -> dict[str, Any]:
    """From raw files to packets over two processes, into a data folder that has nothing: what a person waits for."""
    data, engine = DataFolder(folder / "data-whole"), Processes(PROCESSES)
    intake = take_in(data, folder / "raw", folder / "oracle", save=True)
    data.save_layout({"shards": intake.shards})
    reports = list(Run(data, intake, None, lambda _: engine).update(stages_up_to("packet"), lambda *_: None))
    return {"shards": reports[0].redone}


def merged(folder: Path) -> dict[str, Any]:
    """Everything up to merged records, with the rules judge."""
    summary = update(DataFolder(folder / "data"), chosen(folder), "merge", Progress())
    return {"redone": summary.redone, "worker_mb": largest_worker_mb()}


def released(folder: Path) -> dict[str, Any]:
    """A release of what `merged` left: fingerprints, cuts, counts, lines; then the folder itself."""
    started = time.perf_counter()
    summary = update(DataFolder(folder / "data"), chosen(folder), "release", Progress())
    parts = {report.stage: report.seconds for report in summary.reports if report.redone}
    seconds = {**parts, "everything": time.perf_counter() - started}
    return {"redone": summary.redone, "released": summary.released, "parts": seconds, "worker_mb": largest_worker_mb()}


def validated(folder: Path) -> dict[str, Any]:
    """Every check of the release, over two processes."""
    from openclawbench.release.validate.validate import validate

    findings = validate(folder / "data" / "release", PROCESSES)
    return {"findings": findings.counts.total(), "worker_mb": largest_worker_mb()}


def chosen(folder: Path) -> Settings:
    """The settings with which a corpus is released."""
    data = DataFolder(folder / "data")
    paths = {name: str(folder / name) for name in ("raw", "oracle")}
    return settings(data, **paths, judge="rules", engine="processes", workers=PROCESSES)


def largest_worker_mb() -> float:
    """Peak resident memory of the largest process that this one waited for."""
    return max_rss_mb(resource.RUSAGE_CHILDREN)


def max_rss_mb(who: int) -> float:
    """Peak resident memory by getrusage: bytes on macOS, kilobytes elsewhere."""
    return resource.getrusage(who).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


MEASURES: dict[str, Callable[[Path], dict[str, Any]]] = {
    function.__name__: function
    for function in (
        reference,
        reference_again,
        scan,
        scan_changed,
        one_process,
        two_processes,
        bare_pool,
        again,
        every_stage,
        raw_to_packets,
        merged,
        released,
        validated,
    )
}


def cpu_seconds() -> float:
    """CPU of this process and of those it waited for."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def peak_mb() -> float:
    """Peak resident memory of this process; Linux's own mark, because rusage keeps the parent's across a fork."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return max_rss_mb(resource.RUSAGE_SELF)


def measured(measures: dict[str, Callable[[Path], dict[str, Any]]], name: str, folder: str) -> None:
    """Measure one, and print it."""
    before, started = cpu_seconds(), time.perf_counter()
    base = peak_mb()
    result = measures[name](Path(folder))
    seconds, cpu = time.perf_counter() - started, cpu_seconds() - before
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak_mb": peak_mb(), "base_mb": base, **result}))


if __name__ == "__main__":
    measured(MEASURES, *sys.argv[1:])
