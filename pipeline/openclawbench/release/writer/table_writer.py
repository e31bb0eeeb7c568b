"""A flat table of a release as JSONL and Parquet, written some rows at a time."""

from types import TracebackType
from typing import Self

import polars as pl

from openclawbench.release.writer.parquet import arrow_schema
from openclawbench.release.writer.staging_folder import StagingFolder
from openclawbench.tables.canonical_rows import canonical_rows
from openclawbench.tables.record import Record
from openclawbench.tables.schema import empty

ROWS = 16_384  # of a row group of the Parquet file, and in memory


def typed_file(jsonl: str) -> str:
    """The Parquet file beside a JSONL file: <table>.parquet."""
    return jsonl.removesuffix(".jsonl") + ".parquet"


class TableWriter:
    """Writes `jsonl` and the Parquet file beside it; both are there without rows too. The bytes do not depend on how
    the rows are divided between calls of `add`. Use it as a context manager."""

    def __init__(self, staging: StagingFolder, jsonl: str, record: type[Record]) -> None:
        import pyarrow.parquet as pq

        self.lines = staging.path(jsonl).open("wb")
        self.waiting = empty(record)
        self.kinds = arrow_schema(record)
        self.table = pq.ParquetWriter(staging.path(typed_file(jsonl)), self.kinds, compression="zstd")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and self.waiting.height:
            self.write(self.waiting)
        self.table.close()
        self.lines.close()

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows with the columns of the record."""
        self.waiting = self.waiting.vstack(rows.select(self.waiting.columns))
        while self.waiting.height >= ROWS:
            self.write(self.waiting.head(ROWS))
            self.waiting = self.waiting.slice(ROWS).rechunk()

    def write(self, rows: pl.DataFrame) -> None:
        """Write a row group and its lines."""
        self.lines.write("".join(f"{line}\n" for line in canonical_rows(rows)).encode())
        self.table.write_table(rows.rechunk().to_arrow().cast(self.kinds), row_group_size=ROWS)
