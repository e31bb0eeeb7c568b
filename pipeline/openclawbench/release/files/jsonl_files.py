"""JSONL files of a release: the lines of a table, in one file or divided into several, plain or compressed. The same
lines give the same bytes, and reading by the table's name takes any of these forms."""

import gzip
import io
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

T = TypeVar("T")
CODECS = {".gz": "gzip", ".zst": "zstd"}  # ending -> codec
PLAIN = "plain"
LEVEL = 6  # of gzip
LISTING = "jsonl_files.json"  # of a model whose tables are divided: the files of each
NUMBERED = re.compile(r"(.+)-[0-9]{5}-of-[0-9]{5}(\.jsonl)")  # the name of one of several files


def released(path: Path) -> list[Path]:
    """The files with the lines of a table, which `path` names, in order, plain or compressed: one, or several if the
    table is divided; empty if no form of it exists."""
    if single := forms(path):
        return single[:1]
    numbered = {name for file in path.parent.glob(f"{path.stem}-*-of-*") if (name := plain_name(file.name))}
    own = (path.with_name(name) for name in sorted(numbered) if table_of(name) == path.name)
    return [forms(file)[0] for file in own]


def forms(path: Path) -> list[Path]:
    """The file of this name, and its compressed forms, as far as they exist."""
    names = (path, *(path.with_name(path.name + ending) for ending in CODECS))
    return [name for name in names if name.is_file()]


def plain_name(file: str) -> str:
    """The name without the ending of a compression."""
    return next((file.removesuffix(ending) for ending in CODECS if file.endswith(ending)), file)


def table_of(file: str) -> str:
    """The name of the table whose lines a JSONL file has: its own name, without its number if it has one."""
    return NUMBERED.sub(r"\1\2", file) if NUMBERED.fullmatch(file) else file


def open_lines(path: Path) -> BinaryIO:
    """Open a table for reading its lines. Raises FileNotFoundError if no form of it exists, and OSError, also while
    reading, if the compressed data are damaged."""
    files = released(path)
    if not files:
        raise FileNotFoundError(f"{path} is not there")
    return open_file(files[0]) if len(files) == 1 else cast("BinaryIO", io.BufferedReader(Joined(files), 1 << 20))


def open_file(path: Path) -> BinaryIO:
    """Open one file, decompressed as its ending says."""
    if path.suffix not in CODECS:
        return path.open("rb")
    import pyarrow as pa

    stream = pa.CompressedInputStream(pa.OSFile(str(path)), CODECS[path.suffix])
    return cast("BinaryIO", io.BufferedReader(stream, 1 << 20))


class Joined(io.RawIOBase):
    """Files read one after the other, as if they were one."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.paths = iter(paths)
        self.stream: io.BufferedReader | None = None

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read from the current file; at its end from the next one."""
        while True:
            if self.stream is None:
                path = next(self.paths, None)
                if path is None:
                    return 0
                self.stream = cast("io.BufferedReader", open_file(path))
            if count := self.stream.readinto(buffer):
                return count
            self.close_stream()

    def close_stream(self) -> None:
        """Close the current file."""
        if self.stream is not None:
            self.stream.close()
            self.stream = None

    def close(self) -> None:
        """Close the current file, and this one."""
        self.close_stream()
        super().close()


def place_of(path: Path, number: int) -> tuple[Path, int]:
    """The file that has line `number` of a table, and which of its lines that is; or the first file that cannot be read
    so far."""
    files = released(path)
    for file in files if len(files) > 1 else ():
        rows = 0
        try:
            with open_file(file) as lines:
                for rows, _ in enumerate(lines, start=1):
                    if rows == number:
                        return file, number
        except OSError:
            return file, number
        number -= rows
    return path, number


def compress_all(paths: Iterable[Path], codec: str) -> None:
    """Replace JSONL files by their compressed form, unless `codec` is plain.

    The compressed files hold no time and no name, so that the same lines give the same bytes with the same versions of
    the compression libraries.
    """
    if codec == PLAIN:
        return
    for path in paths:
        to = path.with_name(f"{path.name}.{codec}")
        with path.open("rb") as lines, compressing(to) as compressed:
            shutil.copyfileobj(lines, compressed, 1 << 20)
        path.unlink()


@contextmanager
def compressing(to: Path) -> Iterator[Any]:
    """A new file that is compressed as its ending says."""
    import pyarrow as pa

    with to.open("wb") as file:
        if to.suffix == ".gz":
            with gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as compressed:
                yield compressed
        else:
            with pa.CompressedOutputStream(pa.PythonFile(file, "w"), CODECS[to.suffix]) as compressed:
                yield compressed


def form(root: Path) -> str:
    """The ending of the JSONL files of a release: blank, .gz or .zst."""
    files = released(root / "silver_train_labels.jsonl")
    return files[0].suffix if files and files[0].suffix in CODECS else ""


def in_batches(
    lines: Iterable[T], size: Callable[[T], int], most_bytes: int, most_lines: int | None = None
) -> Iterator[list[T]]:
    """Lines, or what holds one, in lists that are worked on together: of at most so many bytes, or one longer line, and
    of at most so many lines. `size`: the bytes of one."""
    batch, batch_bytes = list[T](), 0
    for line in lines:
        if batch and (len(batch) == most_lines or batch_bytes + size(line) > most_bytes):
            yield batch
            batch, batch_bytes = [], 0
        batch.append(line)
        batch_bytes += size(line)
    if batch:
        yield batch
