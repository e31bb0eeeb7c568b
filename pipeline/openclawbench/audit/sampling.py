"""Stratified sampling: how many of each stratum a sample takes (the rule is in audit.toml), and which.

A hash of the seed and the key decides the order, so that neither the order of rows nor the shards matter.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from openclawbench.errors import UsageError

Key = tuple[Any, ...]  # (source_model, trajectory_id, …)


def allocate(available: Mapping[str, int], wanted: int, at_least: int) -> dict[str, int]:
    """Stratum -> number to draw, in the given order. The numbers add up to `wanted`, or to all if there are fewer.

    Raises UsageError if `wanted` is too small for one of each stratum.
    """
    strata = {name: number for name, number in available.items() if number > 0}
    if wanted < len(strata):
        raise UsageError(
            f"--n {wanted}: {len(strata)} categories occur, and each must be there. Ask for {len(strata)} or more."
        )
    total = sum(strata.values())
    if wanted >= total:
        return strata
    least = min(at_least, wanted // len(strata))
    minimums = {name: min(least, number) for name, number in strata.items()}
    remaining = wanted - sum(minimums.values())
    rest = {name: number - minimums[name] for name, number in strata.items()}
    quotas = {name: divmod(remaining * number, sum(rest.values())) for name, number in rest.items()}
    short = remaining - sum(quota for quota, _ in quotas.values())
    extra = sorted(quotas, key=lambda name: -quotas[name][1])[:short]  # stable: equal remainders in the given order
    return {name: minimums[name] + quotas[name][0] + (name in extra) for name in strata}


def allocate_neyman(
    available: Mapping[str, int], population: Mapping[str, int], shares: Mapping[str, float], wanted: int, at_least: int
) -> dict[str, int]:
    """Stratum -> number to draw, so that a weighted share of all strata is known as well as `wanted` draws allow.

    Neyman's allocation: in proportion to population * sqrt(share * (1 - share)), where `shares` are the expected
    shares, between 0 and 1. Every stratum gets at least `at_least`, or all that it has; what one cannot give, others
    do. The numbers add up to `wanted`, or to all if there are fewer. Raises UsageError if `wanted` is too small for
    one each.
    """
    least = allocate(available, wanted, at_least)
    if sum(least.values()) < wanted or all(least[name] == available[name] for name in least):
        return least
    numbers = {name: min(at_least, wanted // len(least), available[name]) for name in least}
    need = {name: population[name] * (shares[name] * (1 - shares[name])) ** 0.5 for name in least}
    for _ in range(wanted - sum(numbers.values())):  # the next draw where it narrows the interval most
        open_strata = [name for name in numbers if numbers[name] < available[name]]
        name = max(open_strata, key=lambda name: need[name] ** 2 / (max(numbers[name], 0.5) * (numbers[name] + 1)))
        numbers[name] += 1
    return numbers


def draw_in_turns(entries: Iterable[tuple[str, Key]], numbers: Mapping[str, int], seed: int) -> list[Key]:
    """Draw `numbers[stratum]` keys of each stratum; within a stratum, source models take turns.

    entries: (stratum, key). Returns the keys stratum by stratum in the order of `numbers`, sorted within each.
    """
    by_stratum: dict[str, dict[str, list[tuple[str, Key]]]] = defaultdict(lambda: defaultdict(list))
    for stratum, key in entries:
        text = "\0".join(map(str, (seed, *key))).encode("utf-8", "surrogatepass")
        by_stratum[stratum][key[0]].append((hashlib.sha256(text).hexdigest(), key))
    chosen: list[Key] = []
    for stratum, number in numbers.items():
        turns = [
            (turn, digest, key)
            for keys in by_stratum[stratum].values()
            for turn, (digest, key) in enumerate(sorted(keys)[:number])
        ]
        chosen += sorted(key for _, _, key in sorted(turns)[:number])
    return chosen
