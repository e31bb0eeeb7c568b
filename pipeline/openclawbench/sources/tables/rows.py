"""Tables whose rows hold sessions: a document in one column, and what the benchmark says of it in the others.

A table is JSONL, a JSON document that is one row or a list of rows, or Parquet; plain or compressed. The values of a
row decide what it is: the session is the first column that an adapter of documents claims.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from openclawbench.rules.intake.tables import TableRules
from openclawbench.sources.identification import WHOLE_JSON, FileFormat, decode, identify
from openclawbench.sources.io.json_ranges import element_ranges, object_ranges
from openclawbench.sources.io.json_values import load_json, why_not_json
from openclawbench.sources.io.jsonl import BOM, pieces, readable

LOOKED_AT = 20  # rows from which a file's column of sessions is told; broken ones among them do not count
MOST_BYTES = WHOLE_JSON  # of a row
NO_RUN = "no_run"  # key of the context of a file whose rows are no runs, and reason code
NUMBERED = re.compile(r"(row|line)([0-9]+)")  # beginning of a member's name
Row = dict[str, Any]


@dataclass(frozen=True)
class TableRow:
    """A row: the session's bytes, or the reason why it has no session (`reason`, `problem`).

    `member` names it in the file: `line7`, `row7`, with the column where the session is not bytes of the file. One that
    is lies at `offset`, `length` bytes from `line` on; else `length` is None. `values`: what the rules look at of the
    other columns, by their names; those inside objects with dots.
    """

    number: int  # line of the file, or row of a Parquet file; from 1
    member: str
    line: int = 1
    offset: int = 0
    length: int | None = None
    content: bytes = b""
    file_format: FileFormat | None = None
    values: Row = field(default_factory=dict)
    reason: str | None = None
    problem: str | None = None


class SessionTable(ABC):
    """A table with a column of sessions."""

    row_word = "row"  # what messages call a row
    column: str

    @abstractmethod
    def rows(self, rules: TableRules) -> Iterator[TableRow]:
        """Every row in order; also those that hold no session, with the reason."""

    @abstractmethod
    def value(self, member: str) -> bytes:
        """The session's bytes of a member without a length, again. Raises ValueError if it is not there."""


class JsonTable(SessionTable):
    """JSONL, or one JSON document that is a row or a list of rows. `content`: of the file, decompressed; a view where
    it is very large."""

    def __init__(self, content: bytes | memoryview, column: str, is_document: bool = False) -> None:
        self.content, self.column, self.is_document = content, column, is_document
        self.is_list = begins_with(content, b"[")
        self.row_word = "row" if self.is_list else "line"
        self.offsets: dict[int, tuple[int, int]] | None = None  # number -> where it is; made when first asked for

    def texts(self) -> Iterator[tuple[int, int, int, bytes]]:
        """(number, line, offset, bytes) of each row."""
        if self.is_list:
            yield from elements(bytes(self.content))
        elif self.is_document:
            data = bytes(self.content)
            start = len(BOM) if data.startswith(BOM) else 0
            yield 1, 1, start, data[start:]
        else:
            yield from ((line, line, offset, data) for line, offset, data in pieces(self.content))

    def rows(self, rules: TableRules) -> Iterator[TableRow]:
        for number, line, offset, data in self.texts():
            yield self.row(number, line, offset, data, rules)

    def row(self, number: int, line: int, offset: int, data: bytes, rules: TableRules) -> TableRow:
        """One row of JSON text."""
        member = f"{self.row_word}{number}"
        place: dict[str, Any] = {"number": number, "member": member, "line": line, "offset": offset}
        place["length"] = len(data)
        if len(data) > MOST_BYTES:
            return TableRow(**place, reason="too_large", problem=too_large(len(data)))
        try:
            row = load_json(readable(data))
            ranges = object_ranges(data) if isinstance(row, dict) else {}
        except (ValueError, RecursionError) as error:
            why = why_not_json(data.decode("utf-8", "replace").strip(), ValueError(str(error)))
            return TableRow(**place, reason="not_json", problem=f"not JSON: {why}")
        if not isinstance(row, dict) or not holds_something(row.get(self.column)):
            return TableRow(**place, reason="not_a_session", problem=no_session(self.column))
        values = wanted_values(row, self.column, rules)
        session = row[self.column]
        if isinstance(session, str):
            place |= {"member": f"{member}.{self.column}", "line": 1, "offset": 0, "length": None}
            return with_session(place, session.encode(), self.column, values)
        begin, end = ranges[self.column]
        place |= {"line": line + data.count(b"\n", 0, begin), "offset": offset + begin, "length": end - begin}
        return with_session(place, data[begin:end], self.column, values)

    def value(self, member: str) -> bytes:
        number, column = number_in(member, self.row_word)
        if self.offsets is None:
            self.offsets = {at: (offset, len(data)) for at, _, offset, data in self.texts()}
        offset, length = self.offsets.get(number, (0, 0))
        row: Any = decode(readable(bytes(self.content[offset : offset + length])))
        if not isinstance(row, dict) and number == 1:  # a document of many lines is one row
            row = decode(readable(bytes(self.content)))
        value = row.get(column) if isinstance(row, dict) else None
        if not isinstance(value, str):
            raise ValueError(f"{member}: is not there any more")
        return value.encode()


