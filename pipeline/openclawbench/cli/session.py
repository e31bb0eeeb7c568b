"""Bring a data folder up to date as far as a verb needs, and report what happened."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.audit.calibration.released_verdicts import human_verdicts
from openclawbench.base.code_digest import PARSED, Parsed
from openclawbench.base.shard_selection import ShardSelection
from openclawbench.cli.judge_factory import make_judge
from openclawbench.cli.progress import Progress
from openclawbench.cli.release_options import commands, in_place_of_rules
from openclawbench.cli.second_pass import refuse_stale
from openclawbench.cli.settings import Settings
from openclawbench.cli.shard_budget import Purse, purse
from openclawbench.errors import UsageError
from openclawbench.flow import all_stages, second_pass_up_to, stages_up_to
from openclawbench.intake.intake import Intake, take_in
from openclawbench.intake.raw_object_store import Raw
from openclawbench.judge.client.progress import JudgeProgress
from openclawbench.judge.protocol import Judge
from openclawbench.records.fulltax import Annotation
from openclawbench.records.session import FileOutcome
from openclawbench.release.writer.publish import publish
from openclawbench.rules.loading.rule_file import CHOSEN
from openclawbench.rules.packet import PacketRules
from openclawbench.runtime.engines.choice import engine_for
from openclawbench.runtime.engines.protocol import Engine
from openclawbench.runtime.run import Run, StageReport
from openclawbench.runtime.shard_task import ShardTask
from openclawbench.storage.data_folder import DataFolder, part_name, read_json, write_json
from openclawbench.storage.object_store import ObjectStore
from openclawbench.tables.record import Record

STAGED_JUDGE = ("stage-a", "stage-b1", "stage-b2", "stage-c", "annotate", "merge", "release")


@dataclass
class Done:
    """What a run did."""

    reports: list[StageReport]
    files: pl.DataFrame  # FileOutcome
    faults: list[dict[str, Any]]
    released: bool | None = None  # null: not asked for; false: it stood already
    tables: "Tables | None" = None
    share: ShardSelection | None = None
    notes: list[dict[str, Any]] = field(default_factory=list)  # what the oracle must be said to hold, and is no fault
    sessions: int = field(init=False, default=0)
    quarantined: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.sessions = self.files.filter(pl.col("disposition") != "sidecar").height
        self.quarantined = self.files.filter(pl.col("disposition") == "quarantined").height

    @property
    def redone(self) -> int:
        """Parts that were computed."""
        return sum(report.redone for report in self.reports)


class Tables:
    """The up-to-date tables of a data folder, whole, or of the share that was brought up to date."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def __getitem__(self, record: type[Record]) -> pl.LazyFrame:
        share = self.run.share
        keys = self.run.keys[record]
        names = self.run.present(record)
        mine = {
            shard: key
            for shard, key in keys.items()
            if (share is None or share.has(shard)) and part_name(shard, key) in names
        }
        return self.run.data.scan(record, mine)


def update(
    data: DataFolder,
    settings: Settings,
    verb: str,
    progress: Progress,
    annotation_pass: int = 1,
    instead: Callable[[Judge | None], Judge | None] = lambda judge: judge,
    debug: bool = False,
) -> Done:
    """Run every stale stage up to the verb's, of the first pass or of the second; publish for `release`. The judge of
    a pass is asked over the network in that pass's own runs only; `instead` says who takes its place; `debug`
    lets the exception of a stage through."""
    data.remote = settings.parts
    asked = (settings.judge if annotation_pass == 1 else settings.second_judge) if verb in STAGED_JUDGE else None
    with (
        data.locked(settings.shard is not None),
        remembered_code(data),
        purse(data, settings, asked) as own,
    ):
        report_to = {annotation_pass: progress.asking}
        judge = judge_of(own, settings, report_to.get(1)) if verb in STAGED_JUDGE and annotation_pass == 1 else None
        second = second_judge_of(own, settings, report_to.get(2))
        if annotation_pass == 1:
            judge = instead(judge)
        else:
            second = instead(second)
        intake = taken_in(data, settings, save=True)
        remember(data, intake, settings, annotation_pass)
        run = Run(data, intake, judge, partial(engine, settings), second, settings.shard, debug)
        stages = stages_up_to(verb, second is not None) if annotation_pass == 1 else second_pass_up_to(verb)
        if annotation_pass == 1:
            refuse_stale(run, stages)
        write_json(data.manifest_file("intake"), intake_manifest(intake, settings))
        decided = {one.name: one.writes[0] for one in stages if issubclass(one.writes[0], Annotation)}
        reports = []
        for report in run.update(stages, progress.shard):
            progress.stage(report)
            if report.redone and (table := decided.get(report.stage)):
                progress.tiers(tiers(run, table))
            reports.append(report)
        released = (
            publish(run, commands(settings), check_release, human_verdicts(data))
            if verb == "release" and settings.shard is None
            else None
        )
        tables = Tables(run)
        files = tables[FileOutcome].collect()
        return Done(reports, files, intake.faults, released, tables, settings.shard, intake.warnings)


