"""Loader of onset.toml."""

from typing import ClassVar

import polars as pl
from pydantic import Field, field_validator

from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.risk import OnsetCandidates
from openclawbench.rules.loading.conditions import condition_over, holds
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.tables.record import Record

RISKIEST = ("top_k_risky_steps", "step_risk_scores")  # read from the steps' risk, not from a condition


class EarliestRule(Record):
    """First step that meets a condition."""

    name: str
    when: str

    _condition = field_validator("when")(condition_over(AlignedDescriptor))

    @property
    def condition(self) -> pl.Expr:
        """True if the step is a candidate; null counts as false."""
        return holds(self.when)


class OnsetRules(Rules):
    """T15 as data."""

    FILE: ClassVar[str] = "onset.toml"
    top_k: int = Field(ge=1)
    earliest: list[EarliestRule]

    @field_validator("earliest")
    @classmethod
    def every_candidate_once(cls, earliest: list[EarliestRule]) -> list[EarliestRule]:
        """The candidates are T15's: each needs one rule."""
        wanted = [name for name in OnsetCandidates.model_fields if name not in RISKIEST]
        if sorted(rule.name for rule in earliest) != sorted(wanted):
            raise ValueError(f"needs one rule for each of {', '.join(wanted)}, and no other")
        return earliest
