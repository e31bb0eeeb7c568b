"""Review sheets: a sample's rows with empty columns to fill in, as CSV (any spreadsheet) and as JSONL (any editor)."""

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
LARGEST_CELL = 1 << 24  # characters; the library's own limit is lower than what a hand may paste


@dataclass(frozen=True)
class Filled:
    """One row of a sheet that came back; `broken` says why it is none, and then it has no values."""

    line: int  # at which it begins
    values: dict[str, Any]
    is_text: bool  # a CSV cell: guarded, and null is empty
    spreadsheet_row: int | None = None  # as a spreadsheet numbers it, the header being 1; null in JSONL
    broken: str | None = None
    last_line: int | None = None  # of a broken row of CSV, with which everything to the sheet's end is lost


def as_csv(rows: Sequence[Record], answers: Sequence[str], cells: Cells) -> bytes:
    """The sheet as CSV: UTF-8 with a byte-order mark (so that spreadsheets know), CRLF, every cell quoted."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    columns = list(type(rows[0]).model_fields) if rows else []
    writer.writerow([*answers, *columns])
    for row in rows:
        writer.writerow([*[""] * len(answers), *[cells.written(getattr(row, name)) for name in columns]])
    return (BOM + buffer.getvalue()).encode("utf-8", "backslashreplace")


def as_jsonl(rows: Sequence[Record], answers: Sequence[str]) -> bytes:
    """The sheet as JSONL, texts whole, in ASCII: no editor shows an escape sequence as anything but text."""
    blank = dict.fromkeys(answers)
    return b"".join(json.dumps(blank | row.model_dump()).encode() + b"\n" for row in rows)


def read_sheet(path: Path, needed: Sequence[str]) -> tuple[bytes, list[Filled]]:
    """The bytes of a sheet and its rows, whatever order its columns are in. Raises UnreadableInput with the place."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UnreadableInput(f"{path}: cannot read the sheet: {error.strerror}. Name a CSV or JSONL file.") from error
    text = decoded(content, path)
    if text.lstrip().startswith("["):
        raise UnreadableInput(f"{path}:1: is a JSON array. Write one object a line (JSONL).")
    rows = list(json_rows(text) if text.lstrip().startswith("{") else csv_rows(text, path, needed))
    if not rows:
        raise UnreadableInput(
            f"{path}: holds no row. Import a sheet that `audit sample-events` or `sample-calibration` wrote."
        )
    if all(row.broken for row in rows):
        raise UnreadableInput(f"{path}:{rows[0].line}: {rows[0].broken}. Correct the line.")
    owes(path, rows, needed)
    return content, rows


def owes(path: Path, rows: Sequence[Filled], needed: Sequence[str]) -> None:
    """Raises UnreadableInput where no row has one of these columns. A single row that lacks one is that row's fault."""
    if missing := [name for name in needed if not any(name in row.values for row in rows)]:
        where = f"{path}:{1 if rows[0].is_text else rows[0].line}"
        raise UnreadableInput(f"{where}: no column {', '.join(missing)}. Keep this column of the sheet.")


def decoded(content: bytes, path: Path) -> str:
    """The text of a sheet: UTF-8, or UTF-16 where its mark says so."""
    is_utf16 = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        return content.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableInput(f"{path}:{line}: is not UTF-8. Save the sheet as CSV in UTF-8.") from error


def csv_rows(text: str, path: Path, needed: Sequence[str]) -> Iterator[Filled]:
    """Rows of a CSV sheet; empty lines are none. The delimiter is the one that the header uses. Where the text is no
    CSV any more, a broken row says so, and it is the last one: where the next row begins nobody can tell."""
    csv.field_size_limit(LARGEST_CELL)
    lines = list(io.StringIO(text, newline=""))
    head = text.split("\n", 1)[0]
    delimiter = max(DELIMITERS, key=head.count)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    names: list[str] = []
    line, number = 1, 1
    try:
        names = [name.strip().lower() for name in next(reader, [])]
        if twice := [name for name in dict.fromkeys(names) if name and names.count(name) > 1]:
            raise UnreadableInput(f"{path}:1: has the column {', '.join(twice)} more than once. Keep one of each.")
        if missing := [name for name in needed if name not in names]:
            raise UnreadableInput(f"{path}:1: no column {', '.join(missing)}. Keep this column of the sheet.")
        line, number = reader.line_num + 1, 2
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield csv_row(line, number, names, cells)
            line, number = reader.line_num + 1, number + 1
    except csv.Error as error:
        yield broken_csv(lines, line, number, names, delimiter, str(error))


def csv_row(line: int, number: int, names: Sequence[str], cells: list[str]) -> Filled:
    """A row of a CSV sheet; cells that it lacks are empty, and one with more cells than columns is broken."""
    if any(cell.strip() for cell in cells[len(names) :]):
        more = f"has {len(cells)} cells, and the header {len(names)} columns; put quotes around a cell with a delimiter"
        return Filled(line, {}, True, number, more)
    padded = [*cells, *[""] * (len(names) - len(cells))]
    return Filled(line, dict(zip(names, padded, strict=False)), True, number)


def broken_csv(
    lines: Sequence[str], line: int, number: int, names: Sequence[str], delimiter: str, error: str
) -> Filled:
    """The row at which a sheet is no CSV any more: what to look at, and which lines are not read."""
    last = len(lines)
    place = open_quote("".join(lines[line - 1 :]), delimiter)
    opens, rest = line, f"lines {line} to {last} are not read" if last > line else "it is not read"
    if place is None:
        return Filled(line, {}, True, number, f"is no CSV: {error}; {rest}", last)
    opens += place.line
    column = f"{names[place.cell]} (column {place.cell + 1})" if place.cell < len(names) else f"column {place.cell + 1}"
    said = f"a quote opens the cell {column} and is not closed; {rest}. Close it, and double a quote within a cell"
    return Filled(opens, {}, True, number, said, last)


def json_rows(text: str) -> Iterator[Filled]:
    """Rows of a JSONL sheet; a line that is no JSON object is a broken row."""
    for line, one in enumerate(text.split("\n"), start=1):
        if not one.strip():
            continue
        try:
            values = json.loads(one, object_pairs_hook=each_once)
        except KeyError as error:
            yield Filled(line, {}, False, broken=f"has {error} more than once")
            continue
        except (ValueError, RecursionError) as error:
            yield Filled(line, {}, False, broken=f"is no JSON: {error}")
            continue
        if isinstance(values, dict):
            yield Filled(line, values, False)
        else:
            yield Filled(line, {}, False, broken="is no JSON object")


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object. KeyError for a name that it has twice: nobody knows which of both is meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise KeyError(next(name for name in found if names.count(name) > 1))
    return found
