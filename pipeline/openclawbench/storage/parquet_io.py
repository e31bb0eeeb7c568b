"""Writing Parquet with a correct error on a full disk: polars reports any failure to write as an invalid file."""

import io
import os
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

SMALL_BYTES = 1 << 20  # of a table: put together in memory, and written at once, in half the time


def write_parquet(frame: pl.DataFrame, path: Path, file: BinaryIO | None = None, **options: Any) -> None:
    """Write a table, compressed with zstd, to `path`, or to `file`, which `path` names in messages. Raises OSError if
    it cannot be written."""
    held = io.BytesIO() if file is not None and frame.estimated_size() < SMALL_BYTES else None
    try:
        frame.write_parquet(held or file or path, compression="zstd", **options)
        if held is not None and file is not None:
            file.write(held.getbuffer())
            file.flush()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise OSError(f"{path}: cannot be written: {str(error).splitlines()[0]}") from error


def sync_folder(path: Path) -> None:
    """Make a rename in the folder durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
