"""Review sheets: a sample's rows with empty columns to fill in, as CSV (any spreadsheet) and as JSONL (any editor)."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.audit.cells import Cells
from pipeline.errors import UnreadableInput
from pipeline.records.base import Record

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
    """Rows of a CSV sheet; empty lines are none. The delimiter is the one that the header uses."""
    csv.field_size_limit(LARGEST_CELL)
    head = text.split("\n", 1)[0]
    delimiter = max(DELIMITERS, key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        names = [name.strip().lower() for name in next(reader, [])]
        if missing := [name for name in needed if name not in names]:
            raise UnreadableInput(f"{path}:1: no column {', '.join(missing)}. Keep this column of the sheet.")
        line = reader.line_num + 1
        for number, cells in enumerate(reader, start=2):
            if any(cell.strip() for cell in cells):
                padded = [*cells, *[""] * (len(names) - len(cells))]
                yield Filled(line, dict(zip(names, padded, strict=False)), True, number)
            line = reader.line_num + 1
    except csv.Error as error:
        raise UnreadableInput(f"{path}:{reader.line_num}: is no CSV: {error}. Save the sheet as CSV again.") from error


def json_rows(text: str) -> Iterator[Filled]:
    """Rows of a JSONL sheet; a line that is no JSON object is a broken row."""
    for line, one in enumerate(text.split("\n"), start=1):
        if not one.strip():
            continue
        try:
            values = json.loads(one)
        except (ValueError, RecursionError) as error:
            yield Filled(line, {}, False, broken=f"is no JSON: {error}")
            continue
        if isinstance(values, dict):
            yield Filled(line, values, False)
        else:
            yield Filled(line, {}, False, broken="is no JSON object")
