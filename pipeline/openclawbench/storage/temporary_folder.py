"""Temporary folders (the folder of a killed process is removed when the next one is made), and folders that are filled
whole or not at all."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

UNFINISHED = ".unfinished"  # folder of files that are not all written
LOCK = "lock"  # file that the process holds a lock on; the system releases it when the process ends


@contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """A folder in the system's folder for temporary files, removed in the end. `purpose`: a part of its name."""
    prefix = f"openclawbench-{purpose}-"
    remove_abandoned(Path(tempfile.gettempdir()), prefix)
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        folder = Path(name)
        with (folder / f"{LOCK}.new").open("xb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            (folder / f"{LOCK}.new").rename(folder / LOCK)  # held from the moment that others can see it
            yield folder


@contextmanager
def filled_whole(folder: Path) -> Iterator[Path]:
    """A folder to write files into, which are in `folder` all together at the end, or not at all if an exception ends
    the block. `folder` is new or empty."""
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    inner = folder / UNFINISHED
    try:
        inner.mkdir()
        yield inner
        for path in sorted(inner.iterdir()):
            path.rename(folder / path.name)
    finally:
        shutil.rmtree(inner, ignore_errors=True)
        if is_new:
            with suppress(OSError):  # it has files
                folder.rmdir()


def remove_abandoned(parent: Path, prefix: str) -> None:
    """Remove this user's folders whose process has ended."""
    for folder in parent.glob(f"{prefix}*"):
        with suppress(OSError), (folder / LOCK).open("rb") as file:  # OSError: another process holds it, or none did
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not folder.is_symlink() and folder.stat().st_uid == os.getuid():
                shutil.rmtree(folder)
