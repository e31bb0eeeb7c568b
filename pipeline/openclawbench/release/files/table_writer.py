"""Flat tables of a release, as JSONL and as Parquet, written some rows at a time."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

import polars as pl

from openclawbench.release.files.parquet import arrow_schema
from openclawbench.release.files.staging_folder import StagingFolder
from openclawbench.tables.canonical_rows import canonical_rows
from openclawbench.tables.record import Record
from openclawbench.tables.schema import schema

ROWS = 16_384  # of a row group of a Parquet file, which is in memory until it is written


def typed_file(jsonl: str) -> str:
    """The Parquet file beside a JSONL file; such a table is always a single file."""
    return jsonl.removesuffix(".jsonl") + ".parquet"


@dataclass(frozen=True)
class Output:
    """A file of some rows of a table: `name` ends in .jsonl or .parquet; `rows` chooses them (None: all); `columns` are
    the record's fields, or these expressions in a JSONL file without a record."""

    name: str
    record: type[Record] | None
    rows: pl.Expr | None = None
    columns: Sequence[pl.Expr] = ()

    def of(self, table: pl.DataFrame) -> pl.DataFrame:
        """The part of some rows that goes into the file."""
        rows = table if self.rows is None else table.filter(self.rows)
        return rows.select(self.columns or list(schema(self.record)) if self.record else self.columns)


def write_tables(staging: StagingFolder, tables: Iterable[pl.DataFrame], outputs: Sequence[Output]) -> None:
    """Write files of the rows of tables, which come one after the other. Every file is there, without rows too, and its
    bytes do not depend on how the rows are divided between tables."""
    with ExitStack() as stack:
        writers = [stack.enter_context(writer_of(staging, output)) for output in outputs]
        for table in tables:
            for output, writer in zip(outputs, writers, strict=True):
                writer.add(output.of(table))


class Writer(Protocol):
    """Writes a file: a context manager that takes rows."""

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows."""
        ...

    def __enter__(self) -> Any: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def writer_of(staging: StagingFolder, output: Output) -> Writer:
    """The writer of a file."""
    if output.record is not None and output.name.endswith(".parquet"):
        return ParquetWriter(staging, output.name, output.record)
    return JsonlWriter(staging, output.name)


class JsonlWriter:
    """Writes a JSONL file."""

    def __init__(self, staging: StagingFolder, name: str) -> None:
        self.file = staging.path(name).open("wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.file.close()

    def add(self, rows: pl.DataFrame) -> None:
        """Write rows as lines."""
        self.file.write("".join(f"{line}\n" for line in canonical_rows(rows)).encode())


class ParquetWriter:
    """Writes a Parquet file of a record, with ROWS rows per row group."""

    def __init__(self, staging: StagingFolder, name: str, record: type[Record]) -> None:
        import pyarrow.parquet as pq

        self.kinds = arrow_schema(record)
        self.waiting = pl.DataFrame(schema=schema(record))
        self.table = pq.ParquetWriter(staging.path(name), self.kinds, compression="zstd")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and self.waiting.height:
            self.write(self.waiting)
        self.table.close()

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows; a full row group is written."""
        self.waiting = self.waiting.vstack(rows)
        while self.waiting.height >= ROWS:
            self.write(self.waiting.head(ROWS))
            self.waiting = self.waiting.slice(ROWS)
        self.waiting = self.waiting.rechunk()

    def write(self, rows: pl.DataFrame) -> None:
        """Write a row group."""
        self.table.write_table(rows.rechunk().to_arrow().cast(self.kinds), row_group_size=ROWS)