def check_release(root: Path) -> None:
    """Raises InvalidRelease. Imported where a release is made: a command that makes none starts in less time."""
    from openclawbench.release.validate.before_publishing import refuse_invalid

    refuse_invalid(root)


def tiers(run: Run, annotation: type[Record]) -> dict[str, int]:
    """Quality tier -> trajectories, of a pass."""
    table = Tables(run)[annotation].select("quality_tier").collect()
    return dict(table["quality_tier"].value_counts().iter_rows())


def taken_in(data: DataFolder, settings: Settings, save: bool) -> Intake:
    """What comes in, under the settings; those that stand in a rule file's place are put in force."""
    CHOSEN.clear()
    CHOSEN.update(in_place_of_rules(settings))
    if settings.unmatched is not None:
        CHOSEN[PacketRules.FILE] = {"unmatched": settings.unmatched}
    return take_in(data, settings.raw, settings.oracle, save, settings.bfcl_models)


@contextlib.contextmanager
def remembered_code(data: DataFolder) -> Iterator[None]:
    """The program's modules are parsed for their digests only where they have changed since the last run here."""
    known = know_code(data)
    yield
    if known != PARSED:
        write_json(data.code_file, PARSED)


def know_code(data: DataFolder) -> dict[str, Parsed]:
    """What the last run here knew of the program's modules."""
    found = read_json(data.code_file)
    known = {
        key: (tree, [(module, name) for module, name in imports]) for key, (tree, imports) in (found or {}).items()
    }
    PARSED.update(known)
    return known


def engine(settings: Settings, chains: list[ShardTask]) -> Engine:
    """What the stale shards are done with."""
    raw_bytes = sum(chain.intake.size() for chain in chains)
    return engine_for(settings.engine, settings.workers, len(chains), raw_bytes, settings.ray_address)


def judge_of(own: Purse, settings: Settings, report: Callable[[JudgeProgress], None] | None = None) -> Judge:
    """The judge of the settings; without `report` it only looks up."""
    batch = bool(settings.asking.batch)
    return make_judge(settings.judge, settings.model, own.ledger, own.settings, report, batch, own.former, own.runs)


def second_judge_of(
    own: Purse, settings: Settings, report: Callable[[JudgeProgress], None] | None = None
) -> Judge | None:
    """The judge of the second pass; null where there is none. UsageError where one is to be asked and none is named."""
    if settings.second_judge is None:
        if report is not None:
            raise UsageError("--pass 2: which judge? Name another one than the first pass's with --model or --judge.")
        return None
    name, model = settings.second_judge, settings.second_model
    return make_judge(name, model, own.ledger, own.settings, report, former=own.former, runs=own.runs)


def remember(data: DataFolder, intake: Intake, settings: Settings, annotation_pass: int) -> None:
    """Fix the number of shards for good; note what the user named, for later calls, and never a default: a data
    folder that was moved or copied reads its own inputs. The address of the first pass's judge is noted with it, so
    that no later call sends sessions elsewhere; that of a second pass is named at each."""
    values = {
        "raw": place(settings.raw),
        "oracle": None if settings.oracle is None else place(settings.oracle),
        "parts": None if settings.parts is None else settings.parts.url,
        "endpoint_url": settings.endpoint_url,
        "judge": settings.judge,
        "model": settings.model,
        "second_judge": settings.second_judge,
        "second_model": settings.second_model,
        "unmatched": settings.unmatched,
    }
    named = {name: value for name, value in values.items() if settings.origin[name] != "default"}
    asked_at = settings.asking.base_url if annotation_pass == 1 else data.layout().get("base_url")
    if asked_at is not None and "@" not in asked_at:  # one with a password is refused where it is used
        named["base_url"] = asked_at
    data.save_layout({"shards": intake.shards, **named})


def place(where: Raw) -> str:
    """The path from the root, so that it is found from any working folder; an address as it is."""
    return str(where if isinstance(where, ObjectStore) else where.resolve())


def intake_manifest(intake: Intake, settings: Settings) -> dict[str, Any]:
    """What came in."""
    return {
        "stage": "intake",
        "raw": place(settings.raw),
        "oracle": None if settings.oracle is None else place(settings.oracle),
        "shards": intake.shards,
        "files": intake.entries.rows(),
        "oracle_files": intake.counts,
        "bfcl_categories": intake.categories,
        "faults": intake.faults,
        "warnings": intake.warnings,
    }


def current(data: DataFolder, settings: Settings) -> Run:
    """The keys of every stage as they would be now, computing nothing and writing nothing."""
    know_code(data)
    data.remote = settings.parts
    own = Purse(data.ledger, None, settings.asking)
    second = second_judge_of(own, settings)
    run = Run(data, taken_in(data, settings, save=False), judge_of(own, settings), second=second)
    run.plan(all_stages(second is not None))
    return run
