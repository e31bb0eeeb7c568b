"""What a run is working on, for `openclawbench status`: a file in work/running/ that it holds a lock on while it lives.

The lock says whether the run is alive, so that a run that was killed never shows as running.
"""

import fcntl
import json
import os
import platform
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from openclawbench.base.shard_selection import ShardSelection
from openclawbench.runtime.shard_task import ShardTask
from openclawbench.storage.data_folder import DataFolder, read_json

READ_TRIES = 3  # of a file that may just be written


class ActiveRun:
    """The shards that are handed out and not done. Use it as a context manager, within the data folder's lock."""

    def __init__(self, data: DataFolder, share: ShardSelection | None) -> None:
        self.path = data.running / f"{uuid.uuid4().hex[:12]}.json"
        self.about = {"host": platform.node(), "pid": os.getpid(), "share": None if share is None else str(share)}
        self.shards: dict[int | str, list[str]] = {}  # shard -> the stages that it goes through

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.file = self.path.open("wb", buffering=0)
        fcntl.flock(self.file, fcntl.LOCK_EX)
        self.write()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.path.unlink(missing_ok=True)
        self.file.close()

    def begun(self, chain: ShardTask) -> None:
        """A shard is handed out."""
        self.shards[chain.shard] = [link.stage.name for link in chain.links]
        self.write()

    def ended(self, chain: ShardTask) -> None:
        """A shard is done, or has failed."""
        self.shards.pop(chain.shard, None)
        self.write()

    def write(self) -> None:
        """Write the content in place: a new file would have no lock."""
        content = json.dumps(self.about | {"shards": [[shard, names] for shard, names in self.shards.items()]}).encode()
        os.pwrite(self.file.fileno(), content, 0)
        os.ftruncate(self.file.fileno(), len(content))


def runs(data: DataFolder) -> list[dict[str, Any]]:
    """The runs that are alive: {host, pid, share, shards: [[shard, stages]]}."""
    entries = [read_run(path) for path in sorted(data.running.glob("*.json")) if is_alive(path)]
    return [entry for entry in entries if isinstance(entry, dict)]


def is_alive(path: Path) -> bool:
    """True while the run that made the file holds its lock."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def read_run(path: Path) -> Any:
    """The content of the file; None if it cannot be read."""
    return next((content for _ in range(READ_TRIES) if (content := read_json(path)) is not None), None)
