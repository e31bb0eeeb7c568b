"""How many steps of each stratum a sample takes. The rule stands in audit.toml."""

from collections.abc import Mapping

from openclawbench.errors import UsageError


def allocate(available: Mapping[str, int], wanted: int, at_least: int) -> dict[str, int]:
    """Stratum -> steps to draw, strata in their given order; the sum is `wanted`, or all where there are not as many.

    Raises UsageError where the sample is too small for one of each stratum.
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
    taken = {name: min(least, number) for name, number in strata.items()}
    left = wanted - sum(taken.values())
    rest = {name: number - taken[name] for name, number in strata.items()}
    quotas = {name: divmod(left * number, sum(rest.values())) for name, number in rest.items()}
    short = left - sum(whole for whole, _ in quotas.values())
    first = sorted(quotas, key=lambda name: -quotas[name][1])[:short]  # stable: equal remainders in the given order
    return {name: taken[name] + quotas[name][0] + (name in first) for name in strata}
