"""Whether a figure follows from known numbers: by a sum, a difference, a product, a quotient, a share in per cent,
rounding, a change of unit, or the sum of a column.

Sessions have thousands of numbers and replies hundreds of figures, so numbers are compared as sorted arrays. None is
negative: no sign is read with a figure.
"""

from collections.abc import Iterable, Sequence, Set
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
# What one value is turned into another by: units of time, length and weight, per cent, dozens, halves.
FACTORS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 24, 30, 60, 100, 365, 1000, 1024, 3600, 0.5, 0.25, 0.1, 0.01, 0.001)
LARGEST_TABLE = 400  # numbers that are combined in pairs
ROUNDED = (1, 0, -1, -2, -3)  # digits to which a number may be rounded
LONGEST_COLUMN = 200  # numbers of a column that are summed
SHORTEST_RUN = 3  # numbers of a column that are summed
ABSOLUTE, RELATIVE = 0.006, 5e-5  # two numbers are equal but for rounding to two places or four digits


class Derivation:
    """Known numbers, and what columns of numbers that belong together add up to, prepared for questions."""

    def __init__(self, known: Set[float], sums: Iterable[Numbers]) -> None:
        self.known = known
        self.some = np.array(sorted(known)[-LARGEST_TABLE:], dtype=np.float64)
        self.signed = np.concatenate([-self.some, self.some])
        self.positive = self.some[self.some > 0]
        self.shares = np.concatenate([self.positive, 100 * self.positive])
        self.near = np.concatenate([np.outer(self.some, FACTORS).ravel(), *sums])  # in other units, and added up

    @cached_property
    def rounded(self) -> Numbers:
        """Known numbers with fewer digits."""
        return np.concatenate([self.some.round(digits) for digits in ROUNDED])

    def makes(self, number: float, decimals: int = 0) -> bool:
        """True if the number is known or made of known ones. `decimals`: the digits behind its point, to which a share
        may be rounded."""
        low, high = around(number)
        if number in self.known or within(self.near, low, high) or self.multiplies(low, high):
            return True
        if decimals and any(self.multiplies(*bounds) for bounds in shares(number, decimals)):
            return True
        if bool((self.rounded == number).any()):
            return True
        moved = abs(number + self.signed).round(4)
        return not self.known.isdisjoint(moved.tolist())

    def multiplies(self, low: float, high: float) -> bool:
        """True if a product, a quotient or a share in per cent of two known numbers is between these bounds."""
        if low <= 0:
            return bool(self.some.size)  # zero times any number
        if not self.positive.size or high <= 0:
            return False
        lows = np.concatenate([low / self.positive, self.shares / high])
        highs = np.concatenate([high / self.positive, self.shares / low])
        return bool((self.positive.searchsorted(lows) < self.positive.searchsorted(highs, side="right")).any())


def shares(number: float, decimals: int) -> list[tuple[float, float]]:
    """The bounds between which a share or a growth in per cent rounds to a number: a growth is a share less 100."""
    half = 0.5 * 10**-decimals
    return [(share - half, share + half) for share in (number, 100 + number, 100 - number) if share - half > 0]


def around(number: float) -> tuple[float, float]:
    """The bounds between which a number equals this one but for rounding."""
    low = min(number - ABSOLUTE, number / (1 + RELATIVE))
    return low, max(number + ABSOLUTE, number / (1 - RELATIVE))


def within(values: Numbers, low: float, high: float) -> bool:
    """True if a value lies between the bounds. To sort many values takes longer than to ask a few times."""
    return bool(((values >= low) & (values <= high)).any())


def totals(numbers: Sequence[float]) -> Numbers:
    """Sums and the mean of numbers that belong together: of all, and of runs of three and more."""
    if len(numbers) < SHORTEST_RUN:
        return np.array([sum(numbers) / len(numbers)])  # the mean alone, as most columns have
    column = np.array([0.0, *numbers[-LONGEST_COLUMN:]], dtype=np.float64)
    ends = column.cumsum()
    last, first = ends_of_runs(ends.size)
    return np.concatenate([ends[last] - ends[first], column[1:].sum(keepdims=True) / (column.size - 1)])


@lru_cache(maxsize=64)
def ends_of_runs(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Places (last, first) of the running sums of a column between which a run of SHORTEST_RUN numbers and more lies.
    `size`: of these sums, one more than the column has numbers."""
    return np.tril_indices(size, k=-SHORTEST_RUN)
