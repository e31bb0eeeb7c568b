"""The outcome-process gap corrected by human verdicts: what a silver rate comes to once people have measured how often
silver errs. Own choice: the paper prints the silver rate (section 4) and the errors of silver (T36) separately."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from openclawbench.reports.measures import NO_INTERVAL, Interval, rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray

JEFFREYS = 0.5  # both parameters of the Beta prior of a proportion
FEW_VERDICTS = 10  # a stratum with fewer is named beside the result


class Stratum(NamedTuple):
    """Trajectories of one risk slice and one silver label, and the verdicts on those that were drawn from them."""

    slice_label: str
    silver_anomalous: bool
    population: int  # trajectories of the release that the gap is over
    anomalous: int  # verdicts that say anomalous
    normal: int  # verdicts that say normal
    unresolved: int  # reviewed without a settled verdict

    @property
    def settled(self) -> int:
        """Number of verdicts with a label."""
        return self.anomalous + self.normal

    @property
    def name(self) -> str:
        """Slice and silver label, for a reader."""
        return stratum_name(self.slice_label, self.silver_anomalous)


def stratum_name(slice_label: str, silver_anomalous: bool) -> str:
    """A risk slice and a silver label as one name."""
    return f"{slice_label}, silver {'anomalous' if silver_anomalous else 'normal'}"


class PosteriorSettings(NamedTuple):
    """How the interval is computed: its level, the number of draws, and their seed."""

    confidence: float
    draws: int
    seed: int


class CorrectedGap(NamedTuple):
    """Shares of the population, between 0 and 1; None without a population. Intervals have the same level."""

    silver: float | None  # share that silver calls anomalous; it has no sampling error, so no interval
    corrected: Interval  # post-stratified: PPV and FOR of each stratum, Jeffreys draws
    prediction_powered: Interval  # stratified PPI, normal approximation; a second opinion, never the headline
    sensitivity: Interval  # share of the truly anomalous that silver calls anomalous
    specificity: Interval  # share of the truly normal that silver calls normal
    unresolved_normal: float | None  # the corrected share if every unresolved verdict were normal
    unresolved_anomalous: float | None  # and if every one were anomalous


NO_GAP = CorrectedGap(None, NO_INTERVAL, NO_INTERVAL, NO_INTERVAL, NO_INTERVAL, None, None)


def estimate_corrected_gap(strata: Sequence[Stratum], settings: PosteriorSettings) -> CorrectedGap:
    """The share of truly anomalous trajectories in a population of which a sample was reviewed.

    Silver labels cut each slice into two strata. In each, the share that people call anomalous (PPV where silver says
    anomalous, FOR where it says normal) has a Beta(anomalous + 1/2, normal + 1/2) posterior; draws from it, weighted by
    the populations of the strata, give a percentile interval. The value is the weighted sum of the observed shares; a
    stratum without a settled verdict counts with the mean of the prior, one half, and with its whole width. The sample
    may be drawn from the strata in any proportion: only the draw within a stratum must be at random. There is no pooled
    Rogan-Gladen correction: slices differ in how often silver errs, and its interval then misses the truth.
    """
    import numpy as np

    strata = [stratum for stratum in strata if stratum.population]
    total = sum(stratum.population for stratum in strata)
    if not total:
        return NO_GAP
    weights = np.array([stratum.population / total for stratum in strata])
    silver = np.array([stratum.silver_anomalous for stratum in strata])
    generator = np.random.default_rng(settings.seed)
    draws = np.column_stack(
        [generator.beta(stratum.anomalous + JEFFREYS, stratum.normal + JEFFREYS, settings.draws) for stratum in strata]
    )
    shares = np.array([observed_share(stratum.anomalous, stratum.settled) for stratum in strata])
    bounds = [
        [
            observed_share(stratum.anomalous + stratum.unresolved * anomalous, stratum.settled + stratum.unresolved)
            for stratum in strata
        ]
        for anomalous in (0, 1)
    ]

    def recall(chosen: "NDArray[Any]", value: "NDArray[Any]", drawn: "NDArray[Any]") -> Interval:
        """Of the trajectories that `value` is the share of, those in the chosen strata."""
        with np.errstate(invalid="ignore", divide="ignore"):
            parts = [(shares[..., chosen] @ weights[chosen]) / (shares @ weights) for shares in (value, drawn)]
        return percentile_interval(parts[0], parts[1], settings.confidence)

    return CorrectedGap(
        rounded(weights[silver].sum()),
        percentile_interval(weights @ shares, draws @ weights, settings.confidence),
        prediction_powered(strata, settings.confidence),
        recall(silver, shares, draws),
        recall(~silver, 1 - shares, 1 - draws),
        *(rounded(weights @ np.array(bound)) for bound in bounds),
    )


def observed_share(part: int, total: int) -> float:
    """part / total; the mean of the prior where nothing was observed."""
    return part / total if total else 0.5


def percentile_interval(value: Any, draws: Any, confidence: float) -> Interval:
    """The value with the percentile interval of its draws."""
    import numpy as np

    tail = (1 - confidence) / 2
    low, high = np.nanquantile(draws, [tail, 1 - tail])
    return Interval(rounded(value), rounded(low), rounded(high))


def prediction_powered(strata: Sequence[Stratum], confidence: float) -> Interval:
    """Prediction-powered inference by stratum: silver's share plus the mean difference (human minus silver) of the
    verdicts. Within a stratum silver is constant, so its share is the observed one. No interval where a stratum has
    fewer than two settled verdicts."""
    from scipy.stats import norm

    total = sum(stratum.population for stratum in strata)
    value = variance = 0.0
    for stratum in strata:
        if stratum.settled < 2:
            return NO_INTERVAL
        share, weight = stratum.anomalous / stratum.settled, stratum.population / total
        value += weight * share
        variance += weight**2 * share * (1 - share) / (stratum.settled - 1)
    reach = float(norm.ppf(1 - (1 - confidence) / 2)) * variance**0.5
    return Interval(rounded(value), rounded(max(0.0, value - reach)), rounded(min(1.0, value + reach)))
