"""Identities between published figures: what a detector's row and tables that must add up say of one another.

A printed figure stands for every number that rounds to it, so it is an interval; an identity turns intervals into an
interval. Only where that and the printed one have no number in common do the figures contradict each other: rounding
is never a finding. Arithmetic is exact (fractions).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import NamedTuple

NUMBER = re.compile(r"[-+−–]?\d[\d,]*(?:\.\d+)?")
PERCENT = "%"


class Range(NamedTuple):
    """Every number between two, ends included."""

    low: Fraction
    high: Fraction

    def meets(self, other: "Range") -> bool:
        """True where some number lies in both."""
        return self.low <= other.high and other.low <= self.high

    def shown(self, percent: bool) -> str:
        """The range for people."""
        ends = [f"{float(100 * end if percent else end):.6g}" for end in self]
        text = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
        return f"{text} %" if percent else text


@dataclass(frozen=True)
class Contradiction:
    """Two figures that cannot both be right."""

    where: str  # table and row
    identity: str  # what must hold
    said: str  # as printed
    implied: str  # the range that the other figures give

    def __str__(self) -> str:
        return f"{self.where}: {self.identity}: it says {self.said}, the other figures imply {self.implied}"


@dataclass(frozen=True)
class Sum:
    """Parts that must add up to a whole."""

    where: str
    parts: Mapping[str, str]
    total: str


@dataclass(frozen=True)
class Share:
    """A share that must be part / whole."""

    where: str
    part: str
    whole: str
    share: str


@dataclass(frozen=True)
class Same:
    """One quantity in several places: place -> figure."""

    where: str
    figures: Mapping[str, str]


@dataclass(frozen=True)
class Book:
    """Published figures as printed, and how they belong together. Detectors: where -> name as in DETECTOR -> figure."""

    detectors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    sums: Iterable[Sum] = ()
    shares: Iterable[Share] = ()
    same: Iterable[Same] = ()


class Identity(NamedTuple):
    """`name` follows from `given`; the function rises or falls steadily in each, so its ends lie at their ends."""

    said: str
    name: str
    given: tuple[str, ...]
    function: Callable[..., Fraction]


# Paper F.8. base_rate: label anomalies of all; predicted: predicted anomalies of all; n: records.
DETECTOR = (
    Identity("F1 = 2PR / (P + R)", "f1", ("precision", "recall"), lambda p, r: 2 * p * r / (p + r)),
    Identity(
        "predicted share = base rate x R / P",
        "predicted",
        ("base_rate", "recall", "precision"),
        lambda base, r, p: base * r / p,
    ),
    Identity("P = TP / (TP + FP)", "precision", ("tp", "fp"), lambda tp, fp: tp / (tp + fp)),
    Identity("R = TP / (TP + FN)", "recall", ("tp", "fn"), lambda tp, fn: tp / (tp + fn)),
    Identity("F1 = 2TP / (2TP + FP + FN)", "f1", ("tp", "fp", "fn"), lambda tp, fp, fn: 2 * tp / (2 * tp + fp + fn)),
    Identity("predicted share = (TP + FP) / n", "predicted", ("tp", "fp", "n"), lambda tp, fp, n: (tp + fp) / n),
    Identity("base rate = (TP + FN) / n", "base_rate", ("tp", "fn", "n"), lambda tp, fn, n: (tp + fn) / n),
    Identity("FAR = FP / (FP + TN)", "far", ("fp", "tn"), lambda fp, tn: fp / (fp + tn)),
    Identity("n = TP + FP + FN + TN", "n", ("tp", "fp", "fn", "tn"), lambda *counts: Fraction(sum(counts))),
)


def figure(text: str) -> Range:
    """The numbers that round to a printed one: `0.290`, `49.9%`, `89%`, `2,646` (a count is exact). ValueError."""
    found = NUMBER.search(text)
    if found is None:
        raise ValueError(f"{text!r} is no figure")
    plain = re.sub(r"[−–]", "-", found[0]).replace(",", "")
    decimals = len(plain.partition(".")[2])
    half = Fraction(1, 2 * 10**decimals) if decimals or PERCENT in text else Fraction(0)
    scale = Fraction(1, 100) if PERCENT in text else Fraction(1)
    value = Fraction(plain)
    return Range((value - half) * scale, (value + half) * scale)


def check(book: Book) -> list[Contradiction]:
    """Every contradiction, in the order of the book."""
    rows = [one for where, row in book.detectors.items() for one in detector(where, row)]
    sums = [one for said in book.sums if (one := adds_up(said))]
    shares = [one for said in book.shares if (one := is_share(said))]
    return [*rows, *sums, *shares, *(one for said in book.same for one in is_same(said))]


def detector(where: str, row: Mapping[str, str]) -> Iterator[Contradiction]:
    """A detector's row against each identity of which it has every figure."""
    for one in DETECTOR:
        if one.name in row and all(name in row for name in one.given):
            implied = image(one.function, [figure(row[name]) for name in one.given])
            if implied is not None and not implied.meets(figure(row[one.name])):
                yield contradiction(where, one.said, row[one.name], implied)


def image(function: Callable[..., Fraction], given: list[Range]) -> Range | None:
    """The range of a function that is steady in each argument, on either side of 0 where a share is printed as 0.00;
    null where it has no value at some corner."""
    try:
        corners = [function(*corner) for corner in product(*map(turns, given))]
    except ZeroDivisionError:
        return None
    return Range(min(corners), max(corners))


def turns(one: Range) -> tuple[Fraction, ...]:
    """The numbers at which an extreme may lie: the ends, and 0 between them, by which nothing can be divided."""
    return (one.low, Fraction(0), one.high) if one.low < 0 < one.high else tuple(one)


def adds_up(said: Sum) -> Contradiction | None:
    """Parts and whole; parts that are rounded may be off by as much as they are rounded."""
    parts = [figure(part) for part in said.parts.values()]
    implied = Range(sum((one.low for one in parts), Fraction(0)), sum((one.high for one in parts), Fraction(0)))
    if implied.meets(figure(said.total)):
        return None
    return contradiction(said.where, f"the sum of {', '.join(said.parts)}", said.total, implied)


def is_share(said: Share) -> Contradiction | None:
    """Part, whole and share; without a whole nothing is said."""
    implied = image(lambda part, whole: part / whole, [figure(said.part), figure(said.whole)])
    if implied is None or implied.meets(figure(said.share)):
        return None
    return contradiction(said.where, f"{said.part} of {said.whole}", said.share, implied)


def is_same(said: Same) -> Iterator[Contradiction]:
    """Every place against the first."""
    (first, figure_there), *others = said.figures.items()
    for place, text in others:
        if not figure(text).meets(figure(figure_there)):
            implied = figure(figure_there)
            yield contradiction(said.where, f"{place} and {first} give the same", text, implied)


def contradiction(where: str, identity: str, said: str, implied: Range) -> Contradiction:
    """A contradiction, its range in the unit of what is printed."""
    return Contradiction(where, identity, said, implied.shown(PERCENT in said))
