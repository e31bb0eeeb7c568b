"""JSONL files of a release, plain or compressed: the same lines give the same bytes, and reading takes either name."""

import gzip
import io
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

CODECS = {".gz": "gzip", ".zst": "zstd"}  # ending -> codec
PLAIN = "plain"
LEVEL = 6  # of gzip


def released(path: Path) -> Path | None:
    """The file of this name, or its compressed form; null if neither exists."""
    names = (path, *(path.with_name(path.name + ending) for ending in CODECS))
    return next((name for name in names if name.is_file()), None)


def open_lines(path: Path) -> BinaryIO:
    """Open a JSONL file for reading lines. Raises FileNotFoundError if no form of it exists, and OSError, also while
    reading, if the compressed data are damaged."""
    existing = released(path)
    if existing is None:
        raise FileNotFoundError(f"{path} is not there")
    if existing == path:
        return existing.open("rb")
    import pyarrow as pa

    stream = pa.CompressedInputStream(pa.OSFile(str(existing)), CODECS[existing.suffix])
    return cast("BinaryIO", io.BufferedReader(stream, 1 << 20))


def compress_all(paths: Iterable[Path], codec: str) -> None:
    """Replace JSONL files by their compressed form, unless `codec` is plain.

    The compressed files hold no time and no name, so that the same lines give the same bytes with the same versions of
    the compression libraries.
    """
    if codec == PLAIN:
        return
    for path in paths:
        to = path.with_name(f"{path.name}.{codec}")
        with path.open("rb") as lines, compressing(to) as packed:
            shutil.copyfileobj(lines, packed, 1 << 20)
        path.unlink()


@contextmanager
def compressing(to: Path) -> Iterator[Any]:
    """A new file that is compressed as its ending says."""
    import pyarrow as pa

    with to.open("wb") as file:
        if to.suffix == ".gz":
            with gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as packed:
                yield packed
        else:
            with pa.CompressedOutputStream(pa.PythonFile(file, "w"), CODECS[to.suffix]) as packed:
                yield packed


def form(root: Path) -> str:
    """The ending of the JSONL files of a release: blank, .gz or .zst."""
    path = released(root / "silver_train_labels.jsonl")
    return path.suffix if path is not None and path.suffix in CODECS else ""
