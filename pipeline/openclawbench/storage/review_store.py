"""The lock of review/ of a data folder, its own, so that a verdict can be recorded during a run: no run reads or writes
the reviews by people there. Its files of records are append-only (append_log.py).
"""

import contextlib
from pathlib import Path

from openclawbench.errors import DataFolderLocked, UnreadableInput
from openclawbench.storage.file_lock import file_lock

LOCK = ".lock"
WAIT_S = 30.0  # for another process that records verdicts


def reviewing(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Hold the lock of review/: one process appends, the next one waits. Raises DataFolderLocked after WAIT_S."""
    held = DataFolderLocked(f"{folder}: another process is recording reviews. Wait for it to end.")
    return file_lock(folder / LOCK, folder, held, UnreadableInput, "Name another --data.", wait_s=WAIT_S)
