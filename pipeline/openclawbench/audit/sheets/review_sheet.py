"""Review sheets: the rows of a sample with empty columns to fill in, as CSV (any spreadsheet) and JSONL (any
editor)."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openclawbench.audit.sheets.cells import Cells
from openclawbench.audit.sheets.open_quotes import open_quote
from openclawbench.errors import UnreadableInput
from openclawbench.tables.record import Record

BOM = "\ufeff"
DELIMITERS = ",;\t"
LARGEST_CELL = 1 << 24  # characters; the default of the csv module is too low for pasted texts


@dataclass(frozen=True)
class SheetRow:
    """One row of a filled sheet. If it cannot be read, `broken` says why and it has no values."""

    line: int  # where it begins
    values: dict[str, Any]
    is_text: bool  # values are CSV cells: guarded, and empty for None
    spreadsheet_row: int | None = None  # row number in a spreadsheet, the header being 1; None in JSONL
    broken: str | None = None
    last_line: int | None = None  # of a broken CSV row: everything up to this line is unreadable


def as_csv(rows: Sequence[Record], answers: Sequence[str], cells: Cells) -> bytes:
    """The sheet as CSV: UTF-8 with a byte-order mark (for spreadsheets), CRLF, every cell quoted."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    columns = list(type(rows[0]).model_fields) if rows else []
    writer.writerow([*answers, *columns])
    for row in rows:
        writer.writerow([*[""] * len(answers), *[cells.written(getattr(row, name)) for name in columns]])
    return (BOM + buffer.getvalue()).encode("utf-8", "backslashreplace")


def as_jsonl(rows: Sequence[Record], answers: Sequence[str]) -> bytes:
    """The sheet as JSONL with full texts, in ASCII: no editor interprets an escape sequence."""
    blank = dict.fromkeys(answers)
    return b"".join(json.dumps(blank | row.model_dump()).encode() + b"\n" for row in rows)


def read_sheet(path: Path, needed: Sequence[str]) -> tuple[bytes, list[SheetRow]]:
    """The bytes and the rows of a sheet, with its columns in any order. Raises UnreadableInput with the place."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UnreadableInput(f"{path}: cannot read the sheet: {error.strerror}. Name a CSV or JSONL file.") from error
    text = decode_sheet(content, path)
    if text.lstrip().startswith("["):
        raise UnreadableInput(f"{path}:1: is a JSON array. Write one object per line (JSONL).")
    rows = list(json_rows(text) if text.lstrip().startswith("{") else csv_rows(text, path, needed))
    if not rows:
        raise UnreadableInput(
            f"{path}: has no rows. Import a sheet that `audit sample-events` or `sample-calibration` wrote."
        )
    if all(row.broken for row in rows):
        raise UnreadableInput(f"{path}:{rows[0].line}: {rows[0].broken}. Correct the line.")
    require_columns(path, rows, needed)
    return content, rows


def require_columns(path: Path, rows: Sequence[SheetRow], needed: Sequence[str]) -> None:
    """Raises UnreadableInput if a column is in no row. If only some rows lack it, each of them has a fault of its
    own."""
    if missing := [name for name in needed if not any(name in row.values for row in rows)]:
        where = f"{path}:{1 if rows[0].is_text else rows[0].line}"
        raise UnreadableInput(f"{where}: no column {', '.join(missing)}. Keep this column of the sheet.")


def decode_sheet(content: bytes, path: Path) -> str:
    """The text of a sheet: UTF-8, or UTF-16 with a byte-order mark."""
    is_utf16 = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        return content.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableInput(f"{path}:{line}: is not UTF-8. Save the sheet as CSV in UTF-8.") from error


def csv_rows(text: str, path: Path, needed: Sequence[str]) -> Iterator[SheetRow]:
    """Rows of a CSV sheet without its empty lines. The delimiter is the one that the header uses. Where the text stops
    being valid CSV, a broken row says so and is the last: the beginning of the next row is unknown."""
    csv.field_size_limit(LARGEST_CELL)
    lines = list(io.StringIO(text, newline=""))
    header = text.split("\n", 1)[0]
    delimiter = max(DELIMITERS, key=header.count)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    names: list[str] = []
    line, number = 1, 1
    try:
        names = [name.strip().lower() for name in next(reader, [])]
        if repeated := [name for name in dict.fromkeys(names) if name and names.count(name) > 1]:
            raise UnreadableInput(f"{path}:1: has the column {', '.join(repeated)} more than once. Keep one of each.")
        if missing := [name for name in needed if name not in names]:
            raise UnreadableInput(f"{path}:1: no column {', '.join(missing)}. Keep this column of the sheet.")
        line, number = reader.line_num + 1, 2
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield csv_row(line, number, names, cells)
            line, number = reader.line_num + 1, number + 1
    except csv.Error as error:
        yield broken_csv(lines, line, number, names, delimiter, str(error))


def csv_row(line: int, number: int, names: Sequence[str], cells: list[str]) -> SheetRow:
    """A row of a CSV sheet. Missing cells are empty; a row with more cells than columns is broken."""
    if any(cell.strip() for cell in cells[len(names) :]):
        message = f"has {len(cells)} cells for {len(names)} columns; put quotes around a cell that contains a delimiter"
        return SheetRow(line, {}, True, number, message)
    padded = [*cells, *[""] * (len(names) - len(cells))]
    return SheetRow(line, dict(zip(names, padded, strict=False)), True, number)


def broken_csv(
    lines: Sequence[str], line: int, number: int, names: Sequence[str], delimiter: str, error: str
) -> SheetRow:
    """The row where a sheet stops being valid CSV, with what to correct and which lines are not read."""
    last_line = len(lines)
    quote = open_quote("".join(lines[line - 1 :]), delimiter)
    first_line, unread = line, f"lines {line} to {last_line} are not read" if last_line > line else "it is not read"
    if quote is None:
        return SheetRow(line, {}, True, number, f"is not valid CSV: {error}; {unread}", last_line)
    first_line += quote.line
    column = f"{names[quote.cell]} (column {quote.cell + 1})" if quote.cell < len(names) else f"column {quote.cell + 1}"
    message = (
        f"the quote that opens the cell {column} is not closed; {unread}. Close it, and double any quote in a cell"
    )
    return SheetRow(first_line, {}, True, number, message, last_line)


def json_rows(text: str) -> Iterator[SheetRow]:
    """Rows of a JSONL sheet; a line that is not a JSON object is a broken row."""
    for line, content in enumerate(text.split("\n"), start=1):
        if not content.strip():
            continue
        try:
            values = json.loads(content, object_pairs_hook=each_once)
        except KeyError as error:
            yield SheetRow(line, {}, False, broken=f"has {error} more than once")
            continue
        except (ValueError, RecursionError) as error:
            yield SheetRow(line, {}, False, broken=f"is not valid JSON: {error}")
            continue
        if isinstance(values, dict):
            yield SheetRow(line, values, False)
        else:
            yield SheetRow(line, {}, False, broken="is not a JSON object")


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object. Raises KeyError for a name that occurs twice."""
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise KeyError(next(name for name in values if names.count(name) > 1))
    return values
