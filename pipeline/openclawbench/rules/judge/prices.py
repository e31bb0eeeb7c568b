"""Loader of prices.toml: what tokens cost."""

from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, field_validator

from openclawbench.rules.loading.numbers import Amount, UnitInterval
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.loading.validation import each_once

MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """USD for a million tokens. Cached prompt tokens cost `cached`, the others `input`."""

    input: float
    cached: float
    output: float
    source: str = field(default="", compare=False)  # who says so

    def of(self, prompt_tokens: int, cached_tokens: int, completion_tokens: int) -> float:
        """USD of a call, to a millionth of a millionth."""
        fresh = prompt_tokens - cached_tokens
        usd = fresh * self.input + cached_tokens * self.cached + completion_tokens * self.output
        return round(usd / MILLION, 12)

    def times(self, share: float) -> "Price":
        """The price of a cheaper way of asking."""
        source = f"{self.source}, times {share:g}"
        return Price(self.input * share, self.cached * share, self.output * share, source)


class ListedPrice(BaseModel):
    """A row of the table."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    model: str
    input: Amount
    cached: Amount
    output: Amount
    source: str  # where the numbers are from, and of when


Stated = tuple[float | None, float | None, float | None]  # as the fields of Price: input, cached, output
AS_STATED = "as stated with --price-in and --price-out"


class PriceRules(Rules):
    """The price table."""

    FILE: ClassVar[str] = "prices.toml"
    batch_share: UnitInterval
    price: list[ListedPrice]

    @field_validator("price")
    @classmethod
    def every_model_once(cls, price: list[ListedPrice]) -> list[ListedPrice]:
        """A model has one price."""
        each_once([entry.model for entry in price], "has several prices", "model")
        return price

    def of(self, model: str) -> Price | None:
        """The price of a model by the longest beginning of its name that is listed; None if none is."""
        fitting = [entry for entry in self.price if model.startswith(entry.model)]
        if not fitting:
            return None
        best = max(fitting, key=lambda entry: len(entry.model))
        return Price(best.input, best.cached, best.output, best.source)

    def price_of(self, model: str, stated: Stated, otherwise: Price | None = None) -> Price | None:
        """The price of whatever asks a model: as stated, what is not stated as listed, or else as `otherwise` says.
        None if it is not known: no token costs 0 because nobody said what it costs.

        Cached tokens whose price is not stated cost as much as others where that price is stated.
        """
        fresh, cached, output = stated
        base = self.of(model) or otherwise
        if base is None and (fresh is None or output is None):
            return None
        if base is None or fresh is not None:
            assert fresh is not None
            base = Price(fresh, fresh, base.output if base else 0.0, base.source if base else "")
        return Price(
            input=base.input,
            cached=base.cached if cached is None else cached,
            output=base.output if output is None else output,
            source=base.source if stated == (None, None, None) else AS_STATED,
        )
