"""run(): from raw sessions to a release, with the settings of the command line."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from openclawbench.errors import NEEDS_A_PERSON, UsageError
from openclawbench.flow import JUDGING_VERBS, VERBS
from openclawbench.records.fulltax import Annotation
from openclawbench.records.release import SummaryCount
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace import run_summary
from openclawbench.workspace.certificates import certificate_lines
from openclawbench.workspace.configuration.setting_table import NO_JUDGE
from openclawbench.workspace.dry_run import JudgingCost, judging_cost
from openclawbench.workspace.progress import Progress
from openclawbench.workspace.release_settings import describe_finds
from openclawbench.workspace.second_pass import independence_warnings
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import RunReport, count_tiers, update

Action = Literal["block", "redact", "report"]


class RunSettings(TypedDict, total=False):
    """The settings of a run. A setting that is not given comes from the environment, openclawbench.toml in the data
    folder, the user's config.toml, or its default, in this order. docs/reference/settings.md describes each."""

    judge: Literal["none", "openai"] | None
    model: str | None
    second_judge: Literal["openai", "none"] | None
    second_model: str | None
    unmatched: Literal["exclude", "review"] | None
    blind: bool | None
    quarantine_limit: int | None
    engine: Literal["auto", "serial", "processes", "ray"] | None
    workers: int | None
    ray_address: str | None
    parts: str | None
    endpoint_url: str | None
    shard: str | None
    base_url: str | None
    concurrency: int | None
    rpm: float | None
    tpm: float | None
    budget_usd: float | None
    budget_tokens: int | None
    price_in: float | None
    price_out: float | None
    price_cached: float | None
    transport: Literal["aiohttp", "openai"] | None
    batch: bool | None
    batch_files: str | None
    on_keys: Action | None
    on_personal: Action | None
    jsonl: Literal["plain", "gz", "zst"] | None
    test_share: float | None
    noncommercial: Literal["refuse", "accept"] | None


@dataclass(frozen=True)
class SourceCounts:
    """The input of one source model: sessions_in = trajectories + copies + quarantined. `no_sessions` counts other
    files, `records_in` the raw records of all."""

    source_model: str
    sessions_in: int
    trajectories: int
    copies: int
    quarantined: int
    no_sessions: int
    records_in: int


@dataclass(frozen=True)
class RunResult:
    """What a run did."""

    data: Path
    redone: int  # parts of tables that were computed; 0 if nothing had changed
    release: Path | None  # None if the run did not go so far
    sources: list[SourceCounts]
    tiers: dict[str, int]  # quality tier -> trajectories; empty if the run did not go so far
    needs_a_person: list[str]  # a sentence for each input that a person must look at; the rest is done
    reasons: list[str]  # why the command line would exit with status 1; empty if it would not
    warnings: list[str] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)  # what the splits lack
    splits: list[dict[str, Any]] = field(default_factory=list)  # cut, side, records, decided, anomalous
    to: str = "release"  # the last stage
    independence: list[str] = field(default_factory=list)  # a sentence if both annotation passes ask the same judge
    left_in: list[str] = field(default_factory=list)  # a sentence for keys or personal data that the release holds
    judges: list[str] = field(default_factory=list)  # of each judge of the release: its certificate, if any
    setting_notes: list[str] = field(default_factory=list)  # settings that were written, or are for this run alone
    judging: JudgingCost | None = None  # of a release that nobody judged: what judging it would cost
    report: RunReport = field(repr=False, compare=False, kw_only=True)  # of each stage; may change without notice

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: everything but the run's inputs and tables."""
        return vars(self) | {"as_dict": self.as_dict, "report": replace(self.report, tables=None)}

    @property
    def ok(self) -> bool:
        """True if no person is needed."""
        return not self.reasons

    @cached_property
    def as_dict(self) -> dict[str, Any]:
        """What the command prints with --json: `verb` is the last stage, `stages` has shards and seconds of each."""
        report = self.report
        data: dict[str, Any] = {
            "verb": self.to,
            "redone": self.redone,
            "stages": [vars(stage) for stage in report.reports],
            "sources": report.inputs,
            "needs_a_person": self.needs_a_person,
            "warnings": self.warnings,
            "settings": self.setting_notes,
        }
        if report.share is not None:
            shards, waiting = run_summary.shards_of_share(report), run_summary.waiting_stages(report)
            data |= {"share": str(report.share), "shards": shards, "waiting": waiting}
        elif self.release is not None and report.tables is not None:
            data["release"] = str(self.release)
            data["left_in"] = self.left_in
            data["summary"] = run_summary.summarize(report.tables[SummaryCount].collect())
            if self.judging is not None:
                data["judging"] = vars(self.judging)
            data |= {"splits": self.splits, "cautions": self.cautions, "judges": self.judges}
        return data | {"exit": {"status": NEEDS_A_PERSON if self.reasons else 0, "why": self.reasons}}


def run(
    data: str | Path,
    *,
    raw: str | Path | None = None,
    oracle: str | Path | None = None,
    to: str = "release",
    annotation_pass: int = 1,
    progress: Progress | None = None,
    debug: bool = False,
    **chosen: Unpack[RunSettings],
) -> RunResult:
    """Bring a data folder up to date as far as a stage. Only what is stale is computed.

    `data` is the only folder written to; it is made if it does not exist. `raw`: raw sessions, a folder or a URL of
    object storage. `oracle`: outcomes, a JSONL file, a BFCL tree or a folder of them. `to`: the last stage, as the
    command of the same name. `annotation_pass`: 2 for the second pass, of `second_judge`; `to` is then annotate, or
    stage-a to stage-c. `progress` receives what happens meanwhile. `debug` lets the exception of a stage through.
    `chosen`: RunSettings.

    Raises UsageError for a setting, stage or pass that does not exist, and OpenClawBenchError for everything else that
    stops a run. Inputs that cannot be read stop nothing: they are in `needs_a_person`.
    """
    if to not in VERBS:
        raise UsageError(f"to={to!r}: there is no such stage. Use one of: {', '.join(VERBS)}.")
    if annotation_pass not in (1, 2):
        raise UsageError(f"annotation_pass={annotation_pass!r}: there is no such pass. Use 1 or 2.")
    if annotation_pass == 2 and to not in JUDGING_VERBS:
        raise UsageError(f"to={to!r}: is not part of a second pass. Use one of: {', '.join(JUDGING_VERBS)}.")
    folder = DataFolder(Path(data))
    inputs = {"raw": raw and str(raw), "oracle": oracle and str(oracle)}
    in_force = settings(folder, **inputs, **chosen)
    report = update(folder, in_force, to, progress or Progress(), annotation_pass, debug=debug)
    tables = report.tables
    released = tables if report.released is not None else None
    is_annotated = tables is not None and Annotation in tables.run.keys
    return RunResult(
        data=folder.root,
        redone=report.redone,
        release=folder.release if released else None,
        sources=[SourceCounts(**row) for row in report.inputs],
        tiers=count_tiers(tables[Annotation]) if tables is not None and is_annotated else {},
        needs_a_person=run_summary.complaints(report),
        reasons=run_summary.reasons_for_a_person(report, in_force),
        warnings=run_summary.warnings(report),
        cautions=run_summary.cautions(report) if released else [],
        splits=run_summary.splits(report) if released else [],
        to=to,
        independence=independence_warnings(in_force),
        left_in=describe_finds(folder) if released else [],
        judges=certificate_lines(folder, released.run) if released else [],
        setting_notes=report.setting_notes,
        judging=judging_cost(released.run, in_force) if released and in_force.judge == NO_JUDGE else None,
        report=report,
    )
