"""Bring a data folder up to date as far as a verb needs, and report what happened."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import polars as pl

from openclawbench.audit.calibration.released_verdicts import human_verdicts
from openclawbench.base.code_digest import parse_cache
from openclawbench.base.shard_selection import ShardSelection
from openclawbench.errors import NotJudged, UsageError
from openclawbench.flow import JUDGING_VERBS, all_stages, second_pass_up_to, stages_up_to
from openclawbench.intake.intake import Intake
from openclawbench.intake.raw_object_store import Raw
from openclawbench.judge.client.progress import JudgeProgress
from openclawbench.judge.protocol import Judge
from openclawbench.records.fulltax import Annotation
from openclawbench.records.session import FileOutcome
from openclawbench.release.writer.publish import publish
from openclawbench.release.writer.steps import Checks
from openclawbench.runtime.engines.choice import PARALLEL_BYTES, engine_for
from openclawbench.runtime.engines.processes import KeptWorkers, Processes, processors
from openclawbench.runtime.engines.protocol import Engine
from openclawbench.runtime.engines.serial import Serial
from openclawbench.runtime.run import Run, StageReport
from openclawbench.runtime.shard_task import ShardTask
from openclawbench.storage.data_folder import DataFolder, part_name, write_json
from openclawbench.storage.object_store import ObjectStore
from openclawbench.tables.record import Record
from openclawbench.workspace.certificates import quoted_certificates
from openclawbench.workspace.configuration.setting_table import LANGUAGE_MODEL, NO_JUDGE
from openclawbench.workspace.configuration.settings_file import note_settings
from openclawbench.workspace.file_outcomes import count_inputs, noted_files
from openclawbench.workspace.inputs import load_code_digests, take_in_inputs
from openclawbench.workspace.judges import make_judge, noting_files
from openclawbench.workspace.openness import refuse_more_open
from openclawbench.workspace.progress import Progress
from openclawbench.workspace.release_settings import release_commands, rule_overrides
from openclawbench.workspace.second_pass import is_same_judge, refuse_stale_second_pass
from openclawbench.workspace.settings import ASKING, NEEDED, STORAGE, Settings
from openclawbench.workspace.shares import AskingResources, asking_resources

SECOND_PASS_FOLDER = "pass2"  # in a folder of batch files
STAGED_JUDGE = ("stage-a", "stage-b1", "stage-b2", "stage-c", "annotate", "merge", "release")


@dataclass
class RunReport:
    """The result of a run."""

    reports: list[StageReport]
    inputs: list[dict[str, Any]]  # count_inputs()
    noted: pl.DataFrame  # noted_files()
    faults: list[dict[str, Any]]
    released: bool | None = None  # None: not requested; false: it existed already
    tables: "Tables | None" = None
    share: ShardSelection | None = None
    notes: list[dict[str, Any]] = field(default_factory=list)  # remarks on the oracle that are not faults
    setting_notes: list[str] = field(default_factory=list)  # settings that were written, or are for this run alone
    unjudged: str | None = None  # sessions whose questions nobody asked yet
    sessions: int = field(init=False, default=0)
    quarantined: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.sessions = sum(row["sessions_in"] for row in self.inputs)
        self.quarantined = sum(row["quarantined"] for row in self.inputs)

    @property
    def redone(self) -> int:
        """Parts that were computed."""
        return sum(report.redone for report in self.reports)


class Tables:
    """The up-to-date tables of a data folder, or of the share that was updated."""

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
    replace_judge: Callable[[Judge | None], Judge | None] = lambda judge: judge,
    debug: bool = False,
    notes: bool = True,
) -> RunReport:
    """Run every stale stage up to the verb's, of the first or the second pass, and publish for `release`.

    A run sends questions to the judge of its own pass only, and only if it may (`asks`). `replace_judge` may put
    another judge in its place. With `debug` the exception of a stage is raised as it is. `notes`: write
    openclawbench.toml if there is none.
    """
    may_ask = asks(settings, verb, annotation_pass)
    own_judge = settings.judge if annotation_pass == 1 else settings.second_judge
    if settings.origin["batch_files"] == "flag" and own_judge != LANGUAGE_MODEL:
        raise UsageError("--batch-files: no language model is named. Name it with --judge openai --model NAME.")
    if verb in JUDGING_VERBS or (verb in STAGED_JUDGE and settings.second_judge is not None):
        refuse_no_judge(settings, annotation_pass)
    if may_ask and own_judge == LANGUAGE_MODEL:
        settings.refuse_untrusted(ASKING, data.root)
    if verb == "release" and settings.shard is None:
        refuse_more_open(data, settings)
    data.remote = settings.parts
    judge_name = (
        (settings.judge if annotation_pass == 1 else settings.second_judge)
        if verb in STAGED_JUDGE and may_ask
        else None
    )
    with (
        data.locked(settings.shard is not None),
        cached_code_digests(data),
        asking_resources(data, settings, judge_name) as own,
        KeptWorkers() as kept,
    ):
        report_to = {annotation_pass: progress.asking} if may_ask else {}
        judge = first_judge(own, settings, report_to.get(1)) if verb in STAGED_JUDGE and annotation_pass == 1 else None
        second = second_judge(own, settings, report_to.get(2), annotation_pass == 2)
        asked = judge if annotation_pass == 1 else second
        if annotation_pass == 1:
            judge = replace_judge(judge)
        else:
            second = replace_judge(second)
        intake = take_in_inputs(data, settings, save=True)
        note_layout(data, intake, settings)
        setting_notes = note_settings(data, settings, annotation_pass, may_ask) if notes else []
        engine, overrides = partial(make_engine, settings, kept), rule_overrides(settings)
        run = Run(data, intake, judge, engine, second, settings.shard, debug, overrides, kept)
        stages = stages_up_to(verb, second is not None) if annotation_pass == 1 else second_pass_up_to(verb)
        if annotation_pass == 1:
            refuse_stale_second_pass(run, stages)
        write_json(data.manifest_file("intake"), intake_manifest(intake, settings))
        decided = {stage.name: stage.writes[0] for stage in stages if issubclass(stage.writes[0], Annotation)}
        reports, unjudged = [], None
        try:
            with noting_files(asked, progress):
                for report in run.update(stages, progress.shard):
                    progress.stage(report)
                    if report.redone and (table := decided.get(report.stage)):
                        progress.tiers(count_tiers(Tables(run)[table]))
                    reports.append(report)
        except NotJudged as error:
            unjudged = str(error) if may_ask else f"{error} Ask them: openclawbench annotate --data {data.root}"
        released = (
            publish(
                run,
                release_commands(settings),
                release_checks(),
                human_verdicts(data),
                quoted_certificates(data, run),
                partial(release_engine, settings, intake.size(), data.remote is not None, kept),
            )
            if verb == "release" and settings.shard is None and unjudged is None
            else None
        )
        tables = Tables(run)
        inputs, noted = count_inputs(tables[FileOutcome]), noted_files(tables[FileOutcome])
        return RunReport(
            reports,
            inputs,
            noted,
            intake.faults,
            released,
            tables,
            settings.shard,
            intake.warnings,
            setting_notes,
            unjudged,
        )


def release_checks() -> Checks:
    """The checks of a new release. The import waits until one is made, so that other commands start in less time."""
    from openclawbench.release.validate.before_publishing import check_file, refuse_invalid

    return Checks(check_file, refuse_invalid)


def count_tiers(annotations: pl.LazyFrame) -> dict[str, int]:
    """Quality tier -> trajectories, in the order of names; without those that have none. `annotations`: Annotation, of
    either pass."""
    return dict(
        annotations.drop_nulls("quality_tier").group_by("quality_tier").len().sort("quality_tier").collect().iter_rows()
    )


@contextlib.contextmanager
def cached_code_digests(data: DataFolder) -> Iterator[None]:
    """Parse a module of the program for its digest only if it has changed since the last run in this folder."""
    cached = load_code_digests(data)
    yield
    if cached != parse_cache.rows():
        write_json(data.code_file, parse_cache.rows())


def make_engine(settings: Settings, kept: KeptWorkers, chains: list[ShardTask]) -> Engine:
    """The engine that computes the stale shards."""
    raw_bytes = sum(chain.intake.size() for chain in chains)
    return engine_for(settings.engine, settings.workers, len(chains), raw_bytes, settings.ray_address, kept)


def release_engine(settings: Settings, raw_bytes: int, remote: bool, kept: KeptWorkers, tasks: int) -> Engine:
    """The engine that writes a release of `raw_bytes` bytes. Worker processes write a large one, even if only one works
    at a time, so that this process holds nothing of it. With parts in object storage they are processes of this
    machine, which has the folder that they write to."""
    if settings.engine == "ray" and not remote:
        return engine_for("ray", settings.workers, tasks, raw_bytes, settings.ray_address)
    if settings.engine == "serial" or (settings.engine == "auto" and raw_bytes < PARALLEL_BYTES):
        return Serial()
    return Processes(settings.workers or processors(), kept)


def first_judge(
    own: AskingResources, settings: Settings, report: Callable[[JudgeProgress], None] | None = None
) -> Judge | None:
    """The judge of the first pass; None if there is none. Without `report` it only looks answers up."""
    return make_judge(settings.judge, settings.model, own.ledger, own.settings, report, own.former, own.runs)


def refuse_no_judge(settings: Settings, annotation_pass: int) -> None:
    """Raise UsageError if no judge is named, and one is needed."""
    if settings.judge != NO_JUDGE:
        return
    if annotation_pass == 2 or settings.second_judge is not None:
        raise UsageError(
            "a second pass needs a first, and no judge is named of it. Name one: --judge openai --model NAME."
        )
    raise UsageError(
        "which judge? Name a language model with --judge openai --model NAME (and --base-url for an endpoint of your "
        "own). Without a judge, `openclawbench run` releases what is known, without labels."
    )


def second_judge(
    own: AskingResources,
    settings: Settings,
    report: Callable[[JudgeProgress], None] | None = None,
    is_needed: bool = False,
) -> Judge | None:
    """The judge of the second pass; None without one. Raises UsageError if one is needed and none is named."""
    if settings.second_judge is None:
        if is_needed:
            raise UsageError("--pass 2: which judge? Name another one than the first pass's with --model or --judge.")
        return None
    name, model, asking = settings.second_judge, settings.second_model, own.settings
    if asking.batch_files is not None:
        asking = asking.model_copy(update={"batch_files": asking.batch_files / SECOND_PASS_FOLDER})
    return make_judge(name, model, own.ledger, asking, report, own.former, own.runs, is_same_judge(settings))


def asks(settings: Settings, verb: str, annotation_pass: int) -> bool:
    """True if this run may ask a judge outside: the commands that judge, and a run whose judge, or batch files, are
    named by option. Any other run reads the stored answers, so that no costs arise by accident."""
    named = ("judge", "model", "batch_files") if annotation_pass == 1 else ("second_judge", "second_model")
    return verb in JUDGING_VERBS or any(settings.origin[name] == "flag" for name in named)


def note_layout(data: DataFolder, intake: Intake, settings: Settings) -> None:
    """Save the number of shards, and which addresses of storage the run needed, but not the addresses."""
    needed = [name for name in STORAGE if settings.origin[name] != "default" and name != "raw"]
    data.save_layout({"shards": intake.shards} | ({NEEDED: needed} if needed else {}))


def absolute_location(location: Raw) -> str:
    """An absolute path, which is found from any working folder; a URL as it is."""
    return str(location if isinstance(location, ObjectStore) else location.resolve())


def intake_manifest(intake: Intake, settings: Settings) -> dict[str, Any]:
    """The manifest of the inputs."""
    return {
        "stage": "intake",
        "raw": absolute_location(settings.raw),
        "oracle": None if settings.oracle is None else absolute_location(settings.oracle),
        "shards": intake.shards,
        "files": intake.entries.rows(),
        "oracle_files": intake.counts,
        "bfcl_categories": intake.categories,
        "faults": intake.faults,
        "warnings": intake.warnings,
    }


def open_run(data: DataFolder, settings: Settings, scanned: Intake | None = None) -> Run:
    """A run with the keys of every stage as they would be now. Nothing is computed or written.

    `scanned`: the inputs, if they have been scanned already.
    """
    load_code_digests(data)
    data.remote = settings.parts
    own = AskingResources(data.ledger, None, settings.asking)
    second = second_judge(own, settings)
    intake = take_in_inputs(data, settings, save=False) if scanned is None else scanned
    run = Run(data, intake, first_judge(own, settings), second=second, overrides=rule_overrides(settings))
    run.plan(all_stages(second is not None))
    return run
