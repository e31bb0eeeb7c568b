"""run(): raw sessions to a release, with the settings of the command line."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from openclawbench.errors import UsageError
from openclawbench.flow import VERBS
from openclawbench.records.fulltax import Annotation
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace import run_summary
from openclawbench.workspace.progress import Progress
from openclawbench.workspace.settings import SETTABLE, settings
from openclawbench.workspace.update import count_tiers, update

Action = Literal["block", "redact", "report"]


class RunSettings(TypedDict, total=False):
    """The settings of a run. A setting that is not given comes from the environment, openclawbench.toml in the data
    folder, the last run there, or its default, in this order. docs/reference/settings.md describes each."""

    judge: Literal["rules", "openai"] | None
    model: str | None
    second_judge: Literal["rules", "openai", "none"] | None
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
    on_keys: Action | None
    on_personal: Action | None
    jsonl: Literal["plain", "gz", "zst"] | None
    noncommercial: Literal["refuse", "accept"] | None


@dataclass(frozen=True)
class SourceCounts:
    """What came in of one source model: sessions_in = trajectories + copies + quarantined. `no_sessions` counts other
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

    @property
    def ok(self) -> bool:
        """True if no person is needed."""
        return not self.reasons


def run(
    data: str | Path,
    *,
    raw: str | Path | None = None,
    oracle: str | Path | None = None,
    to: str = "release",
    **chosen: Unpack[RunSettings],
) -> RunResult:
    """Bring a data folder up to date as far as a stage. Only what is stale is computed.

    `data` is the only folder written to; it is made if it does not exist. `raw`: raw sessions, a folder or a URL of
    object storage. `oracle`: outcomes, a JSONL file, a BFCL tree or a folder of them. `to`: the last stage, as the
    command of the same name. `chosen`: RunSettings.

    Raises UsageError for a setting or stage that does not exist, and OpenClawBenchError for everything else that stops
    a run. Inputs that cannot be read stop nothing: they are in `needs_a_person`.
    """
    if to not in VERBS:
        raise UsageError(f"to={to!r}: there is no such stage. Use one of: {', '.join(VERBS)}.")
    if unknown := sorted(chosen.keys() - SETTABLE):
        raise UsageError(f"{', '.join(unknown)}: there is no such setting. Use one of: {', '.join(sorted(SETTABLE))}.")
    folder = DataFolder(Path(data))
    inputs = {"raw": raw and str(raw), "oracle": oracle and str(oracle)}
    in_force = settings(folder, **inputs, **chosen)
    report = update(folder, in_force, to, Progress())
    is_released = report.released is not None and report.tables is not None
    is_annotated = report.tables is not None and Annotation in report.tables.run.keys
    return RunResult(
        data=folder.root,
        redone=report.redone,
        release=folder.release if is_released else None,
        sources=[SourceCounts(**row) for row in report.inputs],
        tiers=count_tiers(report.tables[Annotation]) if report.tables is not None and is_annotated else {},
        needs_a_person=run_summary.complaints(report),
        reasons=run_summary.reasons_for_a_person(report, in_force),
        warnings=run_summary.warnings(report),
        cautions=run_summary.cautions(report) if is_released else [],
        splits=run_summary.splits(report) if is_released else [],
    )
