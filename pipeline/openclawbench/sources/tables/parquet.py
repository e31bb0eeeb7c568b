"""Parquet tables whose rows hold sessions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openclawbench.rules.intake.tables import TableRules
from openclawbench.sources.io.file_encodings import BrokenCompression
from openclawbench.sources.tables.rows import (
    LOOKED_AT,
    Row,
    SessionTable,
    TableRow,
    holds_something,
    no_session,
    number_in,
    session_column,
    wanted_values,
    with_session,
)

if TYPE_CHECKING:
    import pyarrow.parquet as pq

MAGIC = b"PAR1"
AT_ONCE = 64  # rows


class ParquetTable(SessionTable):
    """A Parquet file. A session is the text of its column, or an object or list of its column as JSON text.

    A field of an object that is null is left out: Parquet gives every object of a column the same fields, so it cannot
    be told from one that was never there (own choice).
    """

    def __init__(self, file: "pq.ParquetFile", column: str) -> None:
        self.file, self.column = file, column
        self.starts: list[int] = [0]  # number of the first row of each group, from 0
        for group in range(file.num_row_groups):
            self.starts.append(self.starts[-1] + file.metadata.row_group(group).num_rows)
        self.group: tuple[int, Any] = (-1, None)  # the group that was read last, and its column of sessions

    def rows(self, rules: TableRules) -> Iterator[TableRow]:
        for number, row in enumerate(rows_of(self.file), start=1):
            place: dict[str, Any] = {"number": number, "member": f"row{number}.{self.column}"}
            if not holds_something(row.get(self.column)):
                yield TableRow(**place, reason="not_a_session", problem=no_session(self.column))
                continue
            yield with_session(place, text_of(row[self.column]), self.column, wanted_values(row, self.column, rules))

    def value(self, member: str) -> bytes:
        number, column = number_in(member, self.row_word)
        group = next((at for at, end in enumerate(self.starts[1:]) if number <= end), None)
        if group is None or column not in self.file.schema_arrow.names:
            raise ValueError(f"{member}: is not there any more")
        if self.group[0] != group:
            self.group = (group, self.file.read_row_group(group, columns=[column])[column])
        return text_of(self.group[1][number - 1 - self.starts[group]].as_py())


def open_parquet(source: Path | bytes) -> "pq.ParquetFile":
    """A Parquet file by its path or its bytes. Raises BrokenCompression if it cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(source if isinstance(source, Path) else pa.BufferReader(source))
    except (OSError, pa.ArrowException) as error:
        raise BrokenCompression(f"a Parquet file that cannot be read: {error}".rstrip(".")) from error


def find_parquet_table(file: "pq.ParquetFile", rules: TableRules) -> ParquetTable | None:
    """The table of sessions that a Parquet file is; None if no column holds any."""
    head: list[Row] = []
    for row in rows_of(file):
        head.append(
            {name: drop_null_fields(value) if isinstance(value, dict | list) else value for name, value in row.items()}
        )
        if len(head) >= LOOKED_AT:
            break
    column = session_column(head, rules)
    return None if column is None else ParquetTable(file, column)


def rows_of(file: "pq.ParquetFile") -> Iterator[Row]:
    """Every row. Raises BrokenCompression where the file is damaged."""
    import pyarrow as pa

    try:
        for batch in file.iter_batches(batch_size=AT_ONCE):
            yield from batch.to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise BrokenCompression(f"a Parquet file that cannot be read: {error}".rstrip(".")) from error


def text_of(value: Any) -> bytes:
    """A session's bytes: text as it stands in its column, any other value as JSON text."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace")
    return json.dumps(drop_null_fields(value), ensure_ascii=False, separators=(",", ":"), default=str).encode()


def drop_null_fields(value: Any) -> Any:
    """A value without the null fields of its objects; a map, which comes as pairs, as an object."""
    if isinstance(value, dict):
        return {name: drop_null_fields(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) and len(item) == 2 for item in value):
            return {str(name): drop_null_fields(item) for name, item in value}
        return [drop_null_fields(item) for item in value]
    return value
