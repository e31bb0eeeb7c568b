"""Where a pattern of judge.toml occurs in a text: the hit, the sentence around it, and an excerpt to cite."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from openclawbench.rules.fulltax.judge import Compiled

CODE_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
BLANK = re.compile(r"\s")
SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？]|\n")


@dataclass(frozen=True)
class Hit:
    """A hit of a pattern: the rule, the sentence around it as [start, end), and the place of the hit, in a text."""

    rule_id: str
    start: int
    end: int
    position: int


def shortened(text: str, limit: int) -> str:
    """The first and the last half of `limit` characters, joined by a line end, with straight apostrophes."""
    plain = text if len(text) <= limit else f"{text[: limit // 2]}\n{text[len(text) - limit // 2 :]}"
    return plain.replace("’", "'").replace("‘", "'")


def original(position: int, length: int, limit: int) -> int:
    """The position in a text of `length` characters, from a position in its shortened form."""
    return position if length <= limit or position <= limit // 2 else position + length - 2 * (limit // 2) - 1


def blanked(text: str) -> str:
    """A text with its code fences replaced by blanks, so that every position stays."""
    return CODE_FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text) if "```" in text else text


def sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Bounds of the sentence or line that contains [start, end)."""
    window = max(0, start - 400)
    begin = max((match.end() for match in SENTENCE_END.finditer(text, window, start)), default=window)
    stop = SENTENCE_END.search(text, max(end - 1, start), min(len(text), end + 400))
    return begin, stop.end() if stop else min(len(text), end + 400)


def excerpt(text: str, start: int, end: int, position: int, limit: int) -> tuple[int, int]:
    """Bounds of at most `limit` characters of [start, end) around `position`: whole words, up to the end of a sentence
    where that keeps half of them. A word is cut only where it is longer than that."""
    if end - start <= limit:
        return start, end
    if position - limit // 4 > start:
        start = position - limit // 4
        blank = BLANK.search(text, start - 1, position)
        start = blank.end() if blank else start
    stop = start + limit
    if end <= stop:
        return start, end
    cuts = [match.end() for match in SENTENCE_END.finditer(text, start + limit // 2, stop)]
    cuts = cuts or [match.start() for match in BLANK.finditer(text, start + limit // 2, stop + 1)]
    return start, cuts[-1] if cuts else stop


def stands_in(word: str, text: str, joint: str = "_") -> bool:
    """True if a text has a word that no letter, digit or `joint` touches. Patterns made for each word cost more."""
    start = text.find(word) if word else -1
    while start >= 0:
        before, after = text[max(0, start - 1) : start], text[start + len(word) : start + len(word) + 1]
        if not any(side and (side.isalnum() or side == joint) for side in (before, after)):
            return True
        start = text.find(word, start + 1)
    return False


class Text:
    """The text of a field, as patterns are searched in it."""

    __slots__ = ("lower", "plain")

    def __init__(self, plain: str) -> None:
        self.plain = plain
        self.lower = plain.lower()

    def lacks(self, needed: tuple[str, ...]) -> bool:
        """True if none of the texts of which one is needed is there."""
        return bool(needed) and not any(map(self.lower.__contains__, needed))

    def hits(self, pattern: Compiled) -> Iterator[Hit]:
        """Every hit of a pattern whose sentence does not cancel it, in order."""
        return iter(()) if self.lacks(pattern.needed) else self.searched(pattern)

    def searched(self, pattern: Compiled) -> Iterator[Hit]:
        """The hits of a pattern that the text does not lack."""
        for match in pattern.regex.finditer(self.plain):
            begin, stop = sentence(self.plain, *match.span())
            if not (pattern.unless and pattern.unless.search(self.plain[begin:stop])):
                yield Hit(pattern.id, begin, stop, match.start())
