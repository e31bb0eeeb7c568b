"""`detect train`: from a release and a base model to an adapter, its provenance, and its predictions.

A folder holds adapter/ (weights, recipe.toml, provenance.json), predictions.jsonl with its provenance, rows.jsonl,
training.json, which says what is being trained, and checkpoints/phase_N/, with phase.json once that phase is done. The
same command goes on where a former run of it ended.
"""

import gc
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from openclawbench.base.canonical_json import canonical_bytes
from openclawbench.detect.labels import reviewed_beside
from openclawbench.detect.predictions import provenance_path, read_provenance, write_predictions
from openclawbench.detect.training import base_model
from openclawbench.detect.training.adapter import (
    ADAPTER,
    WEIGHTS,
    best_phase,
    provenance_values,
    read_finished_adapter,
    save_adapter,
)
from openclawbench.detect.training.encode import Encoder
from openclawbench.detect.training.plan import (
    Prepared,
    TrainingRun,
    accumulation_of,
    is_main_process,
    open_folder,
    plan_of,
    prepare,
)
from openclawbench.detect.training.predict import predict, prediction_provenance
from openclawbench.detect.training.rows import RowsMade
from openclawbench.errors import TrainingRefused, UsageError
from openclawbench.records.detection.prediction import PredictionProvenance
from openclawbench.records.detection.training import AdapterProvenance, TrainedPhase
from openclawbench.reports.files import as_json
from openclawbench.storage.data_folder import sha256_file, write_atomic

PHASE_FILE, LOG_FILE, PREDICTIONS_FILE = "phase.json", "log.jsonl", "predictions.jsonl"
Report = Callable[[str], None]


@dataclass(frozen=True)
class TrainingResult:
    """The result of a training. `predictions`: None for a test side without a trajectory, and in a process that does
    not write."""

    adapter: AdapterProvenance
    predictions: PredictionProvenance | None


def train(run: TrainingRun, report: Report) -> TrainingResult:
    """Train an adapter, save it with its provenance, and predict the test side with the saved one. What a former run
    of the same command did is not done again.

    Raises MissingExtra, UsageError, UnreadableInput, TrainingRefused.
    """
    learned = train_adapter(run, report)
    return TrainingResult(learned.adapter, predict_with(learned, report))


@dataclass(frozen=True)
class TrainedAdapter:
    """A trained adapter, with what is needed to predict with it."""

    run: TrainingRun
    base: Path
    encoder: Encoder
    adapter: AdapterProvenance


def train_adapter(run: TrainingRun, report: Report) -> TrainedAdapter:
    """Train an adapter and save it with its provenance; nothing is predicted."""
    base, tokenizer, encoder, prepared = open_training(run)
    plan = plan_of(run, prepared, base)
    done = None
    if is_main_process():
        open_folder(run, plan, prepared)
        done = read_finished_adapter(run.folder)
    report(prepared.sentence(run.recipe))
    if done is None:
        done = train_phases(run, prepared, encoder, base, tokenizer, plan, report)
    return TrainedAdapter(run, base, encoder, done)


def predict_with(learned: TrainedAdapter, report: Report) -> PredictionProvenance | None:
    """Predict the test side with a saved adapter; None for one without a trajectory, and where nothing is written."""
    if not is_main_process() or not learned.run.test.items:
        return None
    return predict_test(learned.run, learned.encoder, learned.base, learned.adapter, report)


def open_training(run: TrainingRun) -> tuple[Path, Any, Encoder, Prepared]:
    """The base model's folder, its tokenizer, and the rows; nothing is written."""
    base_model.require_packages()
    base_model.quiet_libraries()
    base = base_model.find_base(run.model, run.may_download)
    tokenizer = base_model.load_tokenizer(base)
    encoder = Encoder(tokenizer, run.recipe, run.rules)
    return base, tokenizer, encoder, prepare(run, encoder)


def devices_of() -> int:
    """Devices that take part. Raises UsageError for several that one process sees."""
    import torch

    processes = int(os.environ.get("WORLD_SIZE", "1"))
    if processes == 1 and torch.cuda.device_count() > 1:
        raise UsageError(
            f"{torch.cuda.device_count()} accelerators are visible. Start a process for each (accelerate launch -m "
            "openclawbench detect train …), or show one: CUDA_VISIBLE_DEVICES=0."
        )
    return processes


