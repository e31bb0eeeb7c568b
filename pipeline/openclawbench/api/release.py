"""A release, or any copy of one: its tables and records. Only its own files are read."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from openclawbench.errors import UnreadableInput, UsageError
from openclawbench.records.release import Master
from openclawbench.release.files.names import MASTER_FILE, ROOT, models_of
from openclawbench.release.files.parquet import rows_of, shards_of
from openclawbench.release.labels.labels import hold_out_rows
from openclawbench.release.labels.places import CUT_NAMES, CUTS, SIDES
from openclawbench.release.release_folder import CHECKSUMS
from openclawbench.release.unjudged import refuse_unjudged
from openclawbench.release.validate.findings import Findings
from openclawbench.storage.data_folder import read_json

Side = Literal["train", "test"]


@dataclass(frozen=True)
class Release:
    """A release folder. UnreadableInput if a file of it is missing or damaged."""

    path: Path

    @property
    def source_models(self) -> list[str]:
        """Its source models, sorted."""
        return models_of(self.path)

    @property
    def summary(self) -> dict[str, Any]:
        """dataset_summary.json: tiers, slices, subtypes, the outcome-process gap."""
        return self._document("dataset_summary.json")

    @property
    def splits(self) -> dict[str, Any]:
        """splits.json: how the corpus was cut, and what leaks. UsageError where nobody judged."""
        refuse_unjudged(self.path)
        return self._document("splits.json")

    def records(self, source_model: str | None = None) -> Iterator[Master]:
        """The released records, or those of one source model, a row group in memory at a time."""
        for path in self._record_files(source_model):
            for row in rows_of(path):
                yield Master.model_validate(row)

    def table(self, source_model: str | None = None) -> pl.LazyFrame:
        """The released records as a lazy frame (schema("master")), nested as they are."""
        return pl.concat([pl.scan_parquet(path, glob=False) for path in self._record_files(source_model)])

    def labels(self, side: Side, cut: str = "default", *, review: bool = False) -> pl.DataFrame:
        """The label rows of a side (schema("label_row")).

        `cut`: default, paper, or the source model that is held out. `label_status` is accepted, baseline (the rules
        judge's) or, only with `review`, needs_review. UsageError for another cut or side, and where nobody judged.
        """
        refuse_unjudged(self.path)
        if side not in SIDES:
            raise UsageError(f"side={side!r}: use one of {', '.join(SIDES)}.")
        if cut in CUT_NAMES:
            rows = self._label_file(CUTS[CUT_NAMES[cut]], side)
        elif cut in self.source_models:
            rows = self._hold_out(cut, side)
        else:
            raise UsageError(f"cut={cut!r}: use one of {', '.join([*CUT_NAMES, *self.source_models])}.")
        return rows if review else rows.filter(pl.col("label_status") != "needs_review")

    def validate(self, workers: int | None = None) -> Findings:
        """Check the release against itself, as validate()."""
        return validate(self.path, workers)

    def _record_files(self, source_model: str | None) -> list[Path]:
        models = self.source_models
        if source_model is not None and source_model not in models:
            raise UsageError(f"source_model={source_model!r}: use one of {', '.join(models)}.")
        chosen = models if source_model is None else [source_model]
        return [path for model in chosen for path in shards_of(self.path, f"{ROOT}/{model}/{MASTER_FILE}")]

    def _label_file(self, folder: str, side: str) -> pl.DataFrame:
        path = self.path / f"{folder}silver_{side}_labels.parquet"
        if not path.is_file():
            raise UnreadableInput(f"{path}: does not exist. Copy the release again.")
        return pl.read_parquet(path, glob=False)

    def _hold_out(self, model: str, side: str) -> pl.DataFrame:
        try:
            return hold_out_rows(self.path, model, side)
        except FileNotFoundError as error:
            raise UnreadableInput(f"{error}. Copy the release again.") from error

    def _document(self, name: str) -> dict[str, Any]:
        document = read_json(self.path / name)
        if not isinstance(document, dict):
            raise UnreadableInput(f"{self.path / name}: cannot be read. Copy the release again.")
        return document


def open_release(path: str | Path) -> Release:
    """Open a release. UnreadableInput if the folder is not one."""
    root = Path(path)
    if not (root / CHECKSUMS).is_file():
        raise UnreadableInput(f"{root}: is not a release: it has no {CHECKSUMS}. Name the folder `release`.")
    return Release(root)


def validate(release: str | Path, workers: int | None = None) -> Findings:
    """Check a release against itself, as `openclawbench validate`. UsageError if the folder is not one.

    Findings: `ok`, `counts` by check, and the first of each check in `kept`, each a Finding with check, file, line and
    message. `workers`: the maximum number of processes; None: one per processor, for a large release.
    """
    from openclawbench.release.validate.validate import validate as validate_release

    return validate_release(Path(release), workers)
