"""Merge sorted Parquet files into one sorted stream of tables, with a row group of each file in memory, and in levels,
so that neither memory nor open files grow with the number of files."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from openclawbench.tables.record import TRAJECTORY_KEY

FAN_IN = 64  # files that are merged at a time
ROWS = 4096  # of a row group of a file that is to be merged
ORDER = "order"  # column by which such a file is sorted


def write_sorted(rows: pl.DataFrame, path: Path) -> None:
    """Write rows for a later merge, sorted by their text column ORDER."""
    rows.sort(ORDER).write_parquet(path, row_group_size=ROWS, compression="zstd", compression_level=1)


def key_order() -> pl.Expr:
    """ORDER of rows of trajectories, by key."""
    return pl.concat_str(TRAJECTORY_KEY, separator="\0").alias(ORDER)


def merge_sorted(files: Sequence[Path], scratch: Path) -> Iterator[pl.DataFrame]:
    """The rows of files by `write_sorted`, in the order of ORDER, some thousands at a time. `scratch`: a folder for
    temporary files."""
    level = 0
    runs = list(files)
    while len(runs) > FAN_IN:
        groups = [runs[start : start + FAN_IN] for start in range(0, len(runs), FAN_IN)]
        runs = [scratch / f"{runs[0].stem}-level-{level}-{number}.parquet" for number in range(len(groups))]
        for group, run in zip(groups, runs, strict=True):
            write_run(group, run, scratch)
        level += 1
    yield from merged_at_once(runs)


def write_run(files: Sequence[Path], to: Path, scratch: Path) -> None:
    """Merge sorted files into one, written row group by row group."""
    import pyarrow.parquet as pq

    kinds = pl.read_parquet(files[0], glob=False, n_rows=0).to_arrow().schema
    with pq.ParquetWriter(to, kinds, compression="zstd", compression_level=1) as writer:
        for rows in merge_sorted(files, scratch):
            writer.write_table(rows.to_arrow(), row_group_size=ROWS)


def merged_at_once(files: Sequence[Path]) -> Iterator[pl.DataFrame]:
    """The rows of at least one and not too many files, sorted. What comes before the end of every file's present row
    group can go: what is not read yet comes after it."""
    streams = [row_groups(path) for path in files]
    heads = [next(stream, None) for stream in streams]
    while live := [(number, head) for number, head in enumerate(heads) if head is not None]:
        bound = min(head[ORDER][-1] for _, head in live)
        ready = []
        for number, head in live:
            rows = head[ORDER].search_sorted(bound, "right")
            ready.append(head.head(rows))
            heads[number] = head.slice(rows) if rows < head.height else next(streams[number], None)
        yield pl.concat(ready).sort(ORDER, maintain_order=True)


def row_groups(path: Path) -> Iterator[pl.DataFrame]:
    """The row groups of a file that have rows."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            rows = pl.DataFrame(file.read_row_group(group, use_threads=False))
            if rows.height:
                yield rows
