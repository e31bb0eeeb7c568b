"""The gap corrected by human verdicts: known values, bounds, and how often its interval covers the truth."""

import itertools
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclawbench.audit.sampling import allocate_neyman
from openclawbench.reports.corrected_gap import PosteriorSettings, Stratum
from openclawbench.reports.corrected_gap import estimate_corrected_gap as corrected_gap

RULES = PosteriorSettings(confidence=0.95, draws=20_000, seed=20260101)
SHARES = {"pass_low_risk": 0.5, "pass_moderate_risk": 0.3, "pass_high_risk": 0.2}
TRAJECTORIES = 6000
REVIEWED = 300


def two_by_two(population: int, silver_share: float) -> list[Stratum]:
    """The paper's calibration as one slice: 35 of 45 silver anomalies are real, 2 of 255 silver normals are not."""
    anomalous = round(population * silver_share)
    return [Stratum("all", True, anomalous, 35, 10, 0), Stratum("all", False, population - anomalous, 2, 253, 0)]


def test_the_papers_calibration_moves_its_gap() -> None:
    gap = corrected_gap(two_by_two(28_000, 0.0933), RULES)
    assert gap.silver == pytest.approx(0.0933, abs=1e-4)
    assert gap.corrected.value == pytest.approx(0.0797, abs=1e-4)
    assert (gap.corrected.low, gap.corrected.high) == pytest.approx((0.066, 0.098), abs=2e-3)
    assert gap.prediction_powered.value == gap.corrected.value
    assert gap.sensitivity.value == pytest.approx(0.0933 * 35 / 45 / 0.0797, abs=2e-3)


def test_a_perfect_judge_is_not_corrected() -> None:
    strata = [Stratum("pass_high_risk", True, 100, 100, 0, 0), Stratum("pass_high_risk", False, 900, 0, 900, 0)]
    gap = corrected_gap(strata, RULES)
    assert gap.corrected.value == gap.silver == 0.1
    assert gap.sensitivity.value == gap.specificity.value == 1.0
    assert gap.corrected.low is not None and gap.corrected.high is not None
    assert gap.corrected.low < 0.1 < gap.corrected.high < 0.11


def test_unresolved_verdicts_bound_the_gap_both_ways() -> None:
    strata = [Stratum("pass_high_risk", True, 100, 8, 2, 10), Stratum("pass_high_risk", False, 300, 0, 10, 10)]
    gap = corrected_gap(strata, RULES)
    assert gap.unresolved_normal == pytest.approx(0.25 * 8 / 20)
    assert gap.unresolved_anomalous == pytest.approx(0.25 * 18 / 20 + 0.75 * 10 / 20)
    assert gap.corrected.value == pytest.approx(0.25 * 0.8)


def test_a_stratum_without_a_verdict_keeps_its_whole_width() -> None:
    strata = [Stratum("pass_low_risk", True, 500, 0, 0, 0), Stratum("pass_low_risk", False, 500, 0, 200, 0)]
    gap = corrected_gap(strata, RULES)
    assert gap.corrected.low is not None and gap.corrected.high is not None
    assert gap.corrected.low < 0.01 and gap.corrected.high > 0.49
    assert gap.prediction_powered.value is None


def test_nothing_to_correct() -> None:
    assert corrected_gap([], RULES).corrected.value is None
    assert corrected_gap([Stratum("pass_low_risk", True, 0, 0, 0, 0)], RULES).silver is None


GRID = [*itertools.product((0.05, 0.3), (0.6, 0.95), (0.005, 0.08))]
CORPORA = 150  # of each point of the grid


def test_the_interval_covers_the_truth() -> None:
    """Over judges that err much and little; the silver share with its own interval mostly misses it."""
    rules = RULES._replace(draws=2000)
    generator = np.random.default_rng(20260101)
    covered, by_silver = [], []
    for point in GRID:
        hits = [covers(*corpus(generator, *point), rules) for _ in range(CORPORA)]
        covered.append(sum(corrected for corrected, _ in hits) / CORPORA)
        by_silver.append(sum(silver for _, silver in hits) / CORPORA)
    assert np.mean(covered) >= 0.93
    assert min(covered) >= 0.9  # 150 corpora tell 0.95 from 0.90 by nearly three standard errors
    assert np.mean(by_silver) < 0.5


