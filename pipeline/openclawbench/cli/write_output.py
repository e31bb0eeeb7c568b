"""Write a result to a file or to stdout."""

import sys
from collections.abc import Iterable
from pathlib import Path

from openclawbench.base.terminal import safe
from openclawbench.errors import UsageError


def write_output(chunks: Iterable[bytes], path: Path | None) -> None:
    """Write to a file, whole or not at all, or to stdout. On a terminal control characters are escaped. Raises
    UsageError if the folder of the file does not exist."""
    from openclawbench.storage.data_folder import write_atomic

    if path is not None:
        if not path.absolute().parent.is_dir():
            raise UsageError(f"{path}: its folder does not exist. Make it, or name another file.")
        write_atomic(path, chunks)
    elif sys.stdout.isatty():
        for chunk in chunks:
            print(safe(chunk.decode("utf-8", "backslashreplace")), end="")
    else:
        for chunk in chunks:
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
