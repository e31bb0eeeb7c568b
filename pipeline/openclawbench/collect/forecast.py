"""Forecast what the remaining sessions will cost, from those that were collected."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from openclawbench.collect.plan import PlannedSession

MULTI_TURN = "multi_turn"


class Costs(NamedTuple):
    """Costs of sessions: sums, or an average. `usd` is None where a price is not known."""

    seconds: float = 0.0
    tokens: float = 0.0
    usd: float | None = 0.0

    def times(self, factor: float) -> "Costs":
        """The costs of this many as many sessions."""
        return Costs(self.seconds * factor, self.tokens * factor, None if self.usd is None else self.usd * factor)


@dataclass(frozen=True)
class CostForecast:
    """Of sessions of one source model and category. `basis`: `measured`, on sessions of that category, `similar`, on
    sessions of that source model with as many user turns (one or several), None where neither was collected: then
    `costs` is None, too."""

    source_model: str
    subset: str
    left: int
    measured: int
    basis: str | None
    costs: Costs | None


class Measured:
    """Averages of the sessions collected so far."""

    def __init__(self) -> None:
        self.sums: defaultdict[tuple[str, str], Costs] = defaultdict(Costs)
        self.counts: defaultdict[tuple[str, str], int] = defaultdict(int)

    def add(self, source_model: str, subset: str, seconds: float, tokens: float, usd: float | None) -> None:
        """A session that was collected."""
        for kind in (subset, kind_of(subset)):
            sums = self.sums[source_model, kind]
            together = None if usd is None or sums.usd is None else sums.usd + usd
            self.sums[source_model, kind] = Costs(sums.seconds + seconds, sums.tokens + tokens, together)
            self.counts[source_model, kind] += 1

    def average(self, source_model: str, subset: str) -> tuple[str | None, Costs | None]:
        """(basis, average of a session), as CostForecast has them."""
        for basis, kind in (("measured", subset), ("similar", kind_of(subset))):
            if count := self.counts.get((source_model, kind)):
                return basis, self.sums[source_model, kind].times(1 / count)
        return None, None

    def forecasts(self, left: Mapping[tuple[str, str], int]) -> list[CostForecast]:
        """A row for each source model and category that has sessions left, as `count_sessions` gives them."""
        return [self.forecast(*pair, count) for pair, count in left.items() if count]

    def forecast(self, source_model: str, subset: str, left: int) -> CostForecast:
        """The forecast of this many sessions together."""
        basis, average = self.average(source_model, subset)
        costs = None if average is None else average.times(left)
        return CostForecast(source_model, subset, left, self.counts.get((source_model, subset), 0), basis, costs)


def count_sessions(sessions: Iterable[PlannedSession]) -> Counter[tuple[str, str]]:
    """(source model, category) -> number of the sessions."""
    return Counter((planned.source_model.name, planned.task.subset) for planned in sessions)


def kind_of(subset: str) -> str:
    """What sessions of a category are similar to: tasks with several user turns take five times as long as others."""
    return "several turns" if subset.startswith(MULTI_TURN) else "one turn"


def totals(forecasts: list[CostForecast], concurrency: int) -> dict[str, Any]:
    """left, hours, tokens, usd, not_reckoned: how many sessions the amounts do not cover; unpriced: how many `usd` does
    not cover besides, for want of a price. Amounts are null if they cover none."""
    covered = [forecast.costs for forecast in forecasts if forecast.costs is not None]
    left = sum(forecast.left for forecast in forecasts)
    not_reckoned = sum(forecast.left for forecast in forecasts if forecast.costs is None)
    unpriced = sum(forecast.left for forecast in forecasts if forecast.costs and forecast.costs.usd is None)
    if left and not covered:
        return dict.fromkeys(("hours", "tokens", "usd")) | {"left": left, "not_reckoned": left, "unpriced": 0}
    priced = [costs.usd for costs in covered if costs.usd is not None]
    return {
        "left": left,
        "hours": round(sum(costs.seconds for costs in covered) / concurrency / 3600, 2),
        "tokens": round(sum(costs.tokens for costs in covered)),
        "usd": round(sum(priced), 2) if priced or not covered else None,
        "not_reckoned": not_reckoned,
        "unpriced": unpriced,
    }
