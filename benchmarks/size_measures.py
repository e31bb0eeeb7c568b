"""What the benchmark of size measures, each in a process of its own: `python -m benchmarks.size_measures NAME FOLDER`.

Beside FOLDER lies `small/`, a corpus that is merged. `made` writes tables for as many records as FOLDER/records says;
the others carry out the corpus stages and the release on them.
"""

import contextlib
import hashlib
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.measures import REPEATS, chosen, largest_worker_mb, measured
from openclawbench.base.code_digest import code_digest
from openclawbench.flow import FLOW
from openclawbench.intake.intake import SOURCES, Intake
from openclawbench.intake.rows_by_shard import ByShard, TableByShard
from openclawbench.records.oracle import OracleRow
from openclawbench.records.session import FileOutcome, RunManifestRow
from openclawbench.release.labels.fingerprint import fingerprint
from openclawbench.release.writer.publish import publish
from openclawbench.release.writer.render import render
from openclawbench.runtime.engines.processes import KeptWorkers, Processes
from openclawbench.runtime.engines.protocol import Engine
from openclawbench.runtime.engines.serial import Serial
from openclawbench.runtime.run import Run
from openclawbench.runtime.stage import Stage
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.record import TRAJECTORY_KEY, Keyed, Record
from openclawbench.workspace.update import cached_code_digests, open_run, release_checks

EARLIER = {"coverage"}  # stages over the corpus that come before `fingerprint` in the flow
GIVEN = (fingerprint, render)  # their tables are made up


def last_stages() -> list[Stage]:
    """The stages that are measured: those over the corpus, and all that come after the fingerprints."""
    after = FLOW[FLOW.index(fingerprint) + 1 :]
    return [stage for stage in FLOW if stage not in GIVEN and (stage in after or stage.scope != "shard")]


def given_tables() -> set[type[Record]]:
    """The tables that these stages and the release read and do not write."""
    stages = last_stages()
    read = {record for stage in stages for record in stage.reads.values()}
    return (
        (read | set(render.writes) | {FileOutcome})
        - {record for stage in stages for record in stage.writes}
        - {*SOURCES}
    )


def small_run(folder: Path) -> Run:
    """The corpus whose tables are copied."""
    small = folder.parent / "small"
    data = DataFolder(small / "data")
    return open_run(data, chosen(small))


def made(folder: Path) -> dict[str, Any]:
    """The tables of as many records as `records` says."""
    records = int((folder / "records").read_text())
    small = small_run(folder)
    copied = small.intake.entries.rows()
    shards = max(1, round(records / copied))
    templates = {record: template_of(small, record) for record in given_tables()}
    intake = made_intake(small.intake, shards, folder)
    (folder / "intake.pickle").write_bytes(pickle.dumps(intake))
    with large_run(folder) as run:
        code_digest(publish.__module__)
        for record, template in templates.items():
            for shard, key in run.keys[record].items():
                run.data.write_part(record, shard, key, renamed(template, f"-{shard:05x}"))
    return {"records": shards * copied, "shards": shards}


def template_of(small: Run, record: type[Record]) -> pl.DataFrame:
    """A table of the small corpus, in the order that a shard's table has."""
    table = small.data.scan(record, small.keys[record]).collect()
    return table.sort(TRAJECTORY_KEY, maintain_order=True) if issubclass(record, Keyed) else table


def made_intake(small: Intake, shards: int, folder: Path) -> Intake:
    """The inputs that the tables would come from."""
    import msgspec

    entries = [entry for some in small.entries.values() for entry in some]
    rows = [row for some in small.oracle_rows.values() for row in some]
    by_shard, oracle = ByShard[Any]({}, folder / "entries"), TableByShard(OracleRow, {}, folder / "oracle")
    for shard in range(shards):
        name = f"-{shard:05x}"
        by_shard.add(shard, [msgspec.structs.replace(entry, path=entry.path + name) for entry in entries])
        oracle.add(shard, [row | {"row_id": row["row_id"] + name} for row in rows])
    manifest = TableByShard(RunManifestRow, {}, folder / "manifest")
    return Intake(small.raw, by_shard, manifest, oracle, dict.fromkeys(range(shards), 1), [], shards)


