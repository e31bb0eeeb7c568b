"""Finds parts of work tables that cannot be read, after reading a table has failed, and names them with advice.

This check reads every part, so it only runs after a failure. Before a run, a faster check looks at the end of each
part, which takes five microseconds; the run makes a part again that is cut off.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from openclawbench.errors import DamagedPart

UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
END = b"PAR1"
LEAST = 12  # bytes of a Parquet file with nothing in it
READ: dict[Path, None] = {}  # data folders whose tables this process has read


def damaged(work: Path, shard: int | str | None = None) -> Iterator[Path]:
    """The parts below a folder work/ that cannot be read, of one shard or of all, in the order of names."""
    name = "[!.]*.parquet" if shard is None else f"{shard:0>4}-*.parquet"
    for part in sorted(work.glob(f"*/{name}")):
        try:
            pl.read_parquet(part, glob=False)
        except UNREADABLE:
            yield part


def torn(work: Path) -> Iterator[Path]:
    """The parts below a folder work/ that do not end like Parquet: cut off, or not Parquet at all."""
    for table in filter(os.DirEntry.is_dir, os.scandir(work)):
        for part in os.scandir(table):
            if part.name.endswith(".parquet") and not part.name.startswith(".") and is_torn(part.path):
                yield Path(part.path)


def is_torn(part: str) -> bool:
    """True for a file that does not end like Parquet."""
    file = os.open(part, os.O_RDONLY)
    try:
        size = os.fstat(file).st_size
        return size < LEAST or os.pread(file, len(END), size - len(END)) != END
    finally:
        os.close(file)


def cause(root: Path, shard: int | str | None = None) -> DamagedPart | None:
    """The error that names the damaged parts of a data folder, of one shard or of all; None if all can be read."""
    if not (damages := list(damaged(root / "work", shard))):
        return None
    first, *more_parts = damages
    more = f" So {'is' if len(more_parts) == 1 else 'are'} {', '.join(map(str, more_parts))}." if more_parts else ""
    pronoun = "them" if more_parts else "it"
    return DamagedPart(
        f"{first}: is damaged, and cannot be read.{more} Remove {pronoun} and run "
        f"`openclawbench run --data {root}`: what is gone is made again."
    )


def cause_in_what_was_read() -> DamagedPart | None:
    """cause() over the folders whose tables this process has read."""
    return next((damage for root in READ if (damage := cause(root)) is not None), None)
