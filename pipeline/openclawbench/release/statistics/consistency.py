"""Identities between published figures: sums, shares and repeated quantities that must agree.

A printed figure stands for every number that rounds to it, so it is an interval, and an identity maps intervals to an
interval. Two figures contradict each other only where these intervals do not overlap, so rounding is never reported.
Arithmetic is exact (fractions).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import NamedTuple, Protocol

NUMBER = re.compile(r"[-+−–]?\d[\d,]*(?:\.\d+)?")
PERCENT = "%"


class Interval(NamedTuple):
    """Every number between two, ends included."""

    low: Fraction
    high: Fraction

    def overlaps(self, other: "Interval") -> bool:
        """True if some number lies in both."""
        return self.low <= other.high and other.low <= self.high

    def as_text(self, percent: bool) -> str:
        """The interval for people."""
        ends = [f"{float(100 * end if percent else end):.6g}" for end in self]
        text = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
        return f"{text} %" if percent else text


@dataclass(frozen=True)
class Contradiction:
    """Two figures that cannot both be right."""

    where: str  # table and row
    identity: str  # what must hold
    printed: str
    implied: str  # the interval that the other figures give

    def __str__(self) -> str:
        return f"{self.where}: {self.identity}: it says {self.printed}, the other figures imply {self.implied}"


class Identity(Protocol):
    """Something that must hold between printed figures."""

    def contradictions(self) -> Iterator[Contradiction]:
        """Each pair of figures that cannot both be right."""


@dataclass(frozen=True)
class Sum:
    """Parts that must add up to a whole. Rounded parts may be off by as much as they are rounded."""

    where: str
    parts: Mapping[str, str]
    total: str

    def contradictions(self) -> Iterator[Contradiction]:
        parts = [figure(part) for part in self.parts.values()]
        implied = Interval(sum((part.low for part in parts), Fraction(0)), sum((p.high for p in parts), Fraction(0)))
        yield from compare(self.where, f"the sum of {', '.join(self.parts)}", self.total, implied)


@dataclass(frozen=True)
class Share:
    """A share that must be part / total; holds where the total is 0."""

    where: str
    part: str
    total: str
    share: str

    def contradictions(self) -> Iterator[Contradiction]:
        implied = image(lambda part, total: part / total, [figure(self.part), figure(self.total)])
        yield from compare(self.where, f"{self.part} of {self.total}", self.share, implied)


@dataclass(frozen=True)
class Same:
    """One quantity in several places (place -> figure): each must agree with the first."""

    where: str
    figures: Mapping[str, str]

    def contradictions(self) -> Iterator[Contradiction]:
        (first, reference), *others = self.figures.items()
        for place, text in others:
            yield from compare(self.where, f"{place} and {first} give the same", text, figure(reference))


@dataclass(frozen=True)
class Detector:
    """A detector's row (paper F.8): name as in FORMULAS -> figure. Each formula is checked that has all its figures."""

    where: str
    figures: Mapping[str, str]

    def contradictions(self) -> Iterator[Contradiction]:
        for formula in FORMULAS:
            if {formula.result, *formula.arguments} <= self.figures.keys():
                implied = image(formula.function, [figure(self.figures[name]) for name in formula.arguments])
                yield from compare(self.where, formula.text, self.figures[formula.result], implied)


class Formula(NamedTuple):
    """`result` follows from `arguments`; the function is monotonic in each, so its extremes lie at their ends."""

    text: str
    result: str
    arguments: tuple[str, ...]
    function: Callable[..., Fraction]


# base_rate: label anomalies of all; predicted: predicted anomalies of all; n: records.
FORMULAS = (
    Formula("F1 = 2PR / (P + R)", "f1", ("precision", "recall"), lambda p, r: 2 * p * r / (p + r)),
    Formula(
        "predicted share = base rate x R / P",
        "predicted",
        ("base_rate", "recall", "precision"),
        lambda base, r, p: base * r / p,
    ),
    Formula("P = TP / (TP + FP)", "precision", ("tp", "fp"), lambda tp, fp: tp / (tp + fp)),
    Formula("R = TP / (TP + FN)", "recall", ("tp", "fn"), lambda tp, fn: tp / (tp + fn)),
    Formula("F1 = 2TP / (2TP + FP + FN)", "f1", ("tp", "fp", "fn"), lambda tp, fp, fn: 2 * tp / (2 * tp + fp + fn)),
    Formula("predicted share = (TP + FP) / n", "predicted", ("tp", "fp", "n"), lambda tp, fp, n: (tp + fp) / n),
    Formula("base rate = (TP + FN) / n", "base_rate", ("tp", "fn", "n"), lambda tp, fn, n: (tp + fn) / n),
    Formula("FAR = FP / (FP + TN)", "far", ("fp", "tn"), lambda fp, tn: fp / (fp + tn)),
    Formula("n = TP + FP + FN + TN", "n", ("tp", "fp", "fn", "tn"), lambda *counts: Fraction(sum(counts))),
)


def contradictions(identities: Iterable[Identity]) -> list[Contradiction]:
    """Every contradiction, in the order of the identities."""
    return [contradiction for identity in identities for contradiction in identity.contradictions()]


def figure(text: str) -> Interval:
    """The numbers that round to a printed one: `0.290`, `49.9%`, `89%`, `2,646` (a count is exact). ValueError."""
    match = NUMBER.search(text)
    if match is None:
        raise ValueError(f"{text!r} is not a figure")
    number = re.sub(r"[−–]", "-", match[0]).replace(",", "")
    decimals = len(number.partition(".")[2])
    half = Fraction(1, 2 * 10**decimals) if decimals or PERCENT in text else Fraction(0)
    scale = Fraction(1, 100) if PERCENT in text else Fraction(1)
    return Interval((Fraction(number) - half) * scale, (Fraction(number) + half) * scale)


def image(function: Callable[..., Fraction], arguments: list[Interval]) -> Interval | None:
    """The range of a function that is monotonic in each argument, on either side of 0 if a share is printed as 0.00;
    null if the function is not defined at a corner (division by 0)."""
    corners = [(low, Fraction(0), high) if low < 0 < high else (low, high) for low, high in arguments]
    try:
        values = [function(*corner) for corner in product(*corners)]
    except ZeroDivisionError:
        return None
    return Interval(min(values), max(values))


def compare(where: str, identity: str, printed: str, implied: Interval | None) -> Iterator[Contradiction]:
    """A contradiction, in the unit of the printed figure, if the figure lies outside the implied interval."""
    if implied is not None and not implied.overlaps(figure(printed)):
        yield Contradiction(where, identity, printed, implied.as_text(PERCENT in printed))
