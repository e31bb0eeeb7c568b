"""Parquet files of the JSONL tables: the same rows, typed and nested, in small row groups, one at a time in memory."""

from collections import deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from openclawbench.records.release import Master, PositiveStructured
from openclawbench.release.files.names import MASTER_FILE, POSITIVES_FILES, TIER_FILES
from openclawbench.release.files.staging_folder import StagingFolder
from openclawbench.release.settings import Parquet
from openclawbench.tables.record import Keyed, Record
from openclawbench.tables.schema import schema

if TYPE_CHECKING:  # imported where it is used: other commands start faster
    import pyarrow as pa
    import pyarrow.parquet as pq

# JSONL files of a model that also have Parquet files -> the record of a line
TABLES: dict[str, type[Keyed]] = {
    MASTER_FILE: Master,
    **dict.fromkeys(TIER_FILES.values(), Master),
    **dict.fromkeys(POSITIVES_FILES.values(), PositiveStructured),
}
SCALARS = {pl.String: "string", pl.Int64: "int64", pl.Float64: "float64", pl.Boolean: "bool"}


def shard_name(jsonl: str, shard: int, shards: int, ending: str = ".parquet") -> str:
    """<table>-00000-of-00001.parquet for <table>.jsonl, as the Hub names them."""
    return f"{jsonl.removesuffix('.jsonl')}-{shard:05}-of-{shards:05}{ending}"


@cache
def arrow_schema(record: type[Record]) -> "pa.Schema":
    """Columns and arrow types of a record's Parquet file; every column and every field may be null."""
    import pyarrow as pa

    return pa.schema([(name, arrow_type(kind)) for name, kind in schema(record).items()])


def arrow_type(kind: pl.DataType) -> "pa.DataType":
    """The arrow type of a record's polars type. KeyError for a type that no record has."""
    import pyarrow as pa

    if isinstance(kind, pl.List):
        return pa.list_(arrow_type(type_instance(kind.inner)))
    if isinstance(kind, pl.Struct):
        return pa.struct([(field.name, arrow_type(type_instance(field.dtype))) for field in kind.fields])
    return cast("pa.DataType", pa.type_for_alias(SCALARS[type(kind)]))


def type_instance(kind: Any) -> pl.DataType:
    """A polars type as an instance."""
    return cast("pl.DataType", kind() if isinstance(kind, type) else kind)


class ParquetTable:
    """One table being written, or a piece of it, as one or more files."""

    def __init__(self, staging: StagingFolder, jsonl: str, record: type[Keyed], sizes: Parquet, piece: int = 0) -> None:
        self.staging, self.jsonl, self.sizes, self.piece = staging, jsonl, sizes, piece
        self.schema = arrow_schema(record)
        self.pieces: list[pa.Table] = []  # rows of the row group to come
        self.rows = self.pending = 0  # how many they are, and the bytes of their lines
        self.written = self.row_groups = 0  # bytes of the lines in the file that is open, and its row groups
        self.parts: list[str] = []
        self.part_rows: list[int] = []  # rows of each
        self.writer = self.next_file()

    def next_file(self) -> "pq.ParquetWriter":
        """Open a further file under a temporary name, because the total number of files is not known yet."""
        import pyarrow.parquet as pq

        self.written = self.row_groups = 0
        self.parts.append(f"{self.jsonl}.part-{self.piece}-{len(self.parts)}")
        self.part_rows.append(0)
        path, level = self.staging.path(self.parts[-1]), self.sizes.compression_level
        return pq.ParquetWriter(path, self.schema, compression="zstd", compression_level=level, write_page_index=True)

    def add(self, table: "pa.Table", sizes: list[int]) -> None:
        """Add rows, given with the bytes of each one's line."""
        start = 0
        for row, size in enumerate(sizes):
            if is_full(self.rows, self.pending, size, self.sizes):
                self.pieces.append(table.slice(start, row - start))
                self.flush()
                start = row
            self.rows += 1
            self.pending += size
        self.pieces.append(table.slice(start))

    def flush(self) -> None:
        """Write the waiting rows as a row group, into a further file if this one has no room for it."""
        import pyarrow as pa

        if not self.rows:
            return
        is_long = self.row_groups == self.sizes.shard_row_groups
        if is_long or (self.written and self.written + self.pending > self.sizes.shard_bytes):
            self.writer.close()
            self.writer = self.next_file()
        self.writer.write_table(pa.concat_tables(self.pieces).combine_chunks(), row_group_size=self.rows)
        self.written += self.pending
        self.row_groups += 1
        self.part_rows[-1] += self.rows
        self.pieces, self.rows, self.pending = [], 0, 0

    def close(self) -> list[tuple[str, int]]:
        """Finish, and return each file and its rows; `name_parts` gives the files their names."""
        self.flush()
        self.writer.close()
        return [*zip(self.parts, self.part_rows, strict=True)]


def name_parts(staging: StagingFolder, jsonl: str, parts: list[tuple[str, int]]) -> None:
    """Give the files of a table, with the rows of each, their names. Files without rows are removed, but for the first
    of a table that has none."""
    kept = [name for name, rows in parts if rows] or [parts[0][0]]
    for name, _ in parts:
        if name not in kept:
            staging.path(name).unlink()
    for number, name in enumerate(kept):
        staging.path(name).rename(staging.path(shard_name(jsonl, number, len(kept))))


