"""One shard through its stale stages, one after the other: what an engine is given to map over shards; or the
whole corpus, or one partition of it, through one stage."""

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from openclawbench.base.gc_control import gc_disabled
from openclawbench.intake.intake import SOURCES, Intake
from openclawbench.judge.protocol import Judge
from openclawbench.runtime.stage import PARTITIONS, Stage
from openclawbench.storage.data_folder import DataFolder
from openclawbench.storage.parquet_check import cause
from openclawbench.tables.record import Record
from openclawbench.tables.schema import StreamedTable, conform, schema

Shard = int | str
Keys = dict[Shard, str]
Judges = Mapping[int, Judge | None]  # annotation pass -> its judge
ALL: Shard = "all"
PARTS: dict[Shard, int] = {f"p{number:03}": number for number in range(PARTITIONS)}  # name of a part -> its partition
LARGEST_HELD = 64 << 20  # bytes of a table; a larger one, of a very long session, is read where it is needed


@dataclass(frozen=True)
class StageTask:
    """One stage of a chain: the key of what it is to write, the keys of what it reads."""

    stage: Stage
    key: str
    inputs: dict[type[Record], Keys]


@dataclass(frozen=True)
class ShardTask:
    """The stale stages of one shard, in order, with what enters there; or one stage of the corpus or a partition."""

    shard: Shard
    links: tuple[StageTask, ...]
    intake: Intake


@dataclass(frozen=True)
class StageResult:
    """The result of one stage of a chain. `error` is the sentence of the exception that its function raised."""

    stage: str
    shard: Shard
    seconds: float
    error: str | None = None
    cpu: float = 0.0  # seconds of the process that did it
    rows: dict[type[Record], int] = field(default_factory=dict)  # of the parts that it wrote, as far as they were held


@dataclass
class ShardWorker:
    """Carries out chains. It is sent to where they run: plain data, and the rules as they were loaded for the keys."""

    data: DataFolder
    judges: Judges
    rules: dict[str, dict[str, Any]] = field(default_factory=dict)  # stage -> parameter -> rules
    debug: bool = False  # let the exception of a stage function through, with its traceback

    def carry_out(self, chain: ShardTask) -> list[StageResult]:
        """Bring a shard up to date as far as it goes: an error ends the chain, later stages would read what is not
        there."""
        results: list[StageResult] = []
        tables = ShardTables(self.data, chain)
        with gc_disabled(), polars_engine(chain):
            for place, link in enumerate(chain.links):
                started, cpu = time.perf_counter(), time.process_time()
                tables.counted = {}
                tables.wanted = {record for link in chain.links[place + 1 :] for record in link.stage.reads.values()}
                error = self.compute(link, tables)
                spent = time.perf_counter() - started, time.process_time() - cpu
                results.append(StageResult(link.stage.name, chain.shard, spent[0], error, spent[1], tables.counted))
                if error is not None:
                    break
        return results

    def compute(self, link: StageTask, tables: "ShardTables") -> str | None:
        """Run the stage function on one shard and write its parts; an error of the function, or a part that cannot be
        read, becomes text."""
        stage = link.stage
        extra = {stage.judge: self.judges.get(stage.annotation_pass)} if stage.judge else {}
        try:
            frames = {name: tables.read(record, link.inputs[record]) for name, record in stage.reads.items()}
            result = stage.call(**frames, **self.rules[stage.name], **extra)
            results = result if isinstance(result, tuple) else (result,)
            outputs = [
                (record, as_declared(table, record)) for record, table in zip(stage.writes, results, strict=True)
            ]
        except (
            ArithmeticError,
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            pl.exceptions.PolarsError,
        ) as error:
            if self.debug:
                raise
            shard = tables.chain.shard
            if damage := cause(self.data.root, shard if isinstance(shard, int) else None):
                return str(damage).removesuffix(".")
            return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        del frames  # the bytes of a very long session are not needed while its tables are written
        tables.release_tables()
        for record, table in outputs:
            tables.write(record, link, table)
        return None


def as_declared(
    table: pl.LazyFrame | pl.DataFrame | StreamedTable, record: type[Record]
) -> pl.DataFrame | StreamedTable:
    """The result of a stage as the table that it declares."""
    if isinstance(table, StreamedTable):
        return table
    return conform(table.collect() if isinstance(table, pl.LazyFrame) else table, record)


@dataclass
class ShardTables:
    """The tables of one chain. What is made or read of a shard is held as long as a later stage of the chain reads it,
    so that no table is read twice, nor read at all where it was just made."""

    data: DataFolder
    chain: ShardTask
    wanted: set[type[Record]] = field(default_factory=set)  # by later stages of the chain
    held: dict[type[Record], pl.DataFrame] = field(default_factory=dict)
    counted: dict[type[Record], int] = field(default_factory=dict)  # rows of what the last stage made

    def read(self, record: type[Record], keys: Keys) -> pl.LazyFrame:
        """A table that a stage reads: the rows of its shard, of the whole corpus, or of a partition."""
        if record in self.held:
            return self.held[record].lazy()
        frame = load(self.data, self.chain, record, keys)
        if self.chain.shard in PARTS and "partition" in schema(record):
            return frame.filter(pl.col("partition") == PARTS[self.chain.shard])
        if record not in self.wanted or record in SOURCES or not self.is_small():
            return frame
        table = frame.collect()
        self.hold(record, table)
        return table.lazy()

    def is_small(self) -> bool:
        """True for a shard without a very long session."""
        return self.chain.intake.size() <= LARGEST_HELD

    def write(self, record: type[Record], link: StageTask, table: pl.DataFrame | StreamedTable) -> None:
        """Write a part that a stage made."""
        self.data.write_part(record, self.chain.shard, link.key, table, origins(record, link, self.chain.shard))
        if isinstance(table, pl.DataFrame):
            self.counted[record] = table.height
            if record in self.wanted:
                self.hold(record, table)

    def hold(self, record: type[Record], table: pl.DataFrame) -> None:
        """Hold a table that is not too large."""
        if table.estimated_size() <= LARGEST_HELD:
            self.held[record] = table

    def release_tables(self) -> None:
        """Release the tables that no later stage reads."""
        self.held = {record: table for record, table in self.held.items() if record in self.wanted}


def origins(record: type[Record], link: StageTask, shard: Shard) -> dict[type[Record], str]:
    """The keys of the parts whose columns a table of a stage has: of those that the stage reads, or writes with it.
    Empty in a shard that has none of them, since there are outcomes of its sessions alone."""
    lending = record.INHERITED.origins if record.INHERITED else ()
    keys = link.inputs | {written: {shard: link.key} for written in link.stage.writes}
    return {record: keys[record][shard] for record in lending if shard in keys[record]}


def load(data: DataFolder, chain: ShardTask, record: type[Record], keys: Keys) -> pl.LazyFrame:
    """The rows of a table that a shard (or the whole corpus) reads."""
    if record not in SOURCES:
        return data.scan(record, keys)
    frames = [chain.intake.read(record, int(shard)) for shard in keys]
    return frames[0] if len(frames) == 1 else pl.concat(frames) if frames else pl.LazyFrame(schema=schema(record))


def polars_engine(chain: ShardTask) -> contextlib.AbstractContextManager[Any]:
    """Polars' engine: a shard fits in memory, where it costs a fifth less; the corpus may not, and is streamed."""
    return pl.Config(engine_affinity="in-memory" if isinstance(chain.shard, int) else "streaming")
