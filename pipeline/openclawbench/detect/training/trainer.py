"""A phase of training: trl's SFTTrainer with the drawn epochs, prepared rows and checks. Needs the extra `train`."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from torch.utils.data import Sampler
from transformers import TrainerCallback
from transformers.trainer_utils import get_last_checkpoint
from trl import SFTConfig, SFTTrainer

from openclawbench.detect.training.encode import IGNORED, EncodedRow
from openclawbench.detect.training.epochs import EpochDraws
from openclawbench.detect.training.recipe import Recipe
from openclawbench.errors import TrainingRefused

Report = Callable[[str], None]
DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}


class EpochSampler(Sampler[int]):
    """The rows of an epoch, drawn anew when the trainer names the next one. `before`: epochs of earlier phases."""

    def __init__(self, draws: EpochDraws, before: int) -> None:
        self.draws, self.before, self.epoch = draws, before, 0

    def set_epoch(self, epoch: int) -> None:
        """The trainer's number of the epoch, from 0 in each phase."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        return iter(self.draws.draw(self.before + self.epoch + 1))

    def __len__(self) -> int:
        return self.draws.size


class LabelTrainer(SFTTrainer):
    """SFTTrainer whose loss is on one token per row, which is checked in every batch."""

    def __init__(self, *, draws: EpochDraws, before: int, **values: Any) -> None:
        self.epoch_sampler = EpochSampler(draws, before)
        self.label_tokens = 0
        self.checked_gradient = False
        super().__init__(**values)

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        return self.epoch_sampler

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """Write no model card: provenance.json says more, and trl's card would need the Hub."""

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        learned = check_labels(inputs["labels"], inputs["input_ids"])
        result = super().compute_loss(
            model, inputs, return_outputs=return_outputs, num_items_in_batch=num_items_in_batch
        )
        loss = result[0] if return_outputs else result
        if model.training:
            self.label_tokens += learned
            check_loss(float(loss.detach()), is_first=self.state.global_step == 0)
        return result

    def training_step(self, model: Any, *values: Any, **named: Any) -> Any:
        loss = super().training_step(model, *values, **named)
        if not self.checked_gradient:
            check_gradient(model)
            self.checked_gradient = True
        return loss


def check_labels(labels: Any, input_ids: Any) -> int:
    """Tokens with a loss in a batch. Raises TrainingRefused unless each row has one, and it is the row's own."""
    learned = labels != IGNORED
    each = learned.sum(dim=1)
    if bool((each != 1).any()):
        raise TrainingRefused(
            f"the rows of a batch have {each.tolist()} tokens with a loss, and each must have one, its label: it was "
            "cut off, or something else is learned. Nothing of this batch was learned."
        )
    if bool((labels[learned] != input_ids[learned]).any()):
        raise TrainingRefused("a batch teaches another token than its row ends in. Nothing of this batch was learned.")
    return int(each.sum())


def check_loss(loss: float, is_first: bool) -> None:
    """Raises TrainingRefused for a loss that is not finite, and for a first loss of zero."""
    if not math.isfinite(loss):
        raise TrainingRefused(f"the loss is {loss}: training has diverged. Lower the learning rate, or use fp32.")
    if is_first and loss == 0:
        raise TrainingRefused(
            "the loss of the first batch is zero: nothing can be learned. Check the rows and the base model."
        )


def check_gradient(model: Any) -> None:
    """Raises TrainingRefused if no weight of the adapter would change."""
    gradients = [weight.grad for weight in model.parameters() if weight.requires_grad and weight.grad is not None]
    if not any(bool(gradient.detach().ne(0).any()) for gradient in gradients):
        raise TrainingRefused("no weight of the adapter has a gradient: nothing is learned. Check lora.target_modules.")