def is_full(rows: int, size: int, more: int, sizes: Parquet) -> bool:
    """True for a row group that takes no further line of `more` bytes."""
    return rows == sizes.row_group_rows or (rows > 0 and size + more > sizes.row_group_bytes)


class BackgroundThread:
    """Work done in order on a second thread while lines are read, because arrow releases the interpreter while it
    types and compresses. The queue is short, so that memory is bounded; errors are raised in the caller's thread."""

    WAITING = 2

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1)
        self.waiting: deque[Future[None]] = deque()

    def do(self, work: Callable[..., None], *arguments: Any) -> None:
        """Start this after the earlier work is done."""
        while len(self.waiting) >= self.WAITING:
            self.waiting.popleft().result()
        self.waiting.append(self.thread.submit(work, *arguments))

    def wait(self) -> None:
        """Wait until all work is done."""
        while self.waiting:
            self.waiting.popleft().result()


def table_of(lines: list[bytes], columns: "pa.Schema") -> "pa.Table":
    """JSON lines as a table of these columns; a field that is not a column is an error."""
    import pyarrow as pa
    from pyarrow import json

    text = b"\n".join(lines) + b"\n"
    return json.read_json(
        pa.BufferReader(text),
        read_options=json.ReadOptions(use_threads=False, block_size=len(text)),
        parse_options=json.ParseOptions(explicit_schema=columns, unexpected_field_behavior="error"),
    )


class LineBatch:
    """Lines of one record class that belong to one or more tables, parsed once for all of these tables."""

    def __init__(self, record: type[Keyed], sizes: Parquet) -> None:
        self.schema, self.sizes = arrow_schema(record), sizes
        self.lines: list[bytes] = []
        self.tables: dict[ParquetTable, list[int]] = {}  # the lines that belong to it
        self.pending = 0

    def has_room(self, line: bytes) -> bool:
        """True if the line can be parsed together with the waiting ones."""
        return not is_full(len(self.lines), self.pending, len(line), self.sizes)

    def append(self, line: bytes, tables: list[ParquetTable]) -> None:
        """Add a line of these tables."""
        for table in tables:
            self.tables.setdefault(table, []).append(len(self.lines))
        self.lines.append(line)
        self.pending += len(line)

    def read(self) -> Iterator[tuple[ParquetTable, "pa.Table", list[int]]]:
        """Each table with its rows and the bytes of each one's line."""
        all_rows = table_of(self.lines, self.schema)
        sizes = [*map(len, self.lines)]
        for table, rows in self.tables.items():
            own = all_rows if len(rows) == len(sizes) else all_rows.take(rows)
            yield table, own, [sizes[row] for row in rows]


class ParquetTables:
    """Those tables of a model's folder that it has, or a piece of each. `has`: its JSONL files."""

    def __init__(
        self, staging: StagingFolder, folder: str, sizes: Parquet, piece: int, has: Collection[str] = tuple(TABLES)
    ) -> None:
        self.sizes = sizes
        # The other tables together hold as much as the master table.
        self.master, self.others = BackgroundThread(), BackgroundThread()
        self.open = {
            name: ParquetTable(staging, f"{folder}/{name}", TABLES[name], sizes, piece)
            for name in TABLES
            if name in has
        }
        self.waiting = {record: LineBatch(record, sizes) for record in TABLES.values()}

    def append(self, names: list[str], line: bytes) -> None:
        """Add a line of these JSONL files to those that have Parquet files."""
        tables = [self.open[name] for name in names if name in TABLES]
        if not tables:
            return
        record = TABLES[names[0]]
        if not self.waiting[record].has_room(line):
            self.write_batch(record)
        self.waiting[record].append(line, tables)

    def write_batch(self, record: type[Keyed]) -> None:
        """Parse and write the waiting lines."""
        self.master.do(self.write, self.waiting[record])
        self.waiting[record] = LineBatch(record, self.sizes)

    def write(self, lines: LineBatch) -> None:
        """Write rows of the master table on its thread, and those of the other tables on the other."""
        if lines.lines:
            for table, rows, sizes in lines.read():
                if table is self.open[MASTER_FILE]:
                    table.add(rows, sizes)
                else:
                    self.others.do(table.add, rows, sizes)

    def close(self) -> dict[str, list[tuple[str, int]]]:
        """Finish: JSONL file -> the Parquet files of its rows, and the rows of each."""
        for record in self.waiting:
            self.write_batch(record)
        self.master.wait()
        self.others.wait()
        return {table.jsonl: table.close() for table in self.open.values()}


def shards_of(root: Path, jsonl: str) -> list[Path]:
    """The Parquet files of a JSONL table, in order."""
    return sorted((root / jsonl).parent.glob(shard_pattern(Path(jsonl).name)))


def shard_pattern(jsonl: str) -> str:
    """The pattern of the names of the Parquet files of a JSONL table."""
    return f"{jsonl.removesuffix('.jsonl')}-*-of-*.parquet"


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a Parquet file as plain data, a row group in memory at a time."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    for group in range(file.num_row_groups):
        yield from file.read_row_group(group).to_pylist()
