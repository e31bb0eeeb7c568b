"""Parquet on a disk that may be full: polars says of any failure to write that the file is none."""

from pathlib import Path
from typing import Any, BinaryIO

import polars as pl


def write_parquet(frame: pl.DataFrame, path: Path, file: BinaryIO | None = None, **options: Any) -> None:
    """Write a table, compressed with zstd, to `file` if it is given, which `path` names in a message. Raises OSError
    where it can't be written."""
    try:
        frame.write_parquet(path if file is None else file, compression="zstd", **options)
    except pl.exceptions.PolarsError as error:
        raise OSError(f"{path}: cannot be written: {str(error).splitlines()[0]}") from error