def covers(truth: float, strata: list[Stratum], rules: PosteriorSettings) -> tuple[bool, bool]:
    """Whether the corrected interval and the silver share's binomial interval hold the truth."""
    gap = corrected_gap(strata, rules)
    assert gap.corrected.low is not None and gap.corrected.high is not None and gap.silver is not None
    reach = 1.96 * (gap.silver * (1 - gap.silver) / TRAJECTORIES) ** 0.5
    return gap.corrected.low <= truth <= gap.corrected.high, abs(gap.silver - truth) <= reach


def corpus(generator: np.random.Generator, silver: float, ppv: float, omitted: float) -> tuple[float, list[Stratum]]:
    """The true share of anomalies, and strata with as many reviewed trajectories of each slice."""
    truth, strata = 0, []
    for number, (name, share) in enumerate(SHARES.items()):
        size = int(TRAJECTORIES * share)
        flagged = int(size * min(0.9, silver * (0.5, 1, 2)[number]))
        real = generator.binomial(flagged, min(0.99, ppv * (0.9, 1, 1.03)[number]))
        missed = generator.binomial(size - flagged, omitted * (0.5, 1, 2)[number])
        truth += real + missed
        drawn = generator.hypergeometric(flagged, size - flagged, REVIEWED // 3)
        for is_flagged, population, anomalous, reviewed in (
            (True, flagged, real, drawn),
            (False, size - flagged, missed, REVIEWED // 3 - drawn),
        ):
            seen = generator.hypergeometric(anomalous, population - anomalous, reviewed) if reviewed else 0
            strata.append(Stratum(name, is_flagged, population, int(seen), int(reviewed - seen), 0))
    return truth / TRAJECTORIES, strata


def test_neyman_narrows_the_interval_of_the_papers_sample() -> None:
    """300 verdicts on the paper's 2x2 in three slices: as many of each slice, or by slice and silver label."""
    population = {("low", True): 500, ("low", False): 7500, ("mid", True): 250, ("mid", False): 1000,
                  ("high", True): 250, ("high", False): 500}  # fmt: skip
    shares = {key: 35 / 45 if key[1] else 2 / 255 for key in population}
    by_name = {"/".join(map(str, key)): key for key in population}
    sizes = {name: population[key] for name, key in by_name.items()}
    numbers = allocate_neyman(sizes, sizes, {name: shares[key] for name, key in by_name.items()}, 300, 10)
    equal = {
        name: round(100 * population[key] / (population[key[0], True] + population[key[0], False]))
        for name, key in by_name.items()
    }
    assert sum(numbers.values()) == 300
    assert width(numbers, by_name, population, shares) < 0.8 * width(equal, by_name, population, shares)


def width(
    numbers: Mapping[str, int],
    keys: Mapping[str, tuple[str, bool]],
    population: Mapping[tuple[str, bool], int],
    shares: Mapping[tuple[str, bool], float],
) -> float:
    """Mean width of the corrected interval over drawn verdicts."""
    generator = np.random.default_rng(7)
    widths = []
    for _ in range(40):
        strata = []
        for name, drawn in numbers.items():
            key = keys[name]
            anomalous = int(generator.binomial(drawn, shares[key]))
            strata.append(Stratum(key[0], key[1], population[key], anomalous, drawn - anomalous, 0))
        interval = corrected_gap(strata, RULES._replace(draws=2000)).corrected
        assert interval.low is not None and interval.high is not None
        widths.append(interval.high - interval.low)
    return float(np.mean(widths))


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9000), st.floats(0.001, 0.999)), min_size=1, max_size=7),
    st.integers(7, 200),
    st.integers(1, 20),
)
def test_neyman_draws_what_is_there(strata: list[tuple[int, int, float]], wanted: int, at_least: int) -> None:
    available, population, shares = (
        {str(number): stratum[part] for number, stratum in enumerate(strata)} for part in range(3)
    )
    numbers = allocate_neyman(available, population, shares, wanted, at_least)
    assert sum(numbers.values()) == min(wanted, sum(available.values()))
    assert all(0 < number <= available[name] for name, number in numbers.items())
    least = min(at_least, wanted // max(1, len(numbers)))
    assert all(number >= min(least, available[name]) for name, number in numbers.items())
