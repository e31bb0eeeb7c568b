"""Parquet tables: they have the declared types, and their rows as JSON equal the lines of the JSONL file."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import polars as pl

from openclawbench.base.canonical_json import canonical_bytes
from openclawbench.release.files.jsonl_files import open_lines, released
from openclawbench.release.files.names import ROOT
from openclawbench.release.files.parquet import TABLES, arrow_schema, rows_of, shard_name, shards_of
from openclawbench.release.unjudged import files_of_model
from openclawbench.release.validate.findings import Findings
from openclawbench.tables.canonical_rows import canonical_rows
from openclawbench.tables.record import Record
from openclawbench.tables.sorted_merge import row_groups


def check_parquet_tables(root: Path, model: str, findings: Findings) -> None:
    """The Parquet files of one model."""
    import pyarrow as pa

    has = files_of_model(root)
    for file, record in ((file, record) for file, record in TABLES.items() if file in has):
        name = f"{ROOT}/{model}/{file}"
        shards = shards_of(root, name)
        wanted = [shard_name(file, number, len(shards)) for number in range(len(shards))]
        if [path.name for path in shards] != wanted or not shards:
            findings.add("file_missing", name, f"its Parquet files are incomplete: {len(shards)} exist")
            continue
        try:
            check_columns(root, shards, record, findings)
            check_rows(root, name, shards, record, findings)
        except (pa.ArrowException, OSError) as error:
            findings.add("parquet", name, f"its Parquet files cannot be read: {str(error).splitlines()[0]}")


def check_columns(root: Path, shards: list[Path], record: type[Record], findings: Findings) -> None:
    """Every file has the columns and types of the record, whatever its rows hold."""
    import pyarrow.parquet as pq

    for path in shards:
        if not pq.read_schema(path).equals(arrow_schema(record)):
            name = path.relative_to(root).as_posix()
            findings.add("parquet", name, f"has other columns or types than the record {record.__name__}")


def check_rows(root: Path, name: str, shards: list[Path], record: type[Record], findings: Findings) -> None:
    """Compare row by row with the lines; the first difference is a finding."""
    for number, (line, row) in enumerate(zip_longest(lines_of(root / name), json_rows(shards, record)), start=1):
        findings.checked["parquet_rows"] += row is not None
        if line != row:
            difference = "lacks the row" if None in (line, row) else "has another row"
            where = "the JSONL file" if line is None else "the Parquet file"
            findings.add("parquet", name, f"{where} {difference}", number)
            return


def lines_of(path: Path) -> Iterator[bytes]:
    """Lines without their newline; none if the file does not exist."""
    if released(path):
        with open_lines(path) as file:
            yield from (line.rstrip(b"\n") for line in file)


def json_rows(shards: list[Path], record: type[Record]) -> Iterator[bytes]:
    """Rows of the files, written as JSON: with a record's columns together, with any others one by one."""
    import pyarrow.parquet as pq

    for path in shards:
        if pq.read_schema(path).equals(arrow_schema(record)):
            for rows in row_groups(path):
                yield from canonical_rows(rows).cast(pl.Binary)
        else:
            yield from map(canonical_bytes, rows_of(path))
