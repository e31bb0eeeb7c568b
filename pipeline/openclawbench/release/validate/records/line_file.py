"""Sorted lines of a release in a temporary Parquet file, as the writer reads them."""

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from openclawbench.release.record_key import Key
from openclawbench.tables.record import TRAJECTORY_KEY

ROWS = 256  # of a row group, which is in memory until it is written
BYTES = 1 << 20  # of its lines, about
KINDS = pa.schema(
    {"source_model": pa.string(), "trajectory_id": pa.string(), "files": pa.list_(pa.string()), "line": pa.string()}
)


class LineFile:
    """Writes rows of ReleaseLine as they come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writer = pq.ParquetWriter(path, KINDS, compression="zstd", compression_level=1)
        self.rows: list[tuple[str, str, list[str], str]] = []
        self.bytes = 0
        self.last: tuple[Key, str, str] | None = None
        self.is_sorted = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.flush()
        self.writer.close()
        if not self.is_sorted:  # a release that was edited: a finding names it
            file = pl.col("files").list.first()
            rows = pl.read_parquet(self.path, glob=False).sort(*TRAJECTORY_KEY, file, "line")
            pq.write_table(rows.to_arrow().cast(KINDS), self.path, row_group_size=ROWS)

    def add(self, key: Key, lines: Iterable[tuple[list[str], bytes]]) -> None:
        """Add lines of a record, each with the files of its model's folder that have it."""
        for files, line in lines:
            row = (*key, files, line.decode())
            place = key, files[0], row[3]
            self.is_sorted = self.is_sorted and (self.last is None or self.last <= place)
            self.last = place
            self.rows.append(row)
            self.bytes += len(line)
        if len(self.rows) >= ROWS or self.bytes >= BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the rows that wait."""
        if self.rows:
            columns = zip(*self.rows, strict=True)
            self.writer.write_table(pa.table([[*column] for column in columns], schema=KINDS))
            self.rows, self.bytes = [], 0