def find_json_table(content: bytes | memoryview, first: Any, rules: TableRules) -> JsonTable | None:
    """The table that a file is; None if it is not one. `first`: its first record, None if that is not JSON."""
    if begins_with(content, b"["):
        rows = decode(bytes(content)) if len(content) <= WHOLE_JSON else None
        listed = [row for row in rows[:LOOKED_AT] if isinstance(row, dict)] if isinstance(rows, list) else []
        column = session_column(listed, rules)
        return None if column is None or not is_whole(content) else JsonTable(content, column)
    if not begins_with(content, b"{"):
        return None
    head = [decode(data) for _, _, data in islice(pieces(content), LOOKED_AT)]
    is_document = not any(isinstance(value, dict) for value in head[:1]) and isinstance(first, dict)
    rows = [first] if is_document else head
    column = session_column([row for row in rows if isinstance(row, dict)], rules)
    return None if column is None else JsonTable(content, column, is_document)


def begins_with(content: bytes | memoryview, opening: bytes) -> bool:
    """True for a file whose first character is this bracket."""
    return bytes(content[:4096]).removeprefix(BOM).lstrip()[:1] == opening


def is_whole(content: bytes | memoryview) -> bool:
    """True for a list whose brackets fit."""
    try:
        return bool(element_ranges(bytes(content), None))
    except ValueError:
        return False


