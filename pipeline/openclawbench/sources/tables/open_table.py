"""Open a file as a table of sessions, by its content."""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from openclawbench.rules.intake.tables import TableRules
from openclawbench.sources.io.file_encodings import MAGIC_BYTES, decompressed, is_compressed
from openclawbench.sources.io.mmap_files import map_file
from openclawbench.sources.tables.parquet import MAGIC, ParquetTable, find_parquet_table, open_parquet
from openclawbench.sources.tables.rows import JsonTable, SessionTable, find_json_table, number_in
from openclawbench.tables.bytes_column import LARGE_BYTES

Known = tuple[int, int, int]


def find_table(source: bytes | Path, first: Any, rules: TableRules) -> SessionTable | None:
    """The table of sessions that a file is; None if it is not one. `source`: its bytes, decompressed, or the path of a
    very large file. `first`: its first record, None if that is not JSON. Raises OSError or BrokenCompression if it
    cannot be read."""
    if isinstance(source, Path):
        with source.open("rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                return find_parquet_table(open_parquet(source), rules)
        content = mapped_or_read(source) if isinstance(first, dict) else None
        return None if content is None else find_json_table(content, first, rules)
    if source[: len(MAGIC)] == MAGIC:
        return find_parquet_table(open_parquet(source), rules)
    return find_json_table(source, first, rules)


def member_value(path: Path, member: str) -> bytes:
    """The session of a row by the name of its member, read again. Raises OSError or ValueError where it is not
    there."""
    status = path.stat()
    known = (status.st_size, status.st_mtime_ns, os.getpid())
    return open_table(path, known, number_column(member)).value(member)


def number_column(member: str) -> str:
    """The column in the name of a member."""
    return number_in(member, "row" if member.startswith("row") else "line")[1]


@lru_cache(maxsize=1)
def open_table(path: Path, known: Known, column: str) -> SessionTable:
    """The table in this state, opened once a process: its rows are asked for one by one."""
    with path.open("rb") as file:
        head = file.read(max(MAGIC_BYTES, len(MAGIC)))
    if head.startswith(MAGIC):
        return ParquetTable(open_parquet(path), column)
    content = decompressed(path.read_bytes()) if is_compressed(head) else mapped_or_read(path)
    if content[: len(MAGIC)] == MAGIC:
        return ParquetTable(open_parquet(bytes(content)), column)
    return JsonTable(content, column)


def mapped_or_read(path: Path) -> bytes | memoryview:
    """The bytes of a file; those of a very large one as a view."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        mapping = map_file(file.fileno(), size) if size >= LARGE_BYTES else None
    return path.read_bytes() if mapping is None else memoryview(mapping)
