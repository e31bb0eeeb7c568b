"""The line of each key, entry and text of a TOML file, so that an error message can name the line of a fault.

`tomllib` gives values without lines. This scanner reads a text that `tomllib` accepts: it knows what separates
statements and values, and not what they mean.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

Place = tuple[str | int, ...]

BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
KEY_PART = re.compile(r"""[ \t]*(?:"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'|([A-Za-z0-9_-]+))[ \t]*(\.)?""")
HEADER = re.compile(r"\[\[?")
TEXT = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}' r"|'''.*?'{3,5}" r'|"((?:[^"\\\n]|\\.)*)"' r"|'([^'\n]*)'", re.DOTALL)
LINE, GAP = re.compile(r"[^\n]*"), re.compile(r"[ \t]*")
SCALAR = re.compile(r"[^,\]}\s#]+(?: [0-9][^,\]}\s#]*)?")  # a number, a truth value, a date with its time


class Located(NamedTuple):
    """Something in the text: where it is in the content, and the plain text that it is (None: no text in one line)."""

    place: Place
    line: int
    text: str | None


def line_of(text: str, place: Sequence[str | int]) -> int | None:
    """The line, from 1, of the value at this place; if there is none, of the innermost entry around it that is
    there. None if not even its table is in the text, or the text is not TOML."""
    lines = {item.place: item.line for item in reversed(list(located(text)))}
    full_place = tuple(place)
    return next(
        (lines[part] for part in (full_place[:end] for end in range(len(full_place), 0, -1)) if part in lines), None
    )


def lines_with(
    text: str, words: Sequence[str], keys: Sequence[str] = (), within: Sequence[str | int] = ()
) -> list[int]:
    """The lines, from 1, on which one of these words is a value in the table at `within`, under one of `keys` if any
    are given, or else a key of it."""
    inside = tuple(within)
    items = [item for item in located(text) if item.place[: len(inside)] == inside]
    values = (item.line for item in items if item.text in words and (not keys or key(item.place) in keys))
    return sorted(set(values)) or sorted(
        {item.line for item in items if not keys and item.place and item.place[-1] in words}
    )


def key(place: Place) -> str | None:
    """The key of a value; that of its list, for an entry."""
    return next((part for part in reversed(place) if isinstance(part, str)), None)


def located(text: str) -> Iterator[Located]:
    """Everything that has a place, in the order of the text; nothing after a statement that cannot be read."""
    scanner = Scanner(text)
    table: Place = ()
    while scanner.skip() < len(text):
        if header := HEADER.match(text, scanner.at):
            line = scanner.line
            scanner.at = header.end()
            table = scanner.table(scanner.keys(), several=header[0] == "[[")
            yield Located(table, line, None)
            scanner.skip_match(LINE)
        elif keys := scanner.keys():
            yield from scanner.value((*table, *keys))
        else:
            return


def unescaped(written: str | None) -> str | None:
    """A text in double quotes as it is meant; as it is written where TOML has no such escape (the file may have been
    changed since it was read)."""
    if not written or "\\" not in written:
        return written
    try:
        return str(tomllib.loads(f'text = "{written}"')["text"])
    except tomllib.TOMLDecodeError:
        return written


class Scanner:
    """A position in a text, which only moves forward."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.counted: tuple[int, int] = (0, 1)  # a place, and its line
        self.entries: dict[Place, int] = {}  # list of tables -> its entries so far

    @property
    def line(self) -> int:
        """The line at which the scanner is."""
        place, line = self.counted
        self.counted = (self.at, line + self.text.count("\n", place, self.at))
        return self.counted[1]

    def skip(self) -> int:
        """Move behind blanks and comments."""
        self.skip_match(BLANK)
        return self.at

    def skip_match(self, pattern: re.Pattern[str]) -> None:
        """Move behind the match."""
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def keys(self) -> list[str]:
        """The parts of a dotted key, up to what follows it; none where there is no key."""
        parts = []
        while part := KEY_PART.match(self.text, self.at):
            basic, *others = part.groups()[:3]
            parts.append(next(item for item in (unescaped(basic), *others) if item is not None))
            self.at = part.end()
            if not part[4]:
                break
        self.skip_match(GAP)
        if self.text[self.at : self.at + 1] == "=":
            self.at += 1
        return parts

    def table(self, keys: list[str], *, several: bool) -> Place:
        """The place of a table; of a list of them, the next entry."""
        place: Place = ()
        for number, key in enumerate(keys, 1):
            place = (*place, key)
            if several and number == len(keys):
                self.entries[place] = self.entries.get(place, -1) + 1
            if place in self.entries:
                place = (*place, self.entries[place])
        return place

    def value(self, place: Place) -> Iterator[Located]:
        """A value, and what is in it."""
        self.skip()
        line, sign = self.line, self.text[self.at : self.at + 1]
        if sign in ("[", "{"):
            yield Located(place, line, None)
            self.at += 1
            yield from self.inside(place, "]" if sign == "[" else "}")
        elif text := TEXT.match(self.text, self.at):
            self.at = text.end()
            yield Located(place, line, unescaped(text[1]) if text[1] is not None else text[2])
        else:
            scalar = SCALAR.match(self.text, self.at)
            self.at = scalar.end() if scalar else len(self.text)
            yield Located(place, line, scalar[0] if scalar else None)

    def inside(self, place: Place, end: str) -> Iterator[Located]:
        """Entries of a list, or keys of a table in one, up to its end."""
        number = 0
        while self.skip() < len(self.text) and self.text[self.at] != end:
            if end == "]":
                yield from self.value((*place, number))
            else:
                yield from self.value((*place, *self.keys()))
            number += 1
            self.skip()
            if self.text[self.at : self.at + 1] == ",":
                self.at += 1
        self.at += 1
