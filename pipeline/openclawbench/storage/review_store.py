"""review/ of a data folder: what people said. It has a lock of its own, so that a verdict can be recorded while a run
works: no run reads or writes it.

A file of records is only ever added to: lines are appended and synced before they count. What a kill or a full disk
left of a line at its end was never confirmed to anybody; it is cut off by the next one who adds, and not read.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from openclawbench.errors import DataFolderLocked, UnreadableInput
from openclawbench.storage.parquet_io import sync_folder

LOCK = ".lock"
PATIENCE_S = 30.0  # how long one who records verdicts waits for another one
LOOK_S = 0.05


@contextlib.contextmanager
def reviewing(folder: Path) -> Iterator[None]:
    """One at a time adds to review/; the next one waits. Raises DataFolderLocked where that takes too long."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK).open("a+")
    except OSError as error:
        raise UnreadableInput(f"{folder}: cannot write here: {error.strerror}. Name another --data.") from error
    with file:
        end = time.monotonic() + PATIENCE_S
        while not taken(file.fileno()):
            if time.monotonic() > end:
                raise DataFolderLocked(f"{folder}: another process is recording reviews. Wait for it to end.")
            time.sleep(LOOK_S)
        yield


def taken(handle: int) -> bool:
    """True where the lock is this process's now."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def append(path: Path, lines: Iterable[bytes]) -> None:
    """Add whole lines durably; none of them where the disk is full. What stands there already stays as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a+b") as file:
        size = whole(path)
        os.ftruncate(file.fileno(), size)
        missing_end = b"\n" if size and not ends_a_line(path, size) else b""
        try:
            file.write(b"".join([missing_end, *lines]))
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            os.ftruncate(file.fileno(), size)
            raise
    if is_new:
        sync_folder(path.parent)


def read(path: Path) -> bytes:
    """The whole lines of a file."""
    with path.open("rb") as file:
        return file.read(whole(path))


def whole(path: Path) -> int:
    """The size of a file without a line at its end that was not written to its end: no line feed, and no JSON."""
    size = path.stat().st_size
    if not size or ends_a_line(path, size):
        return size
    content = path.read_bytes()
    last = content.rfind(b"\n") + 1
    try:
        json.loads(content[last:])
    except ValueError:
        return last
    return size


def ends_a_line(path: Path, size: int) -> bool:
    """True where the last byte is a line feed."""
    with path.open("rb") as file:
        file.seek(size - 1)
        return file.read(1) == b"\n"
