"""Loader of release.toml."""

from typing import ClassVar

from pydantic import Field

from pipeline.records.base import Record
from pipeline.records.vocabulary import SliceLabel
from pipeline.rules.base import Rules
from pipeline.rules.numbers import Count, Share


class Calibration(Record):
    """Size of the calibration pool."""

    per_slice: Count
    share: Share
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
    test_share: Share
    calibration: Calibration
    duplicates: Duplicates