def elements(content: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """(number from 1, line, offset, bytes) of each element of a list that is whole."""
    line, counted = 1, 0
    for number, (offset, end) in enumerate(element_ranges(content, None), start=1):
        line += content.count(b"\n", counted, offset)
        counted = offset
        yield number, line, offset, content[offset:end]


def session_column(rows: list[Row], rules: TableRules) -> str | None:
    """The first column of these rows that holds a session; None if no column does."""
    for row in rows:
        if rules.why_no_run(row) is not None:
            continue
        in_row = rules.says_how_it_ended(wanted_values(row, "", rules))
        for name, value in row.items():
            if isinstance(name, str) and is_session(value, in_row):
                return name
    return None


def explain_row(content: bytes, first: Any, rules: TableRules) -> str | None:
    """Why a file that is a table of something is none of sessions, as the end of a sentence; None if it is no table.
    `first`: its first record, None if that is not a JSON object."""
    if first is None and begins_with(content, b"[") and len(content) <= WHOLE_JSON:
        rows = decode(content)
        first = rows[0] if isinstance(rows, list) and rows else None
    if not isinstance(first, dict):
        return None
    if (what := rules.why_no_run(first)) is not None:
        return what
    held = next((name for name, value in first.items() if isinstance(name, str) and is_session(value, True)), None)
    if held is None:
        return None
    names = ", ".join(rules.columns.verdict[:2] + rules.columns.score[:2] + rules.columns.status[:1])
    return f"messages in the column {held}, and no column that says how the run ended ({names}, …: tables.toml)"


def is_session(value: Any, in_row: bool) -> bool:
    """True if an adapter of documents claims a value. `in_row`: its row says how the run ended."""
    if not holds_something(value):
        return False
    if isinstance(value, str):
        text = value
    else:
        try:
            text = json.dumps(value, default=str)
        except (ValueError, RecursionError):
            return False
    source = identify(text.encode("utf-8", "replace"), in_row).source
    return source is not None and not source.records_are_lines


def holds_something(value: Any) -> bool:
    """True for a value that can be a session: an object, a list of objects, or the JSON text of one."""
    if isinstance(value, str):
        return value.lstrip()[:1] in ("{", "[")
    return isinstance(value, dict) or (isinstance(value, list) and len(value) > 0 and isinstance(value[0], dict))


def with_session(place: dict[str, Any], content: bytes, column: str, values: Row) -> TableRow:
    """A row with the session in it; with the reason where no adapter claims it."""
    if len(content) > MOST_BYTES:
        return TableRow(**place, values=values, reason="too_large", problem=too_large(len(content)))
    file_format = identify(content, in_row=True)
    if file_format.source is not None and not file_format.source.records_are_lines:
        return TableRow(**place, content=content, file_format=file_format, values=values)
    problem = no_document(content, column)
    reason = "not_json" if file_format.first is None else "not_a_session"
    return TableRow(**place, content=content, values=values, reason=reason, problem=problem)


def no_document(content: bytes, column: str) -> str:
    """Why the value of the column of sessions is not a session."""
    text = content.decode("utf-8", "replace").strip()
    try:
        load_json(readable(content))
    except (ValueError, RecursionError) as error:
        return f"column {column}: not JSON: {why_not_json(text, error)}"
    return f"column {column}: neither an ATIF document nor a list of its steps or of chat messages"


def no_session(column: str) -> str:
    """Why a row holds no session."""
    return f"has no session in the column {column}, in which the other rows have theirs"


def too_large(size: int) -> str:
    """Why a row is not read."""
    return f"{size >> 20} MB in one row; at most {MOST_BYTES >> 20} MB are read"


def wanted_values(row: Mapping[Any, Any], column: str, rules: TableRules) -> Row:
    """What the rules look at of a row, but for the column of sessions: numbers, truths, short texts and nulls."""
    values: Row = {}

    def collect(record: Mapping[Any, Any], prefix: str, depth: int) -> None:
        for name, value in record.items():
            if not isinstance(name, str) or (not prefix and name == column):
                continue
            if isinstance(value, dict) and depth < rules.depth:
                collect(value, f"{prefix}{name}.", depth + 1)
            elif name in rules.wanted and is_plain(value, rules.longest_name):
                values[f"{prefix}{name}"] = value
            elif name in rules.wanted and isinstance(value, list) and not any(isinstance(item, dict) for item in value):
                values[f"{prefix}{name}"] = None  # a list of values is none that is read

    collect(row, "", 1)
    return values


def is_plain(value: Any, longest: int) -> bool:
    """True for a number, a truth, a null, or a short text of one line."""
    if isinstance(value, str):
        return len(value) <= longest and "\n" not in value
    return value is None or isinstance(value, int | float)


def place_of(member: str | None) -> tuple[str, int] | None:
    """("row" or "line", its number) in the name of a member; None for one that is not of a table."""
    match = NUMBERED.match(member or "")
    return (match[1], int(match[2])) if match else None


def number_in(member: str, word: str) -> tuple[int, str]:
    """(number of the row, column) in the name of a member. Raises ValueError if it is not one."""
    row, _, column = member.partition(".")
    digits = row.removeprefix(word)
    if not (row.startswith(word) and digits.isdigit() and column):
        raise ValueError(f"{member}: names no row")
    return int(digits), column
