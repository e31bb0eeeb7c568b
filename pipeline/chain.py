"""One shard through the stages that it owes, one after the other: what an engine is given to map over shards."""

import contextlib
import gc
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import polars as pl

from pipeline.intake import SOURCES, Intake
from pipeline.judge.protocol import Judge
from pipeline.records.base import Record
from pipeline.stage import Stage
from pipeline.store import DataFolder
from pipeline.tables import Streamed, conform, schema

Shard = int | str
Keys = dict[Shard, str]
Judges = Mapping[int, Judge | None]  # annotation pass -> its judge
ALL: Shard = "all"
HANDED_ON = 64 << 20  # bytes of a table; a larger one, of a very long session, is read again where it is needed
Made = dict[type[Record], pl.DataFrame]  # tables of this shard that a later stage of its chain reads


@dataclass(frozen=True)
class Link:
    """One stage of a chain: the key of what it is to write, the keys of what it reads."""

    stage: Stage
    key: str
    inputs: dict[type[Record], Keys]


@dataclass(frozen=True)
class Chain:
    """The stale stages of one shard (or of the whole corpus), in order, with what enters there."""

    shard: Shard
    links: tuple[Link, ...]
    intake: Intake


@dataclass(frozen=True)
class Outcome:
    """What became of one stage of a chain. `error` is the sentence of the exception that its function raised."""

    stage: str
    shard: Shard
    seconds: float
    error: str | None = None


@dataclass
class Worker:
    """Carries out chains. It is sent to where they run: plain data, and the rules as they were loaded for the keys."""

    data: DataFolder
    judges: Judges
    rules: dict[str, dict[str, Any]] = field(default_factory=dict)  # stage -> parameter -> rules
    debug: bool = False  # let the exception of a stage function through, with its traceback

    def carry_out(self, chain: Chain) -> list[Outcome]:
        """Bring a shard up to date as far as it goes: an error ends the chain, later stages would read what is not
        there."""
        found: list[Outcome] = []
        made: Made = {}
        with collector_off(), engine_of(chain):
            for place, link in enumerate(chain.links):
                started = time.perf_counter()
                later = {record for one in chain.links[place + 1 :] for record in one.stage.reads.values()}
                error = self.compute(chain, link, made, later)
                found.append(Outcome(link.stage.name, chain.shard, time.perf_counter() - started, error))
                if error is not None:
                    break
        return found

    def compute(self, chain: Chain, link: Link, made: Made, later: set[type[Record]]) -> str | None:
        """Run the stage function on one shard and write its parts; an error of the function becomes text. Of what is
        `made`, no more than what is read `later` stays."""
        stage, data = link.stage, self.data
        frames = {
            name: made[record].lazy() if record in made else load(data, chain, record, link.inputs[record])
            for name, record in stage.reads.items()
        }
        extra = {stage.judge: self.judges.get(stage.annotation_pass)} if stage.judge else {}
        try:
            result = stage.call(**frames, **self.rules[stage.name], **extra)
            tables = result if isinstance(result, tuple) else (result,)
            done = [(record, carried_out(table, record)) for record, table in zip(stage.writes, tables, strict=True)]
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
            return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        del frames  # the bytes of a very long session are not needed while its tables are written
        for record in made.keys() - later:
            del made[record]
        for record, table in done:
            data.write_part(record, chain.shard, link.key, table)
            if record in later and chain.shard != ALL and is_handed_on(table):
                made[record] = table
        return None


def carried_out(table: pl.LazyFrame | pl.DataFrame | Streamed, record: type[Record]) -> pl.DataFrame | Streamed:
    """What a stage hands back, as the table that it declares."""
    if isinstance(table, Streamed):
        return table
    return conform(table.collect() if isinstance(table, pl.LazyFrame) else table, record)


def is_handed_on(table: pl.DataFrame | Streamed) -> TypeGuard[pl.DataFrame]:
    """True for a table that is kept for a later stage."""
    return isinstance(table, pl.DataFrame) and table.estimated_size() <= HANDED_ON


def load(data: DataFolder, chain: Chain, record: type[Record], keys: Keys) -> pl.LazyFrame:
    """The rows of a table that a shard (or the whole corpus) reads."""
    if record not in SOURCES:
        return data.scan(record, keys)
    found = [chain.intake.read(record, int(shard)) for shard in keys if shard != ALL]
    return found[0] if len(found) == 1 else pl.concat(found) if found else pl.LazyFrame(schema=schema(record))


def engine_of(chain: Chain) -> contextlib.AbstractContextManager[Any]:
    """Polars' engine: a shard fits in memory, where it costs a fifth less; the corpus may not, and is streamed."""
    return contextlib.nullcontext() if chain.shard == ALL else pl.Config(engine_affinity="in-memory")


@contextlib.contextmanager
def collector_off() -> Iterator[None]:
    """No cyclic garbage collection while a shard is computed: rows are trees, freed without it, and walking over
    them again and again costs a fifth of normalize."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
