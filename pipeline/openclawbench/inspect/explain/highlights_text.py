"""Texts inside a text: string values of a call's arguments, quoted text; each letter keeps its offset in the field."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from openclawbench.construct.describe.arguments import parse_arguments

STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"(\s*:)?', re.DOTALL)
JSON_ESCAPE = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.", re.DOTALL)
QUOTED_ESCAPE = re.compile(r'\\[$`"\\\n]')
DEEPEST = 3  # arguments written as JSON inside JSON


class Placed(NamedTuple):
    """A text, and the offset of each of its code points in the field that it comes from; with one entry for its end."""

    text: str
    places: Sequence[int]

    def part(self, start: int, end: int) -> "Placed":
        """A piece of the text."""
        return Placed(self.text[start:end], self.places[start : end + 1])

    def span(self, start: int = 0, end: int | None = None) -> tuple[int, int]:
        """The span of a piece of the text in the field, end exclusive."""
        return self.places[start], self.places[len(self.text) if end is None else end]


def placed_text(text: str) -> Placed:
    """A field's own text."""
    return Placed(text, range(len(text) + 1))


def arguments(text: Placed, depth: int = 0) -> Iterator[tuple[str, Placed]]:
    """The string values of JSON in a text with their names, also of JSON that is written into a string."""
    name = ""
    for hit in STRING.finditer(text.text):
        value = from_json(text.part(*hit.span(1)))
        if hit[2]:
            name = value.text
        elif depth < DEEPEST and is_object(value.text):
            yield from arguments(value, depth + 1)
        else:
            yield name, value


def is_object(text: str) -> bool:
    """True for a JSON object."""
    return text.lstrip().startswith("{") and bool(parse_arguments(text))


def from_json(text: Placed) -> Placed:
    """The text between the quotes of a JSON string."""
    return unescape_with_offsets(text, JSON_ESCAPE, json_letter)


def from_quotes(text: Placed) -> Placed:
    """The text between the double quotes of a shell word."""
    return unescape_with_offsets(text, QUOTED_ESCAPE, lambda written: written[1:])


def json_letter(written: str) -> str:
    """The letter of an escape; a letter that is not an escape is itself."""
    try:
        return str(json.loads(f'"{written}"'))
    except ValueError:
        return written


def unescape_with_offsets(text: Placed, escape: re.Pattern[str], letter: Callable[[str], str]) -> Placed:
    """A text without escapes; the offset of an escaped letter is that of its escape."""
    letters: list[str] = []
    places: list[int] = []
    at = 0
    for hit in escape.finditer(text.text):
        read = letter(hit[0])
        letters += [text.text[at : hit.start()], read]
        places += [*text.places[at : hit.start()], *[text.places[hit.start()]] * len(read)]
        at = hit.end()
    return Placed("".join([*letters, text.text[at:]]), [*places, *text.places[at:]])
