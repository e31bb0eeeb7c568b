"""What a run used: tokens, and amounts of USD as whole numbers of trillionths (own choice). A message may cost less
than a millionth of a dollar, and a sum of integers is the same on every machine and in any order.

The tokens of a prompt are `input`, whatever the cache did with them; `cached` were read from the cache, `cache_write`
written into it, and both are part of `input`, as `reasoning` is of `output` (OpenTelemetry's GenAI conventions, ATIF).
So `total` is input and output in every format.

A report of nothing but zeros says nothing: programs write one where the provider reports no usage. A price of zero for
tokens says nothing either: OpenClaw writes it where it knows no price. Both are unknown, and counted. A figure that
cannot be (below zero, infinite, beyond what a column holds) makes its sum unknown, and is counted: a provider that
knows no price writes one below zero."""

from collections.abc import Mapping
from math import isfinite
from typing import Any, TypeGuard

from openclawbench.sources.io.json_values import MOST_COUNT, count_of, number_of

PICO = 10**12
MOST_USD = 1e9  # no run costs more
TOKENS = ("input", "cached", "cache_write", "output", "reasoning", "total")
FIELDS = tuple(f"{name}_tokens" for name in TOKENS)
FIELD_OF = dict(zip(TOKENS, FIELDS, strict=True))
FIGURES = (*FIELDS, "cost_usd", "wall_time_s")  # of a RunSummary
UNKNOWN: dict[str, Any] = dict.fromkeys((*FIELDS, "cost_usd"))


class Usage:
    """Sums over a run's messages."""

    def __init__(self) -> None:
        self.sums: dict[str, int] = {}
        self.impossible: dict[str, int] = {}
        self.unreported = 0  # messages that say nothing of tokens
        self.unpriced = 0  # messages that say tokens and no price

    def add(self, figures: Mapping[str, Any] | None, *, spoke: bool = True, prices: bool = True) -> Any:
        """Add what a message reports: numbers by the names of TOKENS, and `usd`. Returns it as a StepUsage; None if it
        says nothing. `spoke`: a model wrote the message; `prices`: the format has a price a message."""
        if not figures or not any(map(is_said, figures.values())):
            self.unreported += spoke
            return None
        usage: dict[str, Any] = {}
        for name, field in FIELD_OF.items():
            value = figures.get(name)
            usage[field] = None if value is None else self.count(name, value)
        if usage["total_tokens"] is None and "total" not in self.impossible:
            usage["total_tokens"] = self.count("total", total_of(usage["input_tokens"], usage["output_tokens"]))
        usd = figures.get("usd")
        usage["cost_usd"] = self.usd(usd) if is_said(usd) else None
        self.unpriced += prices and not is_said(usd)
        return usage

    def count(self, name: str, value: Any) -> int | None:
        """Add a number of tokens. A value that is not a whole number is ignored."""
        if type(value) is int and 0 <= value < MOST_COUNT:
            self.sums[name] = self.sums.get(name, 0) + value
            return value
        if cannot_be(value):
            self.impossible[name] = self.impossible.get(name, 0) + 1
        return None

    def usd(self, value: float) -> float | None:
        """Add an amount of USD, and return it; None if it cannot be."""
        if cannot_be(value):
            self.impossible["pico_usd"] = self.impossible.get("pico_usd", 0) + 1
            return None
        self.sums["pico_usd"] = self.sums.get("pico_usd", 0) + round(value * PICO)
        return float(value)

    def known(self) -> dict[str, Any]:
        """Fields of a RunSummary; None if nothing says a figure, or one of its parts cannot be."""
        sums = {name: value for name, value in self.sums.items() if name not in self.impossible}
        usd = sums["pico_usd"] / PICO if "pico_usd" in sums else None
        return {f"{name}_tokens": sums.get(name) for name in TOKENS} | {
            "cost_usd": usd,
            "unreported_usage": self.unreported,
            "unpriced_usage": self.unpriced,
            "impossible_usage": sum(self.impossible.values()),
        }


def openclaw_figures(used: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the usage of an OpenClaw message says. Its `input` leaves out what the cache had, but for providers that
    count it in: their total is input and output alone."""
    if not used:
        return {}
    uncached, cached, written = used.get("input"), used.get("cacheRead"), used.get("cacheWrite")
    output, total, cost = used.get("output"), used.get("totalTokens"), used.get("cost")
    figures = {
        "input": uncached,
        "cached": cached,
        "cache_write": written,
        "output": output,
        "reasoning": used.get("reasoning"),
        "total": total,
        "usd": cost.get("total") if isinstance(cost, dict) else None,
    }
    parts = [part for part in (uncached, cached, written) if part]
    if not {*map(type, parts)} <= {int} or min(parts, default=0) < 0:
        figures["input"] = next((part for part in parts if cannot_be(part)), uncached)  # the sum cannot be either
    elif type(uncached) is int and not (type(output) is int and total == uncached + output):
        figures["input"] = sum(parts)
    return figures


def stated_usage(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Token and cost fields of a RunSummary from totals that a source states (names of TOKENS, and `usd`), for
    only_possible() to look at; None for what it does not say. Nothing but zeros is nothing said."""
    if not any(map(is_said, figures.values())):
        return UNKNOWN
    counts = {name: count_of(figures.get(name)) for name in TOKENS}
    if counts["total"] is None:
        counts["total"] = total_of(counts["input"], counts["output"])
    return {f"{name}_tokens": value for name, value in counts.items()} | {"cost_usd": number_of(figures.get("usd"))}


def total_of(read: int | None, written: int | None) -> int | None:
    """Tokens read and written together; None if one of them is not known, or cannot be."""
    return None if read is None or written is None or min(read, written) < 0 else read + written


def is_said(value: Any) -> TypeGuard[int | float]:
    """True for a number that is not zero."""
    return type(value) in (int, float) and value != 0


def cannot_be(value: Any) -> bool:
    """True for a number that no count of tokens, no amount of USD and no time can be."""
    if type(value) not in (int, float):
        return False
    return not (0 <= value < MOST_COUNT if type(value) is int else isfinite(value) and 0 <= value < MOST_USD)


def only_possible(run: dict[str, Any]) -> dict[str, Any]:
    """A RunSummary without the figures that cannot be, which a source may state as totals: null, and counted."""
    wrong = [name for name in FIGURES if cannot_be(run[name])]
    return run | dict.fromkeys(wrong) | {"impossible_usage": run["impossible_usage"] + len(wrong)} if wrong else run
