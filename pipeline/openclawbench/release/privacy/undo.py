"""What agents print around and inside a token, taken off, so that the token is found: line breaks with line numbers or
the signs of a diff, strings put together in code, colours, escapes. Positions lead back to the text itself."""

import re
from bisect import bisect_right
from typing import NamedTuple

NUMBERED = r"(?:[^\s:]{1,200}:)?[0-9]{1,7}[:|\t\u2192\u2502-][ \t]?"  # cat -n, grep -n, an editor
PREFIX = rf"[ \t]{{0,40}}(?:{NUMBERED}|[0-9]{{1,7}}[ \t]{{1,4}}[|\u2502]?)?[ \t]{{0,40}}[+\->|#]?[ \t]{{0,40}}"
LINE_END = r"(?:\r?\n|(?:\\+r)?\\+n)"
QUOTE = r"\\{0,3}[\"'`]"
JOINED = rf"{QUOTE}[ \t]{{0,4}}[+.&][ \t]{{0,4}}{QUOTE}"  # "…" + "…"
BREAK = rf"(?:{QUOTE}[ \t]{{0,4}}[+.&]?)?[ \t]{{0,4}}\\?{LINE_END}{PREFIX}(?:[+.&][ \t]{{0,4}})?(?:{QUOTE})?"
COLOUR = r"(?:\x1b|\\+(?:u001[bB]|x1[bB]|033|e))\[[0-9;]{0,20}[A-Za-z]"
NOTHING = "[\u00ad\u200b-\u200d\u2060\ufeff]"
LETTER = r"\\+u00(?P<escape>[2-7][0-9a-fA-F])|%(?P<percent>[2-7][0-9a-fA-F])|(?P<wide>[\uff01-\uff5e])"
FIRST = "(?=[\"'`\\\\ \t\r\n\x1b%\u00ad\u200b-\u200d\u2060\ufeff\uff01-\uff5e])"  # most letters begin nothing of it
UNDONE = re.compile(f"{FIRST}(?:{BREAK}|{JOINED}|{COLOUR}|{NOTHING}|{LETTER})")
# For polars: a text without any of this is the same when undone.
MAY_BE_WRAPPED = (
    r"\n|\x1b|[\"'`][ \t]{0,4}[+.&]|\\+(?:[rne]|u00|x1|033)|%[2-7]|[\x{ad}\x{200b}-\x{200d}\x{2060}\x{feff}]"
    r"|[\x{ff01}-\x{ff5e}]"
)


class Undone(NamedTuple):
    """A text without what was taken off. Its segments, in order: where each begins in this text and in the original,
    and how long it is there."""

    text: str
    starts: list[int]
    originals: list[int]
    lengths: list[int]

    def span_of(self, start: int, end: int) -> tuple[int, int, int] | None:
        """(start, end) in the original of a span of this text, and how much of its beginning stands there unchanged.
        None for a span in which nothing was taken off."""
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, end - 1) - 1
        if first == last:
            return None
        behind = self.lengths[last] - (self.segment_end(last) - end)
        unchanged = self.starts[first + 1] - start
        return self.originals[first] + start - self.starts[first], self.originals[last] + behind, unchanged

    def segment_end(self, number: int) -> int:
        """Where a segment ends in this text."""
        return self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)


def undo(text: str) -> Undone | None:
    """The text without what agents print around tokens; None if there is nothing of it."""
    parts, starts, originals, lengths = [], list[int](), list[int](), list[int]()
    at = length = 0

    def add(part: str, original: int, original_length: int) -> int:
        if part:
            parts.append(part)
            starts.append(length)
            originals.append(original)
            lengths.append(original_length)
        return length + len(part)

    for match in UNDONE.finditer(text):
        length = add(text[at : match.start()], at, match.start() - at)
        length = add(letter_of(match), match.start(), match.end() - match.start())
        at = match.end()
    if not at:
        return None
    add(text[at:], at, len(text) - at)
    return Undone("".join(parts), starts, originals, lengths)


def letter_of(match: re.Match[str]) -> str:
    """The letter that a match stands for; blank if for none."""
    code = match["escape"] or match["percent"]
    if code:
        return chr(int(code, 16))
    return chr(ord(match["wide"]) - 0xFEE0) if match["wide"] else ""
