"""Loader of the training recipe: lora_t42.toml, or a file that the user names."""

import tomllib
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from openclawbench.errors import InvalidRules
from openclawbench.rules.loading.numbers import Amount, AtLeastOne, Count, MoreThanNothing, UnitInterval
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.tables.record import Record


class BaseRule(Record):
    """The model that is trained."""

    model: str = Field(min_length=1)


class BalanceRule(Record):
    """How many normal trajectories an epoch has for each anomalous one; 0: as many as there are."""

    normal_per_anomalous: Amount
    seed: Count


class SequenceRule(Record):
    """How long a training row may be."""

    max_tokens: AtLeastOne
    chat_template: dict[str, bool | Count | str]
    template_tokens: Count
    completion_cue: str


class LoraRule(Record):
    """Parameters of peft.LoraConfig."""

    r: AtLeastOne
    alpha: MoreThanNothing
    dropout: UnitInterval
    target_modules: list[str] = Field(min_length=1)
    exclude_modules: str


class BatchRule(Record):
    """Rows of a step: on a device at once, and in all."""

    per_device: AtLeastOne
    effective: AtLeastOne


class OptimizerRule(Record):
    """Parameters of trl.SFTConfig."""

    name: str
    learning_rate: MoreThanNothing
    schedule: str
    warmup_share: UnitInterval
    weight_decay: Amount
    max_grad_norm: Amount


class PhaseRule(Record):
    """Epochs after which the best checkpoint is taken."""

    epochs: AtLeastOne


class PrecisionRule(Record):
    """Numbers and memory."""

    dtype: Literal["bf16", "fp32"]
    gradient_checkpointing: bool


class ValidationRule(Record):
    """Share of the train side's tasks by which the best checkpoint is found."""

    share: float = Field(ge=0, lt=1)


class CheckpointRule(Record):
    """How often what was learned is saved."""

    steps: AtLeastOne
    keep: int = Field(ge=1)


class Recipe(Rules):
    """Everything that decides a training but the base model's weights and the rows."""

    FILE: ClassVar[str] = "lora_t42.toml"
    base: BaseRule
    balance: BalanceRule
    sequence: SequenceRule
    lora: LoraRule
    batch: BatchRule
    optimizer: OptimizerRule
    phases: list[PhaseRule] = Field(alias="phase", min_length=1)
    precision: PrecisionRule
    validation: ValidationRule
    checkpoint: CheckpointRule

    @property
    def epochs(self) -> int:
        """Epochs of all phases."""
        return sum(phase.epochs for phase in self.phases)


def load_recipe(path: Path | None = None) -> Recipe:
    """The recipe in a file; without one the paper's. Raises InvalidRules with file, line and fault."""
    if path is None:
        return Recipe.load()
    try:
        content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidRules(f"{path}: cannot read the recipe: {error}. Correct the file.") from error
    return Recipe.checked(content, path)
