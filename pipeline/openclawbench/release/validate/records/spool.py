"""A table that is written to temporary Parquet files as it comes, and read again when it is complete."""

from pathlib import Path

import polars as pl

from openclawbench.release.record_key import Key
from openclawbench.tables.record import TRAJECTORY_KEY

ROWS = 4096  # that wait in memory


class Spool:
    """Frames of the same columns, in the order in which they were added. `folder` may hold the files of others."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.files: list[Path] = []
        self.waiting: list[pl.DataFrame] = []
        self.ranges: dict[Path, tuple[Key, Key]] = {}

    def add(self, frame: pl.DataFrame) -> None:
        """Add rows."""
        self.waiting.append(frame)
        if sum(frame.height for frame in self.waiting) >= ROWS:
            self.flush()

    def flush(self) -> None:
        """Write the waiting rows."""
        if self.waiting:
            path = self.folder / f"{self.name}-{len(self.files)}.parquet"
            pl.concat(self.waiting).write_parquet(path, compression="lz4")
            self.files.append(path)
            self.waiting = []

    def take(self, files: list[Path]) -> None:
        """Append the files of another spool."""
        self.flush()
        self.files += files

    def scan(self, empty: pl.DataFrame) -> pl.LazyFrame:
        """Every row. `empty`: the columns, for a spool that has none."""
        self.flush()
        return pl.scan_parquet(self.files, glob=False) if self.files else empty.lazy()

    def of_records(self, records: pl.LazyFrame, empty: pl.DataFrame) -> pl.LazyFrame:
        """The rows of some trajectories; only files that may hold one of them are read. `empty`: the columns."""
        self.flush()
        self.ranges |= {file: key_range(pl.scan_parquet(file, glob=False)) for file in self.files[len(self.ranges) :]}
        first, last = key_range(records)
        files = [file for file, (begin, end) in self.ranges.items() if begin <= last and first <= end]
        table = pl.scan_parquet(files, glob=False) if files else empty.lazy()
        return table.join(records, on=TRAJECTORY_KEY, how="semi", maintain_order="left")


def key_range(rows: pl.LazyFrame) -> tuple[Key, Key]:
    """The first and the last key of a table that has rows."""
    keys = rows.select(TRAJECTORY_KEY).sort(TRAJECTORY_KEY).collect()
    return keys.row(0), keys.row(-1)
