"""Find where a CSV record breaks: the opening quote of a cell that is not properly closed."""

import re
from typing import NamedTuple

QUOTED = re.compile(r'"(?:[^"]|"")*+(?P<closed>")?')  # a cell in quotes, closed or not
LINE_END = re.compile(r"\r\n|\r|\n")


class OpenQuote(NamedTuple):
    """The quote with which the broken cell begins."""

    line: int  # of the text, from 0
    cell: int  # of the record, from 0


def open_quote(text: str, delimiter: str) -> OpenQuote | None:
    """The opening quote of the first cell that CSV cannot read: nothing closes it, or its closing quote is followed by
    something other than a delimiter or a line end. None if all quotes are in order."""
    place, cell = 0, 0
    plain = re.compile(f"[^{re.escape(delimiter)}\r\n]*")
    while place < len(text):
        start = place
        quoted = QUOTED.match(text, place) if text[place] == '"' else None
        match = quoted or plain.match(text, place)
        place = match.end() if match else place
        closed = quoted is None or (quoted["closed"] and text[place : place + 1] in ("", delimiter, "\r", "\n"))
        if not closed:
            return OpenQuote(len(LINE_END.findall(text[:start])), cell)
        cell = cell + 1 if text[place : place + 1] == delimiter else 0
        place = end.end() if (end := LINE_END.match(text, place)) else place + 1
    return None