def train_phases(
    run: TrainingRun,
    prepared: Prepared,
    encoder: Encoder,
    base: Path,
    tokenizer: Any,
    plan: dict[str, Any],
    report: Report,
) -> AdapterProvenance:
    """Train phase after phase and save the best adapter with its provenance."""
    devices = devices_of()
    accumulation = accumulation_of(run.recipe, devices)
    ends: list[TrainedPhase] = []
    for number in range(1, len(run.recipe.phases) + 1):
        path = phase_folder(run, number) / PHASE_FILE
        if path.is_file():
            ends.append(TrainedPhase.model_validate_json(path.read_bytes()))
            continue
        ends.append(train_phase(run, prepared, number, base, tokenizer, devices, accumulation, report))
        gc.collect()
        wait_for_others()
    values = provenance_values(run, prepared, encoder, plan, ends, devices, accumulation)
    if not is_main_process():
        return AdapterProvenance.model_validate({**values, "files": []})
    return save_adapter(run, values, phase_folder(run, best_phase(ends)) / ADAPTER)


def train_phase(
    run: TrainingRun,
    prepared: Prepared,
    number: int,
    base: Path,
    tokenizer: Any,
    devices: int,
    accumulation: int,
    report: Report,
) -> TrainedPhase:
    """Train a phase, from its last checkpoint or the adapter of the phase before, and save what it came to."""
    from openclawbench.detect.training.trainer import Phase, run_phase

    recipe, folder, draws = run.recipe, phase_folder(run, number), prepared.draws(run.recipe)
    model = base_model.load_model(base, recipe.precision.dtype)
    if number == 1:
        model = base_model.with_new_adapter(model, recipe)
    else:
        model = base_model.with_adapter(model, phase_folder(run, number - 1) / ADAPTER, is_trainable=True)
    epochs, before = recipe.phases[number - 1].epochs, sum(phase.epochs for phase in recipe.phases[: number - 1])
    phase = Phase(number, epochs, before, folder, prepared.learned, prepared.validation, draws)
    end = run_phase(phase, model, tokenizer, recipe, accumulation, report)
    if devices == 1 and end.label_tokens is not None and end.label_tokens != draws.size * epochs:
        raise TrainingRefused(
            f"phase {number}: {end.label_tokens} labels were learned, of {draws.size * epochs} that its epochs "
            "have. The adapter was not saved: this is a defect of the program."
        )
    trained = TrainedPhase(
        epochs=epochs,
        rows_of_an_epoch=draws.size,
        steps=end.steps,
        chosen_step=end.chosen_step,
        validation_loss=end.validation_loss,
        last_loss=end.last_loss,
    )
    if is_main_process():
        end.model.save_pretrained(folder / ADAPTER)
        write_atomic(folder / LOG_FILE, (canonical_bytes(entry) + b"\n" for entry in end.log))
        write_atomic(folder / PHASE_FILE, [as_json(trained.model_dump()).encode()])
    return trained


def wait_for_others() -> None:
    """Wait for all processes: the next phase reads what the main one wrote."""
    import torch

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.barrier()


def phase_folder(run: TrainingRun, number: int) -> Path:
    """The folder of a phase."""
    return run.folder / "checkpoints" / f"phase_{number}"


def predict_test(
    run: TrainingRun, encoder: Encoder, base: Path, adapter: AdapterProvenance, report: Report
) -> PredictionProvenance:
    """Predict the test side with the saved adapter; what is there already stays."""
    path = run.folder / PREDICTIONS_FILE
    weights = next(file.sha256 for file in adapter.files if file.name == WEIGHTS)
    if provenance_path(path).is_file():
        former, _ = read_provenance(path, sha256_file(path))
        choice = run.test.choice
        if former and (former.weights_sha256, former.pool, former.side) == (weights, choice.pool, choice.side):
            return former
    reviewed = reviewed_beside(run.test, run.train)
    reviewed_words = f", and {len(reviewed)} that people have reviewed" if reviewed else ""
    report(f"predicts {len(run.test.items)} trajectories of the {run.test.choice.sentence}{reviewed_words}")
    model = base_model.with_adapter(
        base_model.load_model(base, run.recipe.precision.dtype), run.folder / ADAPTER, is_trainable=False
    )
    asked = replace(run.test, items=run.test.items + reviewed)
    predicted = list(predict(model, encoder, asked, run.rules, run.recipe.sequence.max_tokens, RowsMade()))
    return write_predictions(
        path, predicted, prediction_provenance(run.test, run.rules, adapter, run.detector, weights)
    )
