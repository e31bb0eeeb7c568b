"""Loader of release.toml."""

from typing import ClassVar, Self

from pydantic import Field, model_validator

from openclawbench.records.vocabulary import SliceLabel
from openclawbench.rules.loading.numbers import Count, UnitInterval
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.tables.record import Record


class Calibration(Record):
    """Where the calibration pool is taken from, and its size."""

    per_slice: Count
    task_share: UnitInterval
    slices: list[SliceLabel]


class Duplicates(Record):
    """When two trajectories count as nearly the same."""

    similarity: float = Field(gt=0, le=1)
    permutations: int = Field(ge=16)
    words: int = Field(ge=1)
    miss_weight: float = Field(gt=0, lt=1)


class ReleaseRules(Rules):
    """How the corpus is cut."""

    FILE: ClassVar[str] = "release.toml"
    test_share: UnitInterval
    calibration: Calibration
    duplicates: Duplicates

    @model_validator(mode="after")
    def check_shares(self) -> Self:
        """The three zones of the default cut are shares of the same tasks."""
        if self.test_share + self.calibration.task_share >= 1:
            raise ValueError("test_share and calibration.task_share together leave no task to train on")
        return self
