"""Where a CSV record breaks: the quote that opens a cell and is not closed as CSV closes one."""

import re
from typing import NamedTuple

QUOTED = re.compile(r'"(?:[^"]|"")*+(?P<closed>")?')  # a cell in quotes, closed or not
LINE_END = re.compile(r"\r\n|\r|\n")


class OpenQuote(NamedTuple):
    """The quote with which the broken cell begins."""

    line: int  # of the text that was given, from 0
    cell: int  # of its record, from 0


def open_quote(text: str, delimiter: str) -> OpenQuote | None:
    """The quote of the first cell of a record that CSV cannot read: one that nothing closes, or whose end is followed
    by something else than a delimiter or a line end. Null where all quotes are in order."""
    place, cell = 0, 0
    plain = re.compile(f"[^{re.escape(delimiter)}\r\n]*")
    while place < len(text):
        begin = place
        quoted = QUOTED.match(text, place) if text[place] == '"' else None
        found = quoted or plain.match(text, place)
        place = found.end() if found else place
        whole = quoted is None or (quoted["closed"] and text[place : place + 1] in ("", delimiter, "\r", "\n"))
        if not whole:
            return OpenQuote(len(LINE_END.findall(text[:begin])), cell)
        cell = cell + 1 if text[place : place + 1] == delimiter else 0
        place = end.end() if (end := LINE_END.match(text, place)) else place + 1
    return None
