"""What a run used: tokens, and amounts of USD as whole numbers of trillionths (own choice). A message may cost less
than a millionth of a dollar, and a sum of integers is the same on every machine and in any order.

A figure that cannot be (below zero, infinite, beyond what a column holds) makes its sum unknown, and is counted: a
provider that knows no price writes one below zero."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from openclawbench.sources.io.json_values import MOST_COUNT

PICO = 10**12
MOST_USD = 1e9  # no run costs more
TOKENS = (("input", "input"), ("output", "output"), ("total", "totalTokens"))  # our name, the message's
FIGURES = ("input_tokens", "output_tokens", "total_tokens", "cost_usd", "wall_time_s")  # of a RunSummary


class Usage:
    """Sums over a run's messages."""

    def __init__(self) -> None:
        self.sums: dict[str, int] = {}
        self.impossible: dict[str, int] = {}

    def add(self, used: Mapping[str, Any] | None) -> None:
        """The usage that an OpenClaw message reports."""
        if not used:
            return
        for counter, field in TOKENS:
            if (value := used.get(field)) is not None:
                self.count(counter, value)
        cost = used.get("cost")
        if isinstance(cost, dict) and (value := cost.get("total")) is not None:
            self.usd(value)

    def count(self, name: str, value: Any) -> None:
        """Add a number of tokens. A value that is not a whole number is ignored."""
        if type(value) is int and 0 <= value < MOST_COUNT:
            self.sums[name] = self.sums.get(name, 0) + value
        elif cannot_be(value):
            self.impossible[name] = self.impossible.get(name, 0) + 1

    def usd(self, value: Any) -> None:
        """Add an amount of USD. A value that is not a number is ignored."""
        if type(value) not in (int, float):
            return
        if cannot_be(value):
            self.impossible["pico_usd"] = self.impossible.get("pico_usd", 0) + 1
        else:
            self.sums["pico_usd"] = self.sums.get("pico_usd", 0) + round(value * PICO)

    def known(self) -> dict[str, Any]:
        """Fields of a RunSummary; None if nothing says a figure, or one of its parts cannot be."""
        sums = {name: value for name, value in self.sums.items() if name not in self.impossible}
        counts = {f"{name}_tokens": sums.get(name) for name, _ in TOKENS}
        usd = sums["pico_usd"] / PICO if "pico_usd" in sums else None
        return counts | {"cost_usd": usd, "impossible_usage": sum(self.impossible.values())}


def cannot_be(value: Any) -> bool:
    """True for a number that no count of tokens, no amount of USD and no time can be."""
    if type(value) not in (int, float):
        return False
    return not (0 <= value < MOST_COUNT if type(value) is int else isfinite(value) and 0 <= value < MOST_USD)


def only_possible(run: dict[str, Any]) -> dict[str, Any]:
    """A RunSummary without the figures that cannot be, which a source may state as totals: null, and counted."""
    wrong = [name for name in FIGURES if cannot_be(run[name])]
    return run | dict.fromkeys(wrong) | {"impossible_usage": run["impossible_usage"] + len(wrong)} if wrong else run
