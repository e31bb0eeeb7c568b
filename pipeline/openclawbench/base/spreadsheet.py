"""CSV that people open in a spreadsheet: no cell is run as a formula, no control character reaches the program."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

from openclawbench.base.terminal import safe

QUOTE = "'"
FORMULA = re.compile("['=+\\-@\t\r\n＝＋－＠]")  # what a cell that a spreadsheet runs begins with, and the guard itself


def cell(value: Any) -> Any:
    """A value as a cell: text with an apostrophe in front if a spreadsheet would run it, and with its control
    characters written out; numbers as they are."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return value
    text = safe(value)
    return QUOTE + text if FORMULA.match(text) else text


def csv_bytes(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """A table as CSV in UTF-8, with a line of column names."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(map(cell, columns))
    writer.writerows([cell(value) for value in row] for row in rows)
    return buffer.getvalue().encode("utf-8", "backslashreplace")
