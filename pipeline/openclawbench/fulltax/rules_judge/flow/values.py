"""Figures and codes in a text, and the numbers that they can mean. No language is needed to find them."""

import re
from collections.abc import Iterable, Iterator

LONGEST = 24  # characters of a number
FEWEST_DIGITS = 3  # a figure with fewer is found everywhere by chance
YEARS = range(1900, 2101)
MARKUP = re.compile(r"<[^<>\n]{1,120}>")  # tags and marks: a size in one commits to nothing
DATE = re.compile(r"(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])")
CODE = re.compile(r"(?<![\w/.-])(?=[A-Z0-9-]*[A-Z])(?=[A-Z0-9-]*\d{2})[A-Z0-9][A-Z0-9-]{2,20}[A-Z0-9](?![\w/-])")
GROUPED = r"\d{1,3}(?:[,.' \u00a0\u202f]\d{3})+(?:[.,]\d{1,4})?"
FIGURE = re.compile(rf"(?<![\w.,/:#-]){GROUPED}(?![\w:/-]|[.,]\d)|(?<![\w.,/:#-])\d+(?:[.,]\d+)?(?![\w:/-]|[.,]\d)")
ANY_NUMBER = re.compile(rf"{GROUPED}|\d+(?:[.,]\d+)?")
BLANKS = re.compile(r"[' \u00a0\u202f]")
FORMS = tuple(  # decimal mark, mark between thousands, and what a number looks like with them
    (decimal, thousands, re.compile(rf"\d{{1,3}}(?:\{thousands}\d{{3}})+(?:\{decimal}\d+)?|\d+(?:\{decimal}\d+)?"))
    for decimal, thousands in ((".", ","), (",", "."))
)
# What one value is turned into another by: units of time, length and weight, per cent, dozens, halves.
FACTORS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 24, 30, 60, 100, 365, 1000, 1024, 3600, 0.5, 0.25, 0.1, 0.01, 0.001)
LARGEST_TABLE = 400  # numbers that are combined in pairs
ROUNDED = (1, 0, -1, -2, -3)  # digits to which a number may be rounded


def readings(text: str) -> set[float]:
    """The numbers that a figure can mean: 1.234 is one and a bit, or a thousand and more."""
    if len(text) > LONGEST:
        return set()
    if text.isdigit():
        return {float(text)}
    bare = BLANKS.sub("", text)
    return {
        round(float(bare.replace(thousands, "").replace(decimal, ".")), 4)
        for decimal, thousands, form in FORMS
        if form.fullmatch(bare)
    }


def all_numbers(text: str) -> set[float]:
    """Every number that any figure in a text can mean."""
    return {number for match in ANY_NUMBER.finditer(text) for number in readings(match[0])}


def figures(text: str) -> Iterator[tuple[str, set[float]]]:
    """Figures that a text commits to, with what they can mean: those of three digits and more that are not years."""
    for match in FIGURE.finditer(DATE.sub(" ", MARKUP.sub(" ", text))):
        numbers = readings(match[0])
        is_year = match[0].isdigit() and len(match[0]) == 4 and int(match[0]) in YEARS
        if sum(character.isdigit() for character in match[0]) >= FEWEST_DIGITS and not is_year:
            yield match[0], numbers


def codes(text: str) -> Iterator[str]:
    """Codes that a text commits to: capitals with two digits or more."""
    return (match[0] for match in CODE.finditer(MARKUP.sub(" ", text)))


def follows(numbers: Iterable[float], known: set[float], columns: Iterable[list[float]]) -> bool:
    """True if one of the numbers is known or made of known ones: by a sum, a difference, a product, a quotient, a share
    in per cent, rounding, a change of unit, or the sum of a column. `columns`: numbers that belong together."""
    return any(derives(number, known, columns) for number in numbers)


def derives(number: float, known: set[float], columns: Iterable[list[float]]) -> bool:
    """True if the number is known or made of known ones."""
    if number in known or any(close(number, total) for column in columns for total in totals(column)):
        return True
    some = sorted(known, key=abs, reverse=True)[:LARGEST_TABLE]
    for first in some:
        if any(close(number, first * factor) for factor in FACTORS):
            return True
        if not known.isdisjoint({round(number - first, 4), round(first - number, 4), round(number + first, 4)}):
            return True
        if any(round(first, digits) == number for digits in ROUNDED):
            return True
        if any(combines(number, first, second) for second in some if second):
            return True
    return False


def combines(number: float, first: float, second: float) -> bool:
    """True for a product, a quotient or a share in per cent."""
    return close(number, first * second) or close(number, first / second) or close(number, 100 * first / second)


def totals(column: list[float]) -> Iterator[float]:
    """Sums and the mean of numbers that belong together: of all, and of runs of three and more."""
    for start in range(len(column)):
        total = column[start]
        for place in range(start + 1, len(column)):
            total += column[place]
            if place - start > 1:
                yield total
    if column:
        yield sum(column) / len(column)


def close(first: float, second: float) -> bool:
    """Equal but for rounding to two places or four digits."""
    return abs(first - second) <= max(0.006, abs(second) * 5e-5)
