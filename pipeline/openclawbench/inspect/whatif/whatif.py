"""What if: the evidence of the work tables made again with other rules, in memory, and where it differs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from openclawbench.construct.align import align
from openclawbench.construct.describe.describe import describe
from openclawbench.construct.fuse import fuse
from openclawbench.construct.onset import onset
from openclawbench.construct.packet import packet
from openclawbench.construct.slice import slice
from openclawbench.errors import NotFound, StageFailed
from openclawbench.inspect.find import fresh
from openclawbench.inspect.whatif.changes import changes
from openclawbench.intake.intake import SOURCES
from openclawbench.records.session import Trajectory
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.runtime.run import Run
from openclawbench.runtime.stage import Stage
from openclawbench.storage.parquet_check import cause
from openclawbench.tables.record import Record
from openclawbench.tables.schema import conform, schema

# The stages between the steps and the judge, in the order of the flow: what a rule of theirs moves is compared.
EVIDENCE: list[Stage] = [describe, align, fuse, slice, onset, packet]
RULES: dict[str, type[Rules]] = {kind.FILE: kind for stage in EVIDENCE for kind in stage.rules.values()}
Shard = int | str
Tables = dict[type[Record], pl.LazyFrame]


@dataclass(frozen=True)
class Question:
    """Other rules, and the stages that they reach: those that read one of the files, and what follows from them."""

    changed: dict[str, Rules]  # file -> rules
    stages: list[Stage]
    compared: list[type[Record]]


def question(changed: dict[str, Rules], packets: bool) -> Question:
    """What must be made again. Packets, which nothing else depends on, only where asked for or where their own rules
    are other ones."""
    wanted = EVIDENCE if packets or packet_file() in changed else [one for one in EVIDENCE if one is not packet]
    moved: set[type[Record]] = set()
    stages = []
    for stage in wanted:
        reads_changed = any(kind.FILE in changed for kind in stage.rules.values())
        if reads_changed or moved & set(stage.reads.values()):
            stages.append(stage)
            moved |= set(stage.writes)
    return Question(changed, stages, [record for stage in stages for record in stage.writes])


def packet_file() -> str:
    """The rule file of packets."""
    (kind,) = packet.rules.values()
    return kind.FILE


def shards_that_are_fresh(run: Run, asked: Question) -> list[Shard]:
    """Shards of which every table that is read or compared is up to date. NotFound where there is none."""
    needed = {record for stage in asked.stages for record in (*stage.reads.values(), *stage.writes)} - set(SOURCES)
    found = [fresh(run, record).keys() for record in needed | {Trajectory}]
    shards = sorted(set.intersection(*map(set, found)), key=str)
    if not shards:
        raise NotFound(
            f"{run.data.root}: the evidence is not up to date. Run `openclawbench run --data {run.data.root}` first."
        )
    return shards


def moved(run: Run, asked: Question, shards: Sequence[Shard]) -> Iterator[pl.DataFrame]:
    """Every change of one shard after another, a row each (columns: whatif_changes.CHANGE)."""
    loaded = {stage.name: loaded_rules(stage, asked.changed) for stage in asked.stages}
    for shard in shards:
        after = made_again(run, asked, shard, loaded)
        yield changes({record: load(run, record, shard) for record in asked.compared}, after)


def loaded_rules(stage: Stage, changed: dict[str, Rules]) -> dict[str, Rules]:
    """A stage's rules: the changed ones, else those in force."""
    return {name: changed.get(kind.FILE) or kind.load() for name, kind in stage.rules.items()}


def made_again(run: Run, asked: Question, shard: Shard, rules: dict[str, dict[str, Rules]]) -> Tables:
    """The tables of one shard with other rules. StageFailed where a stage cannot work with them."""
    made: Tables = {}
    for stage in asked.stages:
        frames = {name: made.get(record, load(run, record, shard)) for name, record in stage.reads.items()}
        try:
            result: Any = stage.call(**frames, **rules[stage.name])
            tables = result if isinstance(result, tuple) else (result,)
            for record, table in zip(stage.writes, tables, strict=True):
                done = table.collect() if isinstance(table, pl.LazyFrame) else table
                made[record] = conform(done, record).lazy()
        except (ArithmeticError, LookupError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
            if damage := cause(run.data.root):
                raise damage from error
            files = ", ".join(kind.FILE for kind in stage.rules.values() if kind.FILE in asked.changed)
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise StageFailed(
                f"stage {stage.name} cannot work with these rules ({files or 'what they lead to'}): {said}"
            ) from error
    return made


def rows(run: Run, record: type[Record], shards: Sequence[Shard]) -> int:
    """Rows of a table in these shards."""
    parts = {shard: run.keys[record][shard] for shard in shards}
    return run.data.rows(record, parts)


def load(run: Run, record: type[Record], shard: Shard) -> pl.LazyFrame:
    """One shard of a table as it stands."""
    key = run.keys[record].get(shard)
    if key is None:
        return pl.LazyFrame(schema=schema(record))
    if record in SOURCES:
        return run.intake.read(record, int(shard))
    return run.data.scan(record, {shard: key})
