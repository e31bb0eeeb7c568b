"""A trained adapter in its folder: weights, recipe and provenance, which is written last."""

import shutil
from pathlib import Path
from typing import Any

from openclawbench.detect.labels import provenance_base
from openclawbench.detect.training.base_model import versions
from openclawbench.detect.training.encode import Encoder
from openclawbench.detect.training.plan import Prepared, TrainingRun
from openclawbench.detect.training.recipe import Recipe
from openclawbench.errors import UnreadableInput
from openclawbench.records.detection.training import AdapterProvenance, TrainedPhase
from openclawbench.reports.files import as_json
from openclawbench.rules.loading.own_folder import shipped_path
from openclawbench.storage.data_folder import sha256_file, write_atomic
from openclawbench.tables.record import named_counts

SCHEMA_VERSION = "1"
ADAPTER, PROVENANCE_FILE, RECIPE_FILE, WEIGHTS = (
    "adapter",
    "provenance.json",
    "recipe.toml",
    "adapter_model.safetensors",
)


def best_phase(ends: list[TrainedPhase]) -> int:
    """Number of the phase whose checkpoint is taken: the one with the lowest validation loss, the later one of equals;
    without a validation part the last."""
    rated = [(end.validation_loss, -number) for number, end in enumerate(ends, 1) if end.validation_loss is not None]
    return -min(rated)[1] if rated else len(ends)


def provenance_values(
    run: TrainingRun,
    prepared: Prepared,
    encoder: Encoder,
    plan: dict[str, Any],
    ends: list[TrainedPhase],
    devices: int,
    accumulation: int,
) -> dict[str, Any]:
    """The provenance of an adapter without its files."""
    import torch

    about, recipe, rows_made, prompt = (
        provenance_base(run.train, run.rules),
        run.recipe,
        prepared.rows_made,
        encoder.prompt,
    )
    taken = ("packet_rules_sha256", "label_judges", "label_statuses", "program_version")
    return {
        "schema_version": SCHEMA_VERSION,
        "base_model": run.base_name,
        "base_sha256": plan["base_sha256"],
        "recipe": run.recipe_name,
        "recipe_sha256": recipe.digest,
        "seed": recipe.balance.seed,
        "form": encoder.form,
        "prompt": {"stage": prompt.stage, "version": prompt.version, "sha256": prompt.sha256},
        "release_sha256": plan["release_sha256"],
        "trained_on": run.train.training_data(),
        "rows_sha256": plan["rows_sha256"],
        "left_out": named_counts(rows_made.left_out),
        "validation_rows": len(prepared.validation),
        "tokens": rows_made.tokens(f"the tokenizer of {run.base_name}"),
        "max_tokens": recipe.sequence.max_tokens,
        "label_tokens": sum(end.rows_of_an_epoch * end.epochs for end in ends),
        "phases": ends,
        "chosen_phase": best_phase(ends),
        "devices": devices,
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "dtype": recipe.precision.dtype,
        "accumulation": accumulation,
        "versions": versions(),
        "date": run.date,
        **{name: about[name] for name in taken},
    }


def save_adapter(run: TrainingRun, values: dict[str, Any], chosen: Path) -> AdapterProvenance:
    """Copy the chosen phase's adapter, with recipe and provenance. Returns the provenance."""
    folder = run.folder / ADAPTER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in sorted(chosen.iterdir()):
        if path.name != "README.md":  # an empty form of the library's
            shutil.copyfile(path, folder / path.name)
    source = run.recipe_path or shipped_path(Recipe.FILE)
    shutil.copyfile(source, folder / RECIPE_FILE)
    files = [{"name": path.name, "sha256": sha256_file(path)} for path in sorted(folder.iterdir())]
    record = AdapterProvenance.model_validate({**values, "files": files})
    write_atomic(folder / PROVENANCE_FILE, [as_json(record.model_dump()).encode()])
    return record


def read_finished_adapter(folder: Path) -> AdapterProvenance | None:
    """The provenance of the adapter, if it is there. Raises UnreadableInput if a file is not the one that was saved."""
    path = folder / ADAPTER / PROVENANCE_FILE
    if not path.is_file():
        return None
    record = AdapterProvenance.model_validate_json(path.read_bytes())
    for file in record.files:
        saved = path.with_name(file.name)
        if not saved.is_file() or sha256_file(saved) != file.sha256:
            raise UnreadableInput(f"{saved}: is not the file that was saved. Delete {path.parent} and train again.")
    return record
