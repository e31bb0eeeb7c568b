"""A training: its options, its rows, and a folder of its own."""

import json
import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from openclawbench.detect.labels import LabelSet, provenance_base, require_items
from openclawbench.detect.settings import DetectRules
from openclawbench.detect.training.base_model import base_digest
from openclawbench.detect.training.encode import EncodedRow, Encoder, check_row
from openclawbench.detect.training.epochs import EpochDraws, is_validation, require_anomalous
from openclawbench.detect.training.recipe import Recipe
from openclawbench.detect.training.rows import RowsMade, fitted_rows, refuse_human
from openclawbench.errors import UsageError
from openclawbench.release.record_key import Key
from openclawbench.reports.files import as_json
from openclawbench.storage.data_folder import write_atomic

PLAN_FILE, ROWS_FILE = "training.json", "rows.jsonl"


@dataclass(frozen=True)
class TrainingRun:
    """What is trained. `train`, `test`: the sides. `recipe_path`: the recipe's file, None for the program's own."""

    train: LabelSet
    test: LabelSet
    folder: Path
    recipe: Recipe
    rules: DetectRules
    model: str
    recipe_path: Path | None = None
    name: str | None = None
    may_download: bool = False
    date: str | None = None

    @property
    def recipe_name(self) -> str:
        """Name of the recipe's file."""
        return self.recipe_path.name if self.recipe_path else Recipe.FILE

    @property
    def base_name(self) -> str:
        """The base model as provenance names it: never a path of this machine."""
        path = Path(self.model)
        return path.resolve().name if path.is_dir() else self.model

    @property
    def detector(self) -> str:
        """The detector's name in tables."""
        return self.name or f"{self.base_name} {self.recipe_name.removesuffix('.toml')}"


@dataclass
class Prepared:
    """Rows of a training. `learned`, `validation`: encoded rows; `keys`: key and label of the learned ones."""

    rows_made: RowsMade
    learned: list[EncodedRow]
    validation: list[EncodedRow]
    keys: list[tuple[Key, str]]

    def draws(self, recipe: Recipe) -> EpochDraws:
        """The draws of the epochs."""
        return EpochDraws(self.keys, recipe.balance.normal_per_anomalous, recipe.balance.seed)

    def sentence(self, recipe: Recipe) -> str:
        """What is learned, in words."""
        draws, tokens = self.draws(recipe), self.rows_made.tokens("")
        left_out = ", ".join(
            f"{number} {reason}" for reason, number in sorted(self.rows_made.left_out.items()) if number
        )
        return (
            f"{len(self.learned)} rows ({len(draws.anomalous)} anomalous), {len(self.validation)} for validation; "
            f"{draws.size} in each of {recipe.epochs} epochs; median {tokens.median} tokens, longest {tokens.longest}; "
            f"left out: {left_out or 'none'}"
        )


def is_main_process() -> bool:
    """True for the process that writes, where a launcher starts one for each device."""
    return os.environ.get("RANK", "0") == "0"


def prepare(run: TrainingRun, encoder: Encoder) -> Prepared:
    """The rows of the train side, each checked. Raises TrainingRefused, and UsageError where nothing can be learned."""
    refuse_human(run.train.choice.pool)
    require_items(run.train)
    recipe, prepared = run.recipe, Prepared(RowsMade(), [], [], [])
    most, share = recipe.sequence.max_tokens, recipe.validation.share
    for fitted in fitted_rows(run.train, run.rules, encoder.measure, most, prepared.rows_made):
        item = fitted.item
        row = encoder.row(fitted.packet, item.label)
        check_row(row, encoder.label_ids[item.label], most, "/".join(item.key))
        if is_validation(item, share, recipe.balance.seed):
            prepared.validation.append(row)
        else:
            prepared.learned.append(row)
            prepared.keys.append((item.key, item.label))
    require_anomalous(prepared.draws(recipe), f"{run.train.root}: {run.train.choice.sentence}")
    return prepared


def accumulation_of(recipe: Recipe, devices: int) -> int:
    """Batches of a device that make an optimizer step. Raises UsageError where the effective batch cannot be had."""
    at_once = recipe.batch.per_device * devices
    if recipe.batch.effective % at_once:
        raise UsageError(
            f"the effective batch of {recipe.batch.effective} is not a multiple of {recipe.batch.per_device} a "
            f"device on {devices} devices. Change batch.effective of the recipe, or the number of devices."
        )
    return recipe.batch.effective // at_once


def plan_of(run: TrainingRun, prepared: Prepared, base: Path) -> dict[str, Any]:
    """What decides the adapter: two trainings with the same plan are the same."""
    about = provenance_base(run.train, run.rules)
    digest = sha256()
    for line in prepared.rows_made.lines():
        digest.update(line)
    return {
        "release_sha256": about["release_sha256"],
        "pool": about["pool"],
        "cut": about["cut"],
        "recipe_sha256": run.recipe.digest,
        "base_sha256": base_digest(base) if is_main_process() else "",
        "rows_sha256": digest.hexdigest(),
    }


def open_folder(run: TrainingRun, plan: dict[str, Any], prepared: Prepared) -> None:
    """The folder of this training: a new or an empty one, or the one of a former run of it. Raises UsageError."""
    path = run.folder / PLAN_FILE
    if path.is_file():
        try:
            former = json.loads(path.read_bytes())
        except ValueError:
            former = {}
        if different := sorted(name for name in plan if former.get(name) != plan[name]):
            raise UsageError(f"{run.folder}: holds another training (other {', '.join(different)}). Name a new folder.")
    elif run.folder.exists() and (not run.folder.is_dir() or any(run.folder.iterdir())):
        raise UsageError(f"{run.folder}: is not the folder of a training. Name a new folder.")
    write_atomic(run.folder / ROWS_FILE, prepared.rows_made.lines())
    write_atomic(path, [as_json(plan).encode()])
