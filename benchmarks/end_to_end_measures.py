"""What the end-to-end benchmark measures, each in a process of its own:
`python -m benchmarks.end_to_end_measures NAME FOLDER`. Prints one JSON line, as `measures` does.

A reference is the least that the work beside it could be: parsing the raw lines; reading what a judge reads; reading
the lines of a release and writing them with their digest.
"""

import hashlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measures import PROCESSES, library_pool, measured, reference
from openclawbench.flow import stages_up_to
from openclawbench.intake.intake import take_in
from openclawbench.records.packet import Evidence
from openclawbench.records.release import ReleaseLine
from openclawbench.runtime.engines.processes import Processes
from openclawbench.runtime.engines.protocol import Engine
from openclawbench.runtime.engines.ray_core import RayCore
from openclawbench.runtime.run import Run
from openclawbench.runtime.shard_task import ShardTask, ShardWorker
from openclawbench.storage.data_folder import DataFolder, table_name
from openclawbench.workspace.progress import Progress
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import update

Result = dict[str, Any]


def through(folder: Path, verb: str) -> Result:
    """`openclawbench VERB` in one process, on a folder in which everything before is up to date."""
    data = DataFolder(folder / "data")
    inputs = {"raw": str(folder / "raw"), "oracle": str(folder / "oracle"), "engine": "serial", "judge": "rules"}
    summary = update(data, settings(data, **inputs), verb, Progress())
    return {"redone": summary.redone, "shards": max(report.shards for report in summary.reports)}


def packet(folder: Path) -> Result:
    """From raw files to packets."""
    return through(folder, "packet")


def annotate(folder: Path) -> Result:
    """FullTax with the rules judge, checks and repairs."""
    return through(folder, "annotate")


def release(folder: Path) -> Result:
    """Merge, fingerprints, splits, the release's files."""
    return through(folder, "release")


def parts(folder: Path, record: type[Any]) -> list[Path]:
    """The parts of a table."""
    return sorted((folder / "data" / "work" / table_name(record)).glob("*.parquet"))


def read_evidence(folder: Path) -> Result:
    """Read what the rules judge reads, as plain data, and do nothing with it."""
    data, names = DataFolder(folder / "data"), [path.stem.partition("-") for path in parts(folder, Evidence)]
    tables = (data.scan(Evidence, {int(shard): key}) for shard, _, key in names)
    return {"rows": sum(len(table.collect().to_dicts()) for table in tables)}


def copy_lines(folder: Path) -> Result:
    """Read the lines of the release and write each once, with its digest, and nothing else."""
    import polars as pl

    count = 0
    digest = hashlib.sha256()
    with (folder / "lines.jsonl").open("wb") as file:
        for path in parts(folder, ReleaseLine):
            for line in pl.read_parquet(path, columns=["line"])["line"]:
                content = line.encode() + b"\n"
                digest.update(content)
                file.write(content)
                count += 1
    return {"lines": count, "sha256": digest.hexdigest()}


def planned(folder: Path, name: str) -> tuple[Run, list[ShardTask]]:
    """A run to packets over a data folder that has nothing, and the shards with their stages."""
    data = DataFolder(folder / name)
    run = Run(data, take_in(data, folder / "raw", folder / "oracle", save=True), None)
    stages = [stage for stage in stages_up_to("packet") if stage.scope == "shard"]
    run.plan(stages)
    return run, run.chains(stages)


def over(engine: Engine, folder: Path, name: str) -> Result:
    """The shards over an engine; `working` is the time from the first shard that is handed out."""
    run, chains = planned(folder, name)
    begun: list[float] = []
    worker = ShardWorker(run.data, {}, run.rules)
    shards = len(list(engine.run(worker.carry_out, chains, lambda _: begun.append(time.perf_counter()))))
    return {"shards": shards, "working": time.perf_counter() - begun[0]}


def processes(folder: Path) -> Result:
    """The engine `processes`."""
    return over(Processes(PROCESSES), folder, "data-processes")


def bare_pool(folder: Path) -> Result:
    """The same shards mapped by the standard library's pool, which does nothing else."""
    run, chains = planned(folder, "data-bare")
    worker = ShardWorker(run.data, {}, run.rules)
    started = time.perf_counter()
    with library_pool() as pool:
        shards = len(list(pool.map(worker.carry_out, chains)))
    return {"shards": shards, "working": time.perf_counter() - started}


def ray_1(folder: Path) -> Result:
    """The engine `ray` with one worker; its start is not in `working`."""
    return over(RayCore(1), folder, "data-ray-1")


def ray_2(folder: Path) -> Result:
    """The engine `ray` with two."""
    return over(RayCore(PROCESSES), folder, "data-ray-2")


MEASURES: dict[str, Callable[[Path], Result]] = {
    measure.__name__: measure
    for measure in (
        reference,
        packet,
        read_evidence,
        annotate,
        copy_lines,
        release,
        processes,
        bare_pool,
        ray_1,
        ray_2,
    )
}


if __name__ == "__main__":
    measured(MEASURES, *sys.argv[1:])