class Progress(TrainerCallback):
    """A line of progress for each log entry of the trainer."""

    def __init__(self, report: Report, name: str) -> None:
        self.report, self.name = report, name

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Print loss and step."""
        if not state.is_world_process_zero or logs is None:
            return
        for field, word in (("loss", "loss"), ("eval_loss", "validation loss")):
            if field in logs:
                place = f"epoch {logs.get('epoch', 0):.2f}, step {state.global_step}/{state.max_steps}"
                self.report(f"{self.name}: {place}, {word} {logs[field]:.4f}")


@dataclass(frozen=True)
class PhaseEnd:
    """The result of a phase, with the model of its chosen checkpoint."""

    model: Any
    steps: int
    chosen_step: int
    validation_loss: float | None
    last_loss: float
    label_tokens: int | None  # learned here; None where a part was learned before
    log: list[dict[str, Any]]


@dataclass(frozen=True)
class Phase:
    """A phase to be trained. `before`: epochs of earlier phases."""

    number: int
    epochs: int
    before: int
    folder: Path
    rows: list[EncodedRow]
    validation: list[EncodedRow]
    draws: EpochDraws


def as_dataset(rows: list[EncodedRow]) -> Any:
    """Rows in the form that trl takes without further processing."""
    return Dataset.from_dict({"input_ids": [row.input_ids for row in rows], "labels": [row.labels for row in rows]})


def config_of(phase: Phase, recipe: Recipe, accumulation: int, is_cpu: bool) -> Any:
    """trl's settings: no truncation, no packing, no reports to anybody."""
    batch, optimizer, precision = recipe.batch, recipe.optimizer, recipe.precision
    has_validation = bool(phase.validation)
    return SFTConfig(
        output_dir=str(phase.folder),
        num_train_epochs=phase.epochs,
        per_device_train_batch_size=batch.per_device,
        per_device_eval_batch_size=batch.per_device,
        gradient_accumulation_steps=accumulation,
        optim=optimizer.name,
        learning_rate=optimizer.learning_rate,
        lr_scheduler_type=optimizer.schedule,
        warmup_steps=optimizer.warmup_share,
        weight_decay=optimizer.weight_decay,
        max_grad_norm=optimizer.max_grad_norm,
        bf16=precision.dtype == "bf16",
        gradient_checkpointing=precision.gradient_checkpointing,
        max_length=None,
        packing=False,
        shuffle_dataset=False,
        dataset_kwargs={"skip_prepare_dataset": True},
        save_strategy="steps",
        save_steps=recipe.checkpoint.steps,
        save_total_limit=recipe.checkpoint.keep,
        eval_strategy="steps" if has_validation else "no",
        eval_steps=recipe.checkpoint.steps if has_validation else None,
        load_best_model_at_end=has_validation,
        metric_for_best_model="eval_loss" if has_validation else None,
        greater_is_better=False if has_validation else None,
        logging_steps=max(1, recipe.checkpoint.steps // 10),
        seed=recipe.balance.seed,
        data_seed=recipe.balance.seed,
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=not is_cpu,
        use_cpu=is_cpu,
    )


def run_phase(phase: Phase, model: Any, tokenizer: Any, recipe: Recipe, accumulation: int, report: Report) -> PhaseEnd:
    """Train a phase, from its last checkpoint if it has one. `model`: with its adapter, trainable. Raises
    TrainingRefused."""
    is_cpu = not torch.cuda.is_available()
    trainer = LabelTrainer(
        draws=phase.draws,
        before=phase.before,
        model=model,
        args=config_of(phase, recipe, accumulation, is_cpu),
        train_dataset=as_dataset(phase.rows),
        eval_dataset=as_dataset(phase.validation) if phase.validation else None,
        processing_class=tokenizer,
        callbacks=[Progress(report, f"phase {phase.number}")],
    )
    quiet(trainer)
    last = get_last_checkpoint(str(phase.folder)) if phase.folder.is_dir() else None
    if last is not None:
        report(f"phase {phase.number}: goes on from {Path(last).name}")
    result = trainer.train(resume_from_checkpoint=last)
    state = trainer.state
    best = state.best_metric if phase.validation else None
    chosen = state.best_global_step if best is not None and state.best_global_step else state.global_step
    return PhaseEnd(
        model=trainer.accelerator.unwrap_model(trainer.model),
        steps=state.global_step,
        chosen_step=chosen,
        validation_loss=best,
        last_loss=float(result.training_loss),
        label_tokens=None if last is not None else trainer.label_tokens,
        log=list(state.log_history),
    )


def quiet(trainer: Any) -> None:
    """Turn off the library's own progress lines."""
    from transformers import PrinterCallback

    trainer.remove_callback(PrinterCallback)
