"""A lock on a file (flock): the system releases it when the process that holds it ends, however that happens."""

import contextlib
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path

from openclawbench.errors import OpenClawBenchError

POLL_S = 0.05


@contextlib.contextmanager
def file_lock(
    path: Path,
    folder: Path,
    held: OpenClawBenchError,
    not_writable: type[OpenClawBenchError],
    advice: str,
    shared: bool = False,
    wait_s: float = 0.0,
) -> Iterator[None]:
    """Hold the lock of `path`; the file and its folder are created if needed.

    Raises `held` if another process still has the lock after `wait_s` seconds. Raises `not_writable`, with the name of
    `folder`, the cause and `advice`, if the file cannot be opened. Any number of processes may share a `shared` lock.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b")
    except OSError as error:
        raise not_writable(f"{folder}: cannot write here: {error.strerror}. {advice}") from error
    mode = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB
    deadline = time.monotonic() + wait_s
    with file:
        while True:
            try:
                fcntl.flock(file, mode)
                break
            except BlockingIOError as error:
                if time.monotonic() >= deadline:
                    raise held from error
            time.sleep(POLL_S)
        yield
