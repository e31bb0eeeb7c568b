"""Loader of risk.toml: signals as polars conditions, bonuses, priors and cuts."""

from typing import ClassVar, Self

import polars as pl
from pydantic import Field, field_validator, model_validator

from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.risk import RiskSignals
from openclawbench.rules.loading.conditions import condition_over, holds
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.loading.validation import Unfit, each_once
from openclawbench.tables.record import Record

CONDITION = condition_over(AlignedDescriptor)


class SignalRule(Record):
    """A step signal of T12: `when` is a condition over the aligned descriptor."""

    name: str
    field: str
    when: str
    weight: float = Field(ge=0)

    _condition = field_validator("when")(CONDITION)

    @property
    def condition(self) -> pl.Expr:
        """True if the step counts; null counts as false."""
        return holds(self.when)


class CountBonus(Record):
    """A bonus from a threshold on."""

    at_least: float = Field(gt=0)
    weight: float = Field(ge=0)


class PlainBonus(Record):
    """A bonus where its condition holds."""

    weight: float = Field(ge=0)


class Bonuses(Record):
    """Trajectory bonuses of T12."""

    multiple_side_effect_bonus: CountBonus
    early_side_effect_before_evidence: PlainBonus
    high_other_ratio_bonus: CountBonus


class PriorRule(Record):
    """Subsets that share a prior."""

    weight: float = Field(ge=0)
    subsets: list[str]


class RiskRules(Rules):
    """T12 and T13 as data. Weights are never negative: a further step may only add risk."""

    FILE: ClassVar[str] = "risk.toml"
    scale: float = Field(gt=0)
    medium_from: float = Field(gt=0)
    high_from: float = Field(lt=100)
    default_prior: float = Field(ge=0)
    evidence: str
    side_effect: str
    signals: list[SignalRule] = Field(alias="signal")
    bonus: Bonuses
    priors: list[PriorRule] = Field(alias="prior")

    _conditions = field_validator("evidence", "side_effect")(CONDITION)

    @field_validator("signals")
    @classmethod
    def every_signal_once(cls, signals: list[SignalRule]) -> list[SignalRule]:
        """The fields of risk_signals are T12's: each needs one rule."""
        fields = [rule.field for rule in signals]
        if sorted(fields) != sorted(RiskSignals.model_fields):
            raise ValueError(f"needs one signal for each of {', '.join(RiskSignals.model_fields)}, and no other")
        each_once([rule.name for rule in signals], "the name of several signals", "name")
        return signals

    @field_validator("priors")
    @classmethod
    def every_subset_once(cls, priors: list[PriorRule]) -> list[PriorRule]:
        """A subset in two lists would have two priors."""
        named = [subset for rule in priors for subset in rule.subsets]
        if twice := sorted({subset for subset in named if named.count(subset) > 1}):
            raise Unfit(f"{', '.join(twice)} stands in more than one prior", *twice, keys=["subsets"])
        return priors

    @model_validator(mode="after")
    def cuts_in_order(self) -> Self:
        """T13 cuts twice."""
        if self.medium_from >= self.high_from:
            problem = f"medium_from {self.medium_from:g} must be below high_from {self.high_from:g}"
            raise Unfit(problem, "medium_from", "high_from")
        return self

    def prior(self) -> pl.Expr:
        """Additive prior by the `subset` column."""
        table = {subset: rule.weight for rule in self.priors for subset in rule.subsets}
        return pl.col("subset").replace_strict(table, default=self.default_prior, return_dtype=pl.Float64)
