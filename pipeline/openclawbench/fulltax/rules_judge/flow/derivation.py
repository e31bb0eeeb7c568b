"""Whether a figure follows from known numbers: by a sum, a difference, a product, a quotient, a share in per cent,
rounding, a change of unit, or the sum of a column.

Sessions have thousands of numbers and replies hundreds of figures, so numbers are compared as sorted arrays. None is
negative: no sign is read with a figure.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
# What one value is turned into another by: units of time, length and weight, per cent, dozens, halves.
FACTORS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 24, 30, 60, 100, 365, 1000, 1024, 3600, 0.5, 0.25, 0.1, 0.01, 0.001)
LARGEST_TABLE = 400  # numbers that are combined in pairs
ROUNDED = (1, 0, -1, -2, -3)  # digits to which a number may be rounded
LONGEST_COLUMN = 200  # numbers of a column that are summed
ABSOLUTE, RELATIVE = 0.006, 5e-5  # two numbers are equal but for rounding to two places or four digits


class Derivation:
    """Known numbers, and what columns of numbers that belong together add up to, prepared for questions."""

    def __init__(self, known: set[float], sums: list[Numbers]) -> None:
        self.known = np.array(sorted(known), dtype=np.float64)
        self.some = self.known[-LARGEST_TABLE:]
        self.positive = self.some[self.some > 0]
        self.sums = sums

    @cached_property
    def changed(self) -> Numbers:
        """Known numbers in other units."""
        return np.sort(np.outer(self.some, FACTORS).ravel())

    @cached_property
    def totals(self) -> Numbers:
        """What all columns add up to."""
        return np.sort(np.concatenate(self.sums)) if self.sums else np.empty(0)

    def makes(self, number: float) -> bool:
        """True if the number is known or made of known ones."""
        low, high = around(number)
        if holds(self.known, np.array([number])) or within(self.changed, low, high) or self.multiplies(low, high):
            return True
        moved = np.concatenate([number - self.some, self.some - number, number + self.some])
        if holds(self.known, np.round(moved, 4)):
            return True
        if any(bool(np.any(np.round(self.some, digits) == number)) for digits in ROUNDED):
            return True
        return within(self.totals, low, high)

    def multiplies(self, low: float, high: float) -> bool:
        """True if a product, a quotient or a share in per cent of two known numbers is between these bounds."""
        if low <= 0:
            return bool(self.some.size)  # zero times any number
        first = self.positive
        if not first.size or high <= 0:
            return False
        products = between(self.positive, low / first, high / first)
        quotients = between(self.positive, first / high, first / low)
        shares = between(self.positive, 100 * first / high, 100 * first / low)
        return products or quotients or shares


def follows(numbers: Iterable[float], known: set[float], columns: Iterable[list[float]]) -> bool:
    """True if one of the numbers is known or made of known ones. `columns`: numbers that belong together."""
    derivation = Derivation(known, [totals(column) for column in columns if column])
    return any(derivation.makes(number) for number in numbers)


def around(number: float) -> tuple[float, float]:
    """The bounds between which a number equals this one but for rounding."""
    low = min(number - ABSOLUTE, number / (1 + RELATIVE))
    return low, max(number + ABSOLUTE, number / (1 - RELATIVE))


def holds(known: Numbers, wanted: Numbers) -> bool:
    """True if one of the wanted numbers is among the known ones, which are sorted."""
    if not known.size:
        return False
    places = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    return bool(np.any(known[places] == wanted))


def within(values: Numbers, low: float, high: float) -> bool:
    """True if a value lies between the bounds; the values are sorted."""
    return bool(np.searchsorted(values, low) < np.searchsorted(values, high, side="right"))


def between(values: Numbers, low: Numbers, high: Numbers) -> bool:
    """True if a value lies between one of the pairs of bounds; the values are sorted."""
    return bool(np.any(np.searchsorted(values, low) < np.searchsorted(values, high, side="right")))


def totals(numbers: Sequence[float]) -> Numbers:
    """Sums and the mean of numbers that belong together: of all, and of runs of three and more."""
    column = np.array(numbers[-LONGEST_COLUMN:], dtype=np.float64)
    ends = np.concatenate([[0.0], np.cumsum(column)])
    runs = [ends[last:] - ends[: ends.size - last] for last in range(3, ends.size)]
    return np.concatenate([*runs, [column.mean()]])
