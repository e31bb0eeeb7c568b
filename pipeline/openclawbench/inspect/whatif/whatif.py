"""What if: compute the evidence again in memory with other rules, and compare it with the work tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
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
from openclawbench.inspect.whatif.rules import differs, passed_over, read_own
from openclawbench.inspect.whatif.splits import split_again
from openclawbench.inspect.whatif.tally import Tally
from openclawbench.intake.intake import SOURCES
from openclawbench.records.session import Step, Trajectory
from openclawbench.rules.loading.rule_file import Overrides, Rules
from openclawbench.rules.release.release import ReleaseRules
from openclawbench.runtime.run import Run
from openclawbench.runtime.stage import Stage
from openclawbench.storage.parquet_check import cause
from openclawbench.tables.record import Record
from openclawbench.tables.schema import conform, schema

# The stages between the steps and the judge, in the order of the flow.
EVIDENCE: list[Stage] = [describe, align, fuse, slice, onset, packet]
RULES: dict[str, type[Rules]] = {kind.FILE: kind for stage in EVIDENCE for kind in stage.rules.values()}
KINDS = RULES | {ReleaseRules.FILE: ReleaseRules}  # rule files that can be replaced
Shard = int | str
Tables = dict[type[Record], pl.LazyFrame]


@dataclass(frozen=True)
class Plan:
    """Changed rules, and the stages that they reach: those that read a changed file, and those downstream."""

    changed: dict[str, Rules]  # file -> rules
    stages: list[Stage]
    compared: list[type[Record]]


def what_if_by_shard(
    run: Run, paths: list[Path], examples: int = 3, packets: bool = False
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """(shards done, of how many, the changes so far) after each shard; the work tables stay as they are.

    `paths`: rule files, or folders of them, in place of those in force. `examples`: the number for each changed
    value. `packets`: compare packets too. Keys: rules, passed_over, stages, shards, shards_left_out, trajectories,
    steps, moved (trajectories), changes (Tally.as_data), sides (of the splits, before and after; null if unchanged).
    Raises what read_own(), fresh_shards() and run_again() raise.
    """
    own = read_own(paths, KINDS)
    changed = {file: rules for file, (_, rules) in own.items() if differs(rules)}
    plan = make_plan({file: rules for file, rules in changed.items() if file in RULES}, packets)
    shards = fresh_shards(run, plan)
    tally = Tally(examples)
    about = {
        "rules": [{"path": str(path), "file": file, "differs": file in changed} for file, (path, _) in own.items()],
        "passed_over": [str(path) for path in passed_over(paths, KINDS)],
        "stages": [*(stage.name for stage in plan.stages), *(["split"] if ReleaseRules.FILE in changed else [])],
        "shards": len(shards),
        "shards_left_out": len(run.keys[Trajectory]) - len(shards),
        "trajectories": count_rows(run, Trajectory, shards),
        "steps": count_rows(run, Step, shards),
    }
    for finished, frame in enumerate(compare(run, plan, shards), 1):
        tally.add(frame)
        if finished < len(shards):
            yield finished, len(shards), about | {"moved": tally.moved, "changes": tally.as_data(), "sides": None}
    sides: dict[str, Any] | None = None
    if ReleaseRules.FILE in changed:
        moved_sides, sides = split_again(run, changed[ReleaseRules.FILE])
        tally.add(moved_sides)
    yield len(shards), len(shards), about | {"moved": tally.moved, "changes": tally.as_data(), "sides": sides}


def make_plan(changed: dict[str, Rules], packets: bool) -> Plan:
    """The stages to run again. Packets, on which no other table depends, only on request or if their rules change."""
    wanted = EVIDENCE if packets or packet_file() in changed else [stage for stage in EVIDENCE if stage is not packet]
    changed_tables: set[type[Record]] = set()
    stages = []
    for stage in wanted:
        reads_changed = any(kind.FILE in changed for kind in stage.rules.values())
        if reads_changed or changed_tables & set(stage.reads.values()):
            stages.append(stage)
            changed_tables |= set(stage.writes)
    return Plan(changed, stages, [record for stage in stages for record in stage.writes])


def packet_file() -> str:
    """The rule file of packets."""
    (kind,) = packet.rules.values()
    return kind.FILE


def fresh_shards(run: Run, plan: Plan) -> list[Shard]:
    """Shards in which all tables that are read or compared are up to date. Raises NotFound if no shard is."""
    needed = {record for stage in plan.stages for record in (*stage.reads.values(), *stage.writes)} - set(SOURCES)
    by_table = [set(fresh(run, record)) for record in needed | {Trajectory}]
    shards = sorted(set.intersection(*by_table), key=str)
    if not shards:
        raise NotFound(
            f"{run.data.root}: the evidence is not up to date. Run `openclawbench run --data {run.data.root}` first."
        )
    return shards


def compare(run: Run, plan: Plan, shards: Sequence[Shard]) -> Iterator[pl.DataFrame]:
    """The changes of one shard after another (columns: change.CHANGE)."""
    loaded = {stage.name: loaded_rules(stage, plan.changed, run.overrides) for stage in plan.stages}
    for shard in shards:
        after = run_again(run, plan, shard, loaded)
        yield changes({record: load(run, record, shard) for record in plan.compared}, after)


def loaded_rules(stage: Stage, changed: dict[str, Rules], overrides: Overrides) -> dict[str, Rules]:
    """A stage's rules: the changed ones, else those in force."""
    return {name: changed.get(kind.FILE) or kind.load(overrides=overrides) for name, kind in stage.rules.items()}


def run_again(run: Run, plan: Plan, shard: Shard, rules: dict[str, dict[str, Rules]]) -> Tables:
    """The tables of one shard under the changed rules. StageFailed if a stage cannot work with them."""
    tables: Tables = {}
    for stage in plan.stages:
        frames = {name: tables.get(record, load(run, record, shard)) for name, record in stage.reads.items()}
        try:
            result: Any = stage.call(**frames, **rules[stage.name])
            written = result if isinstance(result, tuple) else (result,)
            for record, table in zip(stage.writes, written, strict=True):
                frame = table.collect() if isinstance(table, pl.LazyFrame) else table
                tables[record] = conform(frame, record).lazy()
        except (ArithmeticError, LookupError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
            if damage := cause(run.data.root):
                raise damage from error
            files = ", ".join(kind.FILE for kind in stage.rules.values() if kind.FILE in plan.changed)
            message = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise StageFailed(
                f"stage {stage.name} cannot work with these rules ({files or 'what follows from them'}): {message}"
            ) from error
    return tables


def count_rows(run: Run, record: type[Record], shards: Sequence[Shard]) -> int:
    """Rows of a table in these shards."""
    parts = {shard: run.keys[record][shard] for shard in shards}
    return run.data.rows(record, parts)


def load(run: Run, record: type[Record], shard: Shard) -> pl.LazyFrame:
    """One shard of a table in the data folder."""
    key = run.keys[record].get(shard)
    if key is None:
        return pl.LazyFrame(schema=schema(record))
    if record in SOURCES:
        return run.intake.read(record, int(shard))
    return run.data.scan(record, {shard: key})
