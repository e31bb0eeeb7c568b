"""The files of the oracle path, in links to folders too, and their bytes: .gz and .zst are read through as in raw/."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from openclawbench.errors import UnreadableInput
from openclawbench.intake.raw_bytes import reason_of
from openclawbench.intake.raw_folder import files_below, why_unreadable
from openclawbench.sources.io.compression import MAGIC_BYTES, decompressed, is_packed


def listed(folder: Path) -> Iterator[tuple[Path, str | None]]:
    """(path, why it is not opened, or null) of everything below a folder that is no folder, in the order of names.

    A pipe, a link to nothing and a link that leads back are not opened. UnreadableInput for a folder that may not be
    listed or entered: nobody knows what it holds.
    """
    for name, stamp in sorted(files_below(str(folder), every=True), key=lambda found: found[0].split("/")):
        path = folder / name
        yield path, None if stamp else why_not(path)


def why_not(path: Path) -> str:
    """Why a path is not opened. UnreadableInput where that is for want of permission."""
    try:
        if path.is_dir():
            next(path.iterdir(), None)
        path.stat()
    except PermissionError as error:
        raise unreadable(path, error) from error
    except OSError:
        pass  # a link to nothing: the sentence below
    return why_unreadable(path)


def content_of(path: Path) -> bytes:
    """A file's bytes, decompressed. UnreadableInput where they can't be had."""
    try:
        return decompressed(path.read_bytes())
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def opened(path: Path) -> BinaryIO:
    """A file to read from its beginning, decompressed. UnreadableInput where it can't be had."""
    try:
        with path.open("rb") as file:
            packed = is_packed(file.read(MAGIC_BYTES))
        return io.BytesIO(content_of(path)) if packed else path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError | ValueError) -> UnreadableInput:
    """The error for a path that can't be read, with what to do."""
    reason = reason_of(error)
    return UnreadableInput(f"{path}: {reason}" + ("" if reason.endswith(".") else ". Make it readable and run again."))
