"""OpenClawBench from Python: what the command line does, for notebooks and programs. docs/library.md shows it.

    from openclawbench.api import run, open_data, open_release, explain, validate

Nothing here prints. What the command line says on stderr is in the results; what it refuses is raised as
`openclawbench.errors.OpenClawBenchError`, whose text is that sentence.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl

from openclawbench.cli import export_tables as export
from openclawbench.cli import tables as report
from openclawbench.cli.progress import Progress
from openclawbench.cli.run_summary import cautions_of, why_a_person
from openclawbench.cli.session import current, update
from openclawbench.cli.settings import SETTABLE, settings
from openclawbench.errors import UnreadableInput, UsageError
from openclawbench.flow import VERBS
from openclawbench.inspect.explain.explain import explain as explained
from openclawbench.inspect.find import find, left_out
from openclawbench.inspect.sides import sides, table_of_sides
from openclawbench.records.release import LabelAssignment
from openclawbench.release.card.configs import models_of
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.validate import validate as every_check
from openclawbench.release.writer.parquet import shards_of
from openclawbench.release.writer.render import MASTER_FILE, ROOT
from openclawbench.runtime.run import Run
from openclawbench.storage.data_folder import DataFolder, read_json

__all__ = ["Data", "Findings", "Ran", "Release", "explain", "open_data", "open_release", "run", "validate"]

Where = str | Path
Side = Literal["train", "test"]
CUTS = {"default": "", "paper": "paper_cut/"}


@dataclass(frozen=True)
class Ran:
    """What a run did."""

    data: Path
    redone: int  # parts of tables that were computed; 0: nothing had changed
    release: Path | None  # null where the run was not to go so far
    needs_a_person: list[str]  # sentences on inputs that a person must look at; the rest was done
    why: list[str]  # why the command line would end with status 1; empty where it would not
    warnings: list[str] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)  # what the splits lack
    splits: list[dict[str, Any]] = field(default_factory=list)  # cut, side, records, decided, anomalous


def run(
    data: Where, *, raw: Where | None = None, oracle: Where | None = None, to: str = "release", **chosen: Any
) -> Ran:
    """Everything that is stale, up to a stage. `chosen`: any setting of the README's table by its name there (judge,
    model, engine, workers, …). Raises OpenClawBenchError, UsageError for a setting or stage that there is not."""
    if to not in VERBS:
        raise UsageError(f"to={to!r}: there is no such stage. Use one of: {', '.join(VERBS)}.")
    if unknown := sorted(chosen.keys() - SETTABLE):
        raise UsageError(f"{', '.join(unknown)}: there is no such setting. Use one of: {', '.join(sorted(SETTABLE))}.")
    folder = DataFolder(Path(data))
    flags = {"raw": raw and str(raw), "oracle": oracle and str(oracle)} | chosen
    in_force = settings(folder, **flags)
    with Progress(quiet=True) as progress:
        done = update(folder, in_force, to, progress)
    published = done.released is not None and done.tables is not None
    return Ran(
        data=folder.root,
        redone=done.redone,
        release=folder.release if published else None,
        needs_a_person=report.complaints(done),
        why=why_a_person(done, in_force),
        warnings=[*report.notes(done), *report.warnings(done.files)],
        cautions=cautions_of(done) if published else [],
        splits=sides(table_of_sides(done.tables[LabelAssignment])) if published and done.tables else [],
    )


@dataclass(frozen=True)
class Data:
    """The work tables of a data folder, as they stood when it was opened. Nothing is computed or written."""

    path: Path
    state: Run = field(repr=False)

    def table(self, name: str) -> pl.DataFrame:
        """A table of `openclawbench export` (normalize, enrich, slice, merge, labels, …), of the shards that are up to
        date. Raises UsageError, NotFound."""
        return export.table(self.state, name)

    def stale(self, name: str) -> str | None:
        """A sentence on what table() leaves out because it is not up to date; null where that is nothing."""
        if name not in export.TABLES:
            raise UsageError(f"{name}: there is no such table. Use one of: {', '.join(export.TABLES)}.")
        return left_out(self.state, export.TABLES[name])

    def explain(self, trajectory: str, step: int | None = None) -> dict[str, Any]:
        """For each value of a trajectory (or of one step) the rule that gave it and the text that made it hold, as
        `openclawbench explain --json`. `trajectory`: its id, MODEL/ID, or the beginning of an id."""
        return explained(self.state, find(self.state, trajectory), step)


def open_data(path: Where, **chosen: Any) -> Data:
    """A data folder that a run has filled. Raises UnreadableInput where there is none."""
    folder = DataFolder(Path(path))
    if not folder.work.is_dir():
        raise UnreadableInput(f"{folder.root}: there is no data folder here. Make one with run().")
    return Data(folder.root, current(folder, settings(folder, **chosen)))


def explain(data: Where, trajectory: str, step: int | None = None) -> dict[str, Any]:
    """Data.explain() of a folder. For many questions open the folder once."""
    return open_data(data).explain(trajectory, step)


@dataclass(frozen=True)
class Release:
    """A release folder, or any copy of one; only its own files are read."""

    path: Path

    @property
    def source_models(self) -> list[str]:
        """The source models in it."""
        return models_of(self.path)

    @property
    def summary(self) -> dict[str, Any]:
        """dataset_summary.json: tiers, slices, subtypes, the outcome-process gap."""
        return self.document("dataset_summary.json")

    @property
    def splits(self) -> dict[str, Any]:
        """splits.json: how the corpus was cut, and what leaks."""
        return self.document("splits.json")

    def records(self) -> pl.LazyFrame:
        """Every released record (fulltax_prod_v1/<model>/master_table_all), typed and nested."""
        files = [path for model in self.source_models for path in shards_of(self.path, f"{ROOT}/{model}/{MASTER_FILE}")]
        return pl.concat([pl.scan_parquet(path, glob=False) for path in files])

    def labels(self, side: Side, cut: str = "default", *, review: bool = False) -> pl.DataFrame:
        """Label rows of a side; `review`: with those that need review. Their column `label_status` says accepted,
        baseline (the rules judge's) or needs_review. `cut`: default, paper, or the source model that is held out."""
        if cut in CUTS:
            rows = self.label_file(CUTS[cut], side)
        elif cut in self.source_models and side in ("train", "test"):
            whole = pl.concat([self.label_file(CUTS["paper"], one) for one in ("train", "test")])
            held_out = pl.col("source_model") == cut
            rows = whole.filter(held_out if side == "test" else ~held_out).sort("source_model", "trajectory_id")
        else:
            raise UsageError(f"cut={cut!r}: use one of {', '.join([*CUTS, *self.source_models])}.")
        return rows if review else rows.filter(pl.col("label_status") != "needs_review")

    def label_file(self, folder: str, side: str) -> pl.DataFrame:
        """All label rows of a side of the default or the paper cut."""
        path = self.path / f"{folder}silver_{side}_labels.parquet"
        if not path.is_file():
            raise UnreadableInput(f"{path}: is not there. Sides are train and test; else copy the release anew.")
        return pl.read_parquet(path, glob=False)

    def validate(self) -> Findings:
        """What is wrong with it: `ok`, `counts` by check, and the first findings of each check in `kept`."""
        return every_check(self.path)

    def document(self, name: str) -> dict[str, Any]:
        """A JSON file of the release."""
        found = read_json(self.path / name)
        if not isinstance(found, dict):
            raise UnreadableInput(f"{self.path / name}: cannot be read. Copy the release anew.")
        return found


def open_release(path: Where) -> Release:
    """A release. Raises UnreadableInput where there is none."""
    root = Path(path)
    if not (root / "CHECKSUMS.sha256").is_file():
        raise UnreadableInput(f"{root}: is not a release: it has no CHECKSUMS.sha256. Name the folder `release`.")
    return Release(root)


def validate(release: Where) -> Findings:
    """What is wrong with a release; `ok` is true where nothing is."""
    return open_release(release).validate()
