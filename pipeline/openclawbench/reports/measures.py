"""Measures of agreement and their intervals. Numbers are rounded to six places; a measure without a base is None."""

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from openclawbench.reports.settings import AgreementRules

if TYPE_CHECKING:
    from numpy.typing import NDArray

PLACES = 6


class Interval(NamedTuple):
    """A number with its confidence interval."""

    value: float | None
    low: float | None
    high: float | None


NO_INTERVAL = Interval(None, None, None)


def proportion(part: int, total: int, confidence: float, method: str = "wilson") -> Interval:
    """part / total with a binomial interval of scipy: `wilson`, or `exact` (Clopper and Pearson)."""
    from scipy.stats import binomtest

    if not total:
        return NO_INTERVAL
    interval = binomtest(part, total).proportion_ci(confidence_level=confidence, method=method)
    return Interval(rounded(part / total), rounded(interval.low), rounded(interval.high))


def kappa(first: Sequence[Hashable], second: Sequence[Hashable], rules: AgreementRules) -> Interval:
    """Cohen's kappa (scikit-learn) with a percentile bootstrap interval over pairs.

    Drawing n pairs with replacement is drawing the confusion matrix from a multinomial distribution, which is what
    happens here, with a fixed seed. All values are None where both passes use a single label throughout: kappa is
    then 0 / 0. They are None for a single pair, too, of which kappa says nothing.
    """
    import numpy as np
    from sklearn.metrics import cohen_kappa_score, confusion_matrix

    labels = sorted({*first, *second}, key=str)
    if len(labels) < 2 or len(first) < 2:
        return NO_INTERVAL
    texts = [str(label) for label in labels]
    matrix = confusion_matrix([*map(str, first)], [*map(str, second)], labels=texts)
    value = cohen_kappa_score([*map(str, first)], [*map(str, second)], labels=texts)
    resampled = np.random.default_rng(rules.seed).multinomial(
        len(first), matrix.ravel() / matrix.sum(), size=rules.bootstrap_samples
    )
    tail = (1 - rules.confidence) / 2
    low, high = np.nanquantile(kappas(resampled.reshape(-1, *matrix.shape)), [tail, 1 - tail])
    return Interval(rounded(value), rounded(low), rounded(high))


def kappas(matrices: "NDArray[Any]") -> "NDArray[Any]":
    """Cohen's kappa of each confusion matrix of a stack; NaN where it is 0 / 0."""
    import numpy as np

    totals = matrices.sum(axis=(1, 2))
    observed = np.trace(matrices, axis1=1, axis2=2) / totals
    expected = (matrices.sum(axis=1) * matrices.sum(axis=2)).sum(axis=1) / totals**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((observed - expected) / (1 - expected))


def nominal_alpha(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Krippendorff's alpha (package krippendorff) for labels without an order; None where all are the same."""
    import krippendorff

    labels = sorted({*first, *second}, key=str)
    if len(labels) < 2:
        return None
    place = {label: number for number, label in enumerate(labels)}
    ratings = [[place[label] for label in first], [place[label] for label in second]]
    return rounded(krippendorff.alpha(reliability_data=ratings, level_of_measurement="nominal"))


def interval_alpha(first: Sequence[int], second: Sequence[int]) -> float | None:
    """Krippendorff's alpha for numbers; None where all are the same.

    For two raters who both rated everything it is 1 - mean squared difference / (2 * variance of all ratings). A test
    compares it with the library, whose memory grows with pairs times squared values: gigabytes for a corpus's onsets.
    """
    import numpy as np

    if len({*first, *second}) < 2:
        return None
    first_values, second_values = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    observed, expected = (
        np.mean((first_values - second_values) ** 2),
        2 * np.concatenate([first_values, second_values]).var(ddof=1),
    )
    return rounded(1 - observed / expected)


def rounded(value: Any) -> float | None:
    """A library's number as a Python float, rounded to PLACES; None for NaN."""
    number = float(value)
    return None if math.isnan(number) else round(number, PLACES)
