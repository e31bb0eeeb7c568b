"""Which shards of which stages are stale; brings them up to date over an engine; writes one manifest per stage.

Key of a part = stage code + rules + judge + schemas + keys of the input parts. A stale part is rebuilt, a fresh one is
not touched. Raw bytes are hashed at the root only (intake.py). Keys hold no content that a stage makes, so all of them
are known before anything is computed, and a shard goes through its stages without waiting for the other shards.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from openclawbench.base.shard_selection import ShardSelection
from openclawbench.errors import StageFailed
from openclawbench.intake.intake import SOURCES, Intake
from openclawbench.judge.ask import MATERIAL, ShardQuestions
from openclawbench.judge.prompts import StagePrompt
from openclawbench.judge.protocol import Judge
from openclawbench.rules.loading.rule_file import NO_OVERRIDES, Overrides
from openclawbench.runtime.active_runs import ActiveRun
from openclawbench.runtime.engines.processes import KeptWorkers
from openclawbench.runtime.engines.protocol import Engine, LostTask
from openclawbench.runtime.engines.serial import Serial
from openclawbench.runtime.shard_task import (
    ALL,
    PARTS,
    Judges,
    Keys,
    Shard,
    ShardTask,
    ShardWorker,
    StageResult,
    StageTask,
    load,
)
from openclawbench.runtime.stage import PARTITIONS, Stage
from openclawbench.storage.data_folder import DataFolder, part_name, read_json, write_json
from openclawbench.tables.record import Record
from openclawbench.tables.schema import schema

PARTITION_WORK = 32  # how much more the stages of a shard do for each raw byte than one over partitions (measured)
SHARDS_NAMED = 10  # failed shards of a stage that are named where the run ends


@dataclass
class StageReport:
    """One stage in this run. `seconds` and `cpu` seconds of work are summed over its shards, which may run side
    by side."""

    stage: str
    shards: int
    stale: int  # shards, when the run began
    redone: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    failed: dict[str, str] = field(default_factory=dict)  # shard -> error
    waits_for: int | None = None  # of a stage that waits for every shard: those that are not there


class Run:
    """One pass over the flow for one data folder."""

    def __init__(
        self,
        data: DataFolder,
        intake: Intake,
        judge: Judge | None,
        choose: Callable[[list[ShardTask]], Engine] | None = None,
        second: Judge | None = None,
        share: ShardSelection | None = None,
        debug: bool = False,
        overrides: Overrides = NO_OVERRIDES,
        kept: KeptWorkers | None = None,
    ) -> None:
        """`choose` returns the engine for the stale shards; without it, this process does them all. `second` is the
        judge of the second annotation pass. With a `share`, only its shards are worked on, and stages that read the
        whole corpus wait. `debug` lets the exception of a stage through, with its traceback.
        `overrides`: keys of rule files that settings decide. `kept`: the workers of its engines, which end with each
        update, and before a judge outside is asked."""
        self.data = data
        self.debug = debug
        self.share = share
        self.overrides = overrides
        self.kept = kept or KeptWorkers()
        self.intake = intake
        self.judges: Judges = {1: judge, 2: second}
        self.choose = choose or (lambda _: Serial())
        self.keys: dict[type[Record], Keys] = {source: source_keys(intake, source) for source in SOURCES}
        self.rules: dict[str, dict[str, Any]] = {}
        self.after_all: dict[type[Record], set[Shard]] = {}  # tables that wait for every shard, and for which
        self.listed: dict[type[Record], set[str]] = {}  # names of parts, listed once until something is computed
        self.counted: dict[type[Record], int] = {}  # rows of tables that are up to date
        self.written: dict[tuple[type[Record], Shard], tuple[str, int]] = {}  # this run's parts: key, rows

    def update(self, stages: list[Stage], progress: Callable[[str, int, int], None]) -> Iterator[StageReport]:
        """Bring the stages up to date. Raises StageFailed if shards of a stage did not all succeed, after the
        other shards were brought as far as possible."""
        reports = {report.stage: report for report in self.plan(stages)}
        with ActiveRun(self.data, self.share) as running, self.kept:
            for together in rounds(stages, self.judges):
                self.update_round(together, reports, progress, running)
                for stage in together:
                    yield self.conclude(stage, reports[stage.name])
        if failed := [failure_message(report) for report in reports.values() if report.failed]:
            raise StageFailed(f"{'; '.join(failed)}. The others are done; run again with --debug to see where.")

    def plan(self, stages: list[Stage]) -> list[StageReport]:
        """Which parts would be redone, computing nothing; afterwards `keys` holds every stage's keys."""
        reports = []
        self.listed.clear()
        self.counted.clear()
        for stage in stages:
            self.rules[stage.name] = rules = {
                name: kind.load(overrides=self.overrides) for name, kind in stage.rules.items()
            }
            keys = self.part_keys(stage, rules)
            for record in stage.writes:
                self.keys[record] = keys
            if self.needs_all(stage):
                self.after_all |= {record: set() for record in stage.writes}
            mine = [shard for shard in keys if self.share is None or self.share.has(shard)]
            reports.append(StageReport(stage.name, len(mine), len(set(mine) - self.fresh(stage))))
        return reports

    def present(self, record: type[Record]) -> set[str]:
        """Names of the parts of a table that are there."""
        if record not in self.listed:
            self.listed[record] = self.data.present(record)
        return self.listed[record]

    def fresh(self, stage: Stage) -> set[Shard]:
        """The shards in which every part that the stage writes exists."""
        keys, part_names = self.keys[stage.writes[0]], [self.present(record) for record in stage.writes]
        return {shard for shard, key in keys.items() if all(part_name(shard, key) in names for names in part_names)}

    def needs_all(self, stage: Stage) -> bool:
        """True for a stage that can begin only once every shard is there."""
        return stage.scope != "shard" or not self.after_all.keys().isdisjoint(stage.reads.values())

    def missing(self, stage: Stage) -> set[Shard]:
        """The shards that lack a part which the stage reads, or for which a table that it reads waits."""
        wait, tables = self.after_all, stage.reads.values()
        return set().union(*(wait[table] if table in wait else self.lacking(table) for table in tables))

    def update_round(
        self,
        stages: list[Stage],
        reports: dict[str, StageReport],
        progress: Callable[[str, int, int], None],
        running: ActiveRun,
    ) -> None:
        """Take every shard through those of the stages for which it is stale."""
        chains = self.chains(stages)
        judge = judge_for(stages[0], self.judges)
        if judge and chains and asks_outside(stages[0], self.judges):
            self.ask_ahead(stages[0], chains, judge)
        engine: Engine = Serial()
        if asks_outside(stages[0], self.judges):
            self.kept.end()  # asking may take hours
        else:
            engine = self.choose(chains)
        # A judge with a ledger stays in this process.
        judges = {stage.annotation_pass: judge_for(stage, self.judges) for stage in stages if stage.judge}
        worker = ShardWorker(self.data, judges, {stage.name: self.rules[stage.name] for stage in stages}, self.debug)
        finished, total = 0, sum(len(chain.links) for chain in chains)
        self.listed.clear()
        self.counted.clear()
        for chain, result in engine.run(worker.carry_out, chains, running.begun):
            running.ended(chain)
            for outcome in lost_results(chain, result) if isinstance(result, LostTask) else result:
                finished += 1
                self.note(chain, outcome, reports[outcome.stage])
                progress(outcome.stage, finished, total)

    def note(self, chain: ShardTask, outcome: StageResult, report: StageReport) -> None:
        """Record the result of one stage of a chain; `status` shows a failure until the shard is redone."""
        report.seconds += outcome.seconds
        report.cpu += outcome.cpu
        if outcome.error is None:
            report.redone += 1
            self.data.forget_failure(outcome.stage, outcome.shard)
            for record, rows in outcome.rows.items():
                self.written[record, outcome.shard] = self.keys[record][outcome.shard], rows
        else:
            report.failed[str(outcome.shard)] = outcome.error
            key = next(link.key for link in chain.links if link.stage.name == outcome.stage)
            self.data.note_failure(outcome.stage, outcome.shard, key, outcome.error)

    def chains(self, stages: list[Stage]) -> list[ShardTask]:
        """For each stale shard, the stages to redo in order: those whose inputs exist or are written by an earlier
        stage of the shard. Stages over the corpus, or over its partitions, are each by themselves."""
        links: dict[tuple[Shard, str], list[StageTask]] = {}
        lacking = {record: self.lacking(record) for stage in stages for record in stage.reads.values()}
        for stage in stages:
            fresh = self.fresh(stage)
            for shard, key in self.keys[stage.writes[0]].items():
                if shard in fresh or (self.share is not None and not self.share.has(shard)):
                    continue
                inputs = {record: self.read_by(shard, record) for record in stage.reads.values()}
                chain = shard, "" if isinstance(shard, int) else stage.name
                produced = {record for link in links.get(chain, ()) for record in link.stage.writes}
                if all(record in produced or not lacking[record] & keys.keys() for record, keys in inputs.items()):
                    links.setdefault(chain, []).append(StageTask(stage, key, inputs))
        return [ShardTask(shard, tuple(tasks), self.intake_of(shard)) for (shard, _), tasks in links.items()]

    def intake_of(self, shard: Shard) -> Intake:
        """The inputs of a shard; none for the corpus. A partition has a size that stands for its work."""
        if isinstance(shard, int):
            return self.intake.only(shard)
        sizes = {} if shard == ALL else {-1: self.intake.size() // PARTITIONS // PARTITION_WORK}
        return replace(self.intake.only(-1), sizes=sizes)

    def lacking(self, record: type[Record]) -> set[Shard]:
        """The shards that lack a table's part."""
        if record in SOURCES:
            return set()
        names = self.present(record)
        return {shard for shard, key in self.keys[record].items() if part_name(shard, key) not in names}

    def read_by(self, shard: Shard, record: type[Record]) -> Keys:
        """Keys of the parts of a table that a shard reads: its own, and those over the corpus or its partitions. Stages
        over these read all."""
        keys = self.keys[record]
        return {name: keys[name] for name in (shard, ALL, *PARTS) if name in keys} if isinstance(shard, int) else keys

    def conclude(self, stage: Stage, report: StageReport) -> StageReport:
        """Where a stage is up to date: no part is left of earlier runs, and a manifest says what was done. A share
        leaves both to the run over everything, because other shares may still run."""
        keys = self.keys[stage.writes[0]]
        if self.needs_all(stage) and not keys.keys() <= self.fresh(stage):
            missing = self.missing(stage)
            self.after_all |= dict.fromkeys(stage.writes, missing)
            report.waits_for = len(missing)
        elif self.share is None and report.redone == report.stale:
            for record in stage.writes:
                self.data.sweep(record, keys)
            self.write_manifest(stage, keys, report)
        return report

    def ask_ahead(self, stage: Stage, chains: list[ShardTask], judge: Judge) -> None:
        """Let the judge answer the questions of a stage where it keeps its answers, before any shard reads them."""
        prompt: StagePrompt = self.rules[stage.name]["prompt"]
        requests, material = stage.reads["requests"], stage.reads[MATERIAL[judge.reads]]

        def rows(chain: ShardTask, table: type[Record]) -> pl.LazyFrame:
            return load(self.data, chain, table, chain.links[0].inputs[table])

        parts = (ShardQuestions(rows(chain, requests), rows(chain, material), prompt) for chain in chains)
        stale = {chain.shard: self.keys[requests][chain.shard] for chain in chains}
        judge.prepare(stage.name, parts, self.data.rows(requests, stale))

    def part_keys(self, stage: Stage, rules: dict[str, Any]) -> Keys:
        """Key of every part that the stage has to write."""
        judge = judge_for(stage, self.judges)
        base = digest(
            stage.name,
            stage.code_digest(),
            *(rules[name].digest for name in sorted(rules)),
            judge.digest if judge else "",
            *(str(schema(record)) for record in (*stage.reads.values(), *stage.writes)),
        )
        inputs = list(stage.reads.values())
        if stage.scope != "shard":
            key = digest(base, *(digest(*map(str, sorted(self.keys[r].items(), key=str))) for r in inputs))
            return dict.fromkeys([ALL] if stage.scope == "corpus" else PARTS, key)
        shards = sorted({shard for record in inputs for shard in self.keys[record] if isinstance(shard, int)}, key=str)
        shared = {r: next((key for s, key in self.keys[r].items() if not isinstance(s, int)), "absent") for r in inputs}
        return {shard: digest(base, *(self.keys[r].get(shard) or shared[r] for r in inputs)) for shard in shards}

    def write_manifest(self, stage: Stage, keys: Keys, report: StageReport) -> None:
        """The stage's manifest: what it read with which versions, rows in and out, counted reasons, seconds."""
        path = self.data.manifest_file(stage.name)
        parts = {str(shard): key for shard, key in keys.items()}
        former = read_json(path)
        if former and former.get("parts") == parts and not report.redone:
            return
        judge = judge_for(stage, self.judges)
        manifest = {
            "stage": stage.name,
            "scope": stage.scope,
            "code": stage.code_digest(),
            "rules": {r.FILE: {"version": r.version, "digest": r.digest} for r in self.rules[stage.name].values()},
            "judge": judge.describe() if judge else None,
            "inputs": {record.__name__: self.input_summary(record) for record in stage.reads.values()},
            "outputs": {record.__name__: {"rows": self.rows_of(record)} for record in stage.writes},
            "reasons": {
                record.__name__: count_reasons(record, self.data.written(record, keys)) for record in stage.writes
            },
            "counts": {
                record.__name__: sum_counts(record, self.data.written(record, keys))
                for record in stage.writes
                if record.COUNTS
            },
            "parts": parts,
            "redone": report.redone,
            "wall_time_s": round(report.seconds, 3),  # of each shard, summed
        }
        write_json(path, manifest)

    def rows_of(self, record: type[Record]) -> int:
        """Rows of a table's parts, counted once a run: several manifests name them. Only parts that this run did not
        write itself are read for it."""
        if record not in self.counted:
            written_rows, others = 0, {}
            for shard, key in self.keys[record].items():
                written, rows = self.written.get((record, shard), (None, 0))
                if written == key:
                    written_rows += rows
                else:
                    others[shard] = key
            self.counted[record] = written_rows + (self.data.rows(record, others) if others else 0)
        return self.counted[record]

    def input_summary(self, record: type[Record]) -> dict[str, Any]:
        """Digest and rows of an input table."""
        keys = self.keys[record]
        rows = self.intake.rows(record) if record in SOURCES else self.rows_of(record) if keys else None
        return {"digest": digest(*map(str, sorted(keys.items(), key=str))), "rows": rows}


def rounds(stages: list[Stage], judges: Judges) -> Iterator[list[Stage]]:
    """Stages that shards go through without waiting for each other; those over the corpus, which wait for every shard;
    and, each alone, those that ask a judge outside. What reads the tables of one that waits comes after it."""
    depth: dict[type[Record], int] = {}
    stages_by_round: dict[tuple[int, str], list[Stage]] = {}
    for stage in stages:
        at = max((depth.get(record, 0) for record in stage.reads.values()), default=0)
        alone = asks_outside(stage, judges)
        waits = alone or stage.scope != "shard"
        stages_by_round.setdefault((at, stage.name if alone else "corpus" if waits else ""), []).append(stage)
        depth |= dict.fromkeys(stage.writes, at + waits)
    for _, together in sorted(stages_by_round.items(), key=lambda item: (item[0][0], item[0][1] != "")):
        yield together


def asks_outside(stage: Stage, judges: Judges) -> bool:
    """True for a stage that is done in this process, after every shard: it asks a judge outside this program, whose
    limits and ledger are one process's to keep."""
    judge = judge_for(stage, judges)
    return judge is not None and not judge.embedded


def judge_for(stage: Stage, judges: Judges) -> Judge | None:
    """The judge that a stage asks; None if it asks none."""
    return judges.get(stage.annotation_pass) if stage.judge else None


def lost_results(chain: ShardTask, why: LostTask) -> list[StageResult]:
    """The results of a shard whose process ended before it could report them."""
    return [StageResult(chain.links[0].stage.name, chain.shard, 0.0, why.reason)]


def failure_message(report: StageReport) -> str:
    """What failed at a stage: every shard with its error, as far as one sentence can hold them."""
    named = [f"shard {shard}: {error}" for shard, error in [*report.failed.items()][:SHARDS_NAMED]]
    if (others := len(report.failed) - len(named)) > 0:
        named.append(f"and {others} more, which `openclawbench status` lists")
    return f"stage {report.stage}: {len(report.failed)} of {report.shards} shards failed; {'; '.join(named)}"


def source_keys(intake: Intake, record: type[Record]) -> Keys:
    """Key of each shard of a source table."""
    return {shard: key for shard in range(intake.shards) if (key := intake.key(record, shard)) is not None}


def digest(*parts: str) -> str:
    """24 hex digits over the parts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


def count_reasons(record: type[Record], table: pl.LazyFrame) -> list[dict[str, Any]]:
    """Rows counted by the columns that a record names in REASONS; empty if it names none."""
    columns = record.REASONS
    if not columns:
        return []
    return table.group_by(columns).agg(pl.len().alias("count")).sort(columns, nulls_last=True).collect().to_dicts()


def sum_counts(record: type[Record], table: pl.LazyFrame) -> dict[str, dict[str, int]]:
    """Named counts of the columns that a record names in COUNTS, summed over the rows: {column: {name: count}}."""
    totals = {}
    for column in record.COUNTS:
        inner = table.select(pl.col(column).explode().drop_nulls()).unnest(column)
        rows = inner.group_by("name").agg(pl.col("count").sum()).sort("name").collect().rows()
        totals[column] = dict(rows)
    return totals
