"""Measures of agreement and their intervals. Every number is rounded to six places and null where it has no base."""

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


NOTHING = Interval(None, None, None)


def proportion(part: int, whole: int, confidence: float, method: str = "wilson") -> Interval:
    """part / whole with a binomial interval of scipy: `wilson`, or `exact` (Clopper and Pearson)."""
    from scipy.stats import binomtest

    if not whole:
        return NOTHING
    found = binomtest(part, whole).proportion_ci(confidence_level=confidence, method=method)
    return Interval(rounded(part / whole), rounded(found.low), rounded(found.high))


def kappa(first: Sequence[Hashable], second: Sequence[Hashable], rules: AgreementRules) -> Interval:
    """Cohen's kappa (scikit-learn) with a percentile bootstrap interval over pairs.

    Drawing n pairs with replacement is drawing the confusion matrix from a multinomial distribution, so that is what
    is drawn, with a fixed seed. Null where both passes use one and the same label throughout: kappa is then 0 / 0.
    """
    import numpy as np
    from sklearn.metrics import cohen_kappa_score, confusion_matrix

    labels = sorted({*first, *second}, key=str)
    if len(labels) < 2:
        return NOTHING
    texts = [str(one) for one in labels]
    matrix = confusion_matrix([*map(str, first)], [*map(str, second)], labels=texts)
    value = cohen_kappa_score([*map(str, first)], [*map(str, second)], labels=texts)
    drawn = np.random.default_rng(rules.seed).multinomial(
        len(first), matrix.ravel() / matrix.sum(), size=rules.bootstrap_samples
    )
    tail = (1 - rules.confidence) / 2
    low, high = np.nanquantile(kappas(drawn.reshape(-1, *matrix.shape)), [tail, 1 - tail])
    return Interval(rounded(value), rounded(low), rounded(high))


def kappas(matrices: "NDArray[Any]") -> "NDArray[Any]":
    """Cohen's kappa of each confusion matrix of a stack; not a number where it is 0 / 0."""
    import numpy as np

    totals = matrices.sum(axis=(1, 2))
    observed = np.trace(matrices, axis1=1, axis2=2) / totals
    expected = (matrices.sum(axis=1) * matrices.sum(axis=2)).sum(axis=1) / totals**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((observed - expected) / (1 - expected))


def nominal_alpha(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Krippendorff's alpha (krippendorff) for labels without an order; null where all are the same."""
    import krippendorff

    labels = sorted({*first, *second}, key=str)
    if len(labels) < 2:
        return None
    place = {label: number for number, label in enumerate(labels)}
    ratings = [[place[one] for one in first], [place[one] for one in second]]
    return rounded(krippendorff.alpha(reliability_data=ratings, level_of_measurement="nominal"))


def interval_alpha(first: Sequence[int], second: Sequence[int]) -> float | None:
    """Krippendorff's alpha for numbers; null where all are the same.

    Of two raters who both rated everything it is 1 - mean squared difference / (2 * variance of all ratings). The
    library, to which a test compares it, takes memory by pairs times squared values: gigabytes for a corpus's onsets.
    """
    import numpy as np

    if len({*first, *second}) < 2:
        return None
    ones, others = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    observed, expected = np.mean((ones - others) ** 2), 2 * np.concatenate([ones, others]).var(ddof=1)
    return rounded(1 - observed / expected)


def rounded(value: Any) -> float | None:
    """A number of a library as a plain one; null for one that is none."""
    number = float(value)
    return None if math.isnan(number) else round(number, PLACES)