def renamed(table: pl.DataFrame, suffix: str) -> pl.DataFrame:
    """A copy of a table's rows under other names, with other texts where these are compared."""
    kinds = table.schema
    changes: dict[str, Any] = {}
    for name in ("trajectory_id", "path", "row_id"):
        if kinds.get(name) == pl.String:
            changes[name] = pl.col(name) + suffix
    for name in ("oracle_rows", "oracle_rows_set_aside"):
        if kinds.get(name) == pl.List(pl.String):
            changes[name] = pl.col(name).list.eval(pl.element() + suffix)
    for name in ("text_sha256", "task_digest"):
        if name in kinds:
            digests = [None if value is None else digest(value + suffix) for value in table[name]]
            changes[name] = pl.Series(digests, dtype=pl.String)
    if kinds.get("line") == pl.String:
        pairs = zip(table["line"], table["trajectory_id"], strict=True)
        changes["line"] = pl.Series([line.replace(f'"{name}"', f'"{name}{suffix}"') for line, name in pairs])
    renamed_rows = table.with_columns(**changes)
    return other_texts(renamed_rows, suffix) if "minhash" in kinds else renamed_rows


def digest(text: str) -> str:
    """sha256 in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def other_texts(table: pl.DataFrame, suffix: str) -> pl.DataFrame:
    """Rows of Fingerprint with MinHashes of texts that are like no other."""
    import numpy as np

    random = np.random.default_rng(int(digest(suffix)[:12], 16))
    width = len(table["minhash"][0])
    values = random.integers(0, 1 << 32, (table.height, width), np.uint32)
    kind = table.schema["minhash"]
    return table.with_columns(minhash=pl.Series(values).arr.to_list().cast(kind))


@contextlib.contextmanager
def large_run(folder: Path) -> Iterator[Run]:
    """A run over the tables that were made. It need not parse the program for its digests, like any but the first."""
    data = DataFolder(folder / "data")
    intake: Intake = pickle.loads((folder / "intake.pickle").read_bytes())
    settings = chosen(folder.parent / "small")
    with cached_code_digests(data):
        yield open_run(data, settings, intake)


def engine_of(processes: int, kept: KeptWorkers) -> Engine:
    """One process, which is this one, or several, which stay as those of a command do."""
    return Serial() if processes == 1 else Processes(processes, kept)


def corpus(folder: Path, processes: int) -> dict[str, Any]:
    """The corpus stages."""
    with large_run(folder) as run:
        run.choose = lambda _: engine_of(processes, run.kept)
        reports = list(run.update(last_stages(), lambda *_: None))
    return {"parts": {report.stage: report.seconds for report in reports}, "worker_mb": largest_worker_mb()}


def release(folder: Path, processes: int) -> dict[str, Any]:
    """The release folder."""
    with large_run(folder) as run, KeptWorkers() as kept:
        publish(run, ["bench size"], release_checks(), make_engine=lambda _: engine_of(processes, kept))
    index = run.data.release / "record_index.jsonl"
    with index.open("rb") as lines:
        return {"records": sum(1 for _ in lines), "worker_mb": largest_worker_mb()}


def again(measure: Callable[[Path, int], dict[str, Any]], folder: Path, processes: int) -> dict[str, Any]:
    """A measure, as if it had not been carried out before."""
    data = DataFolder(folder / "data")
    for stage in last_stages():
        for record in stage.writes:
            data.sweep(record, {})
    data.manifest_file("publish").unlink(missing_ok=True)
    return measure(folder, processes)


def reference(folder: Path, first: int = 0, every: int = 1) -> dict[str, Any]:
    """Parse and hash every line that is made up, or of some shards; several times, so that two are at once."""
    import orjson

    shards = sorted((folder / "data" / "work" / "release_line").glob("*.parquet"))[first::every]
    lines = 0
    for path in shards * REPEATS:
        for line in pl.read_parquet(path, columns=["line"])["line"]:
            hashlib.sha256(line.encode()).hexdigest()
            orjson.loads(line)
            lines += 1
    return {"lines": lines}


MEASURES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "made": made,
    "corpus_1": lambda folder: again(corpus, folder, 1),
    "release_1": partial(release, processes=1),
    "corpus_2": lambda folder: again(corpus, folder, 2),
    "release_2": partial(release, processes=2),
    "reference": reference,
    "reference_even": partial(reference, first=0, every=2),
    "reference_odd": partial(reference, first=1, every=2),
}

if __name__ == "__main__":
    measured(MEASURES, *sys.argv[1:])
