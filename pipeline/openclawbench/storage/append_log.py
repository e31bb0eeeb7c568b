"""Append-only files of lines: lines are appended and synced before they count.

An incomplete last line after a kill or on a full disk was never confirmed; it is not read, and the next append cuts it
off.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from openclawbench.storage.parquet_io import sync_folder


def append(path: Path, lines: Iterable[bytes], sync: bool = True) -> None:
    """Append whole lines; none of them if the disk is full. Existing lines stay as they are. With `sync` they are on
    the disk when this returns; without, a power failure may take them, a killed process does not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        end = file.seek(0, os.SEEK_END)
        size = complete_size(file)
        if size < end:
            os.ftruncate(file.fileno(), size)
        missing_end = b"\n" if size and not ends_a_line(file, size) else b""
        try:
            file.write(b"".join([missing_end, *lines]))
            file.flush()
            if sync:
                os.fsync(file.fileno())
        except OSError:
            os.ftruncate(file.fileno(), size)
            raise
    if not end:
        sync_folder(path.parent)


def read_complete_lines(path: Path, offset: int = 0) -> bytes:
    """The whole lines of a file, from an offset in bytes."""
    with path.open("rb") as file:
        size = complete_size(file)
        file.seek(offset)
        return file.read(max(0, size - offset))


def complete_size(file: BinaryIO) -> int:
    """The size of a file in bytes, without an incomplete last line (no line feed, not valid JSON)."""
    size = file.seek(0, os.SEEK_END)
    if not size or ends_a_line(file, size):
        return size
    file.seek(0)
    content = file.read()
    last = content.rfind(b"\n") + 1
    try:
        json.loads(content[last:])
    except ValueError:
        return last
    return size


def ends_a_line(file: BinaryIO, size: int) -> bool:
    """True if the byte before `size` is a line feed."""
    file.seek(size - 1)
    return file.read(1) == b"\n"
