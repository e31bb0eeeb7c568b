"""Figures and codes in a text, and the numbers that they can mean. No language is needed to find them."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

KEPT = 4096  # texts whose figures are kept: lines and outputs of a session
LONGEST = 24  # characters of a number
FEWEST_DIGITS = 3  # a figure with fewer is found everywhere by chance
MOST_DECIMALS = 3  # digits behind a comma
YEARS = range(1900, 2101)
MARKUP = re.compile(r"<[^<>\n]{1,120}>")  # tags and marks: a size in one commits to nothing
# A pattern whose first part is a digit is searched for where digits are, ten times as fast as one that begins with a
# look behind: so the look behind stands after that digit, and takes it in.
DATE = re.compile(r"\d(?<![\w-]\d)\d{3}-\d\d-\d\d(?![\w-])")
CODE = re.compile(r"[A-Z0-9](?<![\w/.-].)[A-Z0-9-]{2,20}[A-Z0-9](?![\w/-])")
CAPITAL, TWO_DIGITS = re.compile(r"[A-Z]"), re.compile(r"\d\d")
GROUPED = r"\d{0,2}+(?:[,.' \u00a0\u202f]\d{3})+(?:[.,]\d{1,4})?"  # what follows the first digit
PLAIN = r"\d*(?:[.,]\d+)?"
LETTER = (
    "A-Za-z0-9_\u00c0-\u024f\u0370-\u04ff"  # of scripts that put blanks between words: others stand beside a figure
)
BEFORE, AFTER = rf"(?<![{LETTER}.,/:#-]\d)", rf"(?![{LETTER}:/-]|[.,]\d)"
FIGURE = re.compile(rf"\d{BEFORE}(?:{GROUPED}{AFTER}|{PLAIN}{AFTER})")
ANY_NUMBER = re.compile(rf"\d(?:{GROUPED}|{PLAIN})")
BLANKS = re.compile(r"[' \u00a0\u202f]")
FORMS = tuple(  # decimal mark, mark between thousands, and what a number looks like with them
    (decimal, thousands, re.compile(rf"\d{{1,3}}(?:\{thousands}\d{{3}})+(?:\{decimal}\d+)?|\d+(?:\{decimal}\d+)?"))
    for decimal, thousands in ((".", ","), (",", "."))
)


def readings(text: str) -> frozenset[float]:
    """The numbers that a figure can mean: 1.234 is one and a bit, or a thousand and more; none for a code."""
    if len(text) > LONGEST:
        return frozenset()
    return frozenset([float(text)]) if text.isdigit() else readings_of_marks(text)


@lru_cache(maxsize=KEPT)
def readings_of_marks(text: str) -> frozenset[float]:
    """The numbers that a figure with marks between its digits can mean."""
    bare = BLANKS.sub("", text)
    return frozenset(
        round(float(bare.replace(thousands, "").replace(decimal, ".")), 4)
        for decimal, thousands, form in FORMS
        if form.fullmatch(bare)
    )


def decimals_of(figure: str) -> int:
    """Digits behind the point of a figure that is written with one or two of them; else none."""
    fraction = re.search(r"[.,](\d{1,2})\Z", figure)
    return len(fraction[1]) if fraction else 0


def all_readings(text: str) -> tuple[set[float], list[float]]:
    """Every number that a figure in a text can mean, and the largest one of each figure, in order."""
    every: set[float] = set()
    largest: list[float] = []
    for figure in cells_of(ANY_NUMBER.findall(text)):
        if figure.isdigit() and len(figure) <= LONGEST:
            largest.append(float(figure))
        elif numbers := readings(figure):
            largest.append(max(numbers))
            every |= numbers
    return every.union(largest), largest


def cells_of(figures: Iterable[str]) -> Iterator[str]:
    """Figures, with those apart that a comma joins."""
    for figure in figures:
        if "," in figure:
            yield from cells(figure)
        else:
            yield figure


def cells(figure: str) -> list[str]:
    """The figures that a comma without a blank joins, as between two columns: nobody writes four digits behind one."""
    first, comma, second = figure.partition(",")
    return [first, second] if comma and len(second) > MOST_DECIMALS and second.isdigit() else [figure]


def all_numbers(text: str) -> set[float]:
    """Every number that any figure in a text can mean."""
    return all_readings(text)[0]


@lru_cache(maxsize=KEPT)
def figure_texts(text: str) -> list[str]:
    """The figures that a text commits to, as they are written: those of three digits and more that are not years.
    Nobody changes the list: every mechanism asks for it again."""
    if not any(map(text.__contains__, "0123456789")):
        return []
    figures = FIGURE.findall(DATE.sub(" ", MARKUP.sub(" ", text)))
    return [*filter(commits, cells_of(figures))]


def commits(figure: str) -> bool:
    """True if a figure has enough digits and is no year."""
    if len(figure) < FEWEST_DIGITS or sum(map(str.isdigit, figure)) < FEWEST_DIGITS:
        return False
    return not (len(figure) == 4 and figure.isdigit() and int(figure) in YEARS)


@lru_cache(maxsize=KEPT)
def codes(text: str) -> list[str]:
    """Codes that a text commits to: capitals with two digits or more. Nobody changes the list."""
    candidates = CODE.findall(MARKUP.sub(" ", text))
    return [code for code in candidates if CAPITAL.search(code) and TWO_DIGITS.search(code)]
