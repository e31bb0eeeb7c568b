"""A lease: one owner at a time, on any file system or store, without comparing clocks.

To take a lease, a process creates the next generation of its file, which only one of several processes can do. The
highest generation is the owner, which changes its heartbeat every few seconds. A process that finds the heartbeat
unchanged for longer than `stale_s`, by its own clock, takes over with the next generation. A lease that was given back
has an empty heartbeat.
"""

import json
import os
import platform
import signal
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from openclawbench.errors import LeaseHeld, LeaseLost


class LeaseStorage(Protocol):
    """Where leases are: a folder that the owners share, or a prefix of object storage."""

    def names(self, folder: str) -> set[str]:
        """Names of the files right below a folder."""
        ...

    def create(self, name: str, content: bytes) -> bool:
        """Write a file that is not there yet; false where it is. Of several who try, one succeeds."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole, over what is there."""
        ...

    def read(self, name: str) -> bytes:
        """A file's bytes. Raises FileNotFoundError if it does not exist."""
        ...


class Lease:
    """The lease of a name. The context manager holds it and gives it back at the end; if it is lost meanwhile, the
    process is interrupted as by Ctrl-C."""

    def __init__(
        self,
        place: LeaseStorage,
        name: str,
        beat_s: float,
        stale_s: float,
        patience: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.place, self.name, self.beat_s, self.stale_s = place, name, beat_s, stale_s
        self.patience, self.clock = patience, clock
        self.owner = f"{platform.node()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self.generation = self.beats = 0
        self.lost = False
        self.ended = threading.Event()

    def __enter__(self) -> Self:
        self.acquire()
        self.thread = threading.Thread(target=self.keep, name="lease", daemon=True)
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        self.thread.join()
        if self.lost:
            raise LeaseLost(
                f"{self.name}: another run has taken it over, or may have: this one stood still for too long. Every "
                "answer is kept; run again when the other one has ended."
            ) from error
        self.place.write(self.heartbeat(self.generation), b"")

    def acquire(self) -> None:
        """Become the owner, also in place of a dead one. Raises LeaseHeld if the owner is alive."""
        former = self.newest()
        if former:
            self.wait_until_dead(former)
        self.generation = former + 1
        self.send_heartbeat()
        if not self.place.create(self.file(self.generation), json.dumps({"owner": self.owner}).encode()):
            raise LeaseHeld(f"{self.name}: another run has just begun on it. Wait for it to end.")

    def wait_until_dead(self, generation: int) -> None:
        """Return when the owner of a generation has given it back, or was silent for `stale_s`. Raises LeaseHeld at the
        next heartbeat."""
        first, since = self.read_heartbeat(generation), self.clock()
        while first:
            self.patience(self.beat_s)
            now = self.read_heartbeat(generation)
            if now and now != first:
                raise LeaseHeld(f"{self.name}: {now.decode()} is at work on it. Wait for it to end, or end it.")
            if not now or self.clock() - since > self.stale_s:
                return

    def keep(self) -> None:
        """Send heartbeats until the end. The lease is lost if a newer generation exists or this process stood still."""
        last = self.clock()
        while not self.ended.wait(self.beat_s):
            if self.clock() - last > self.stale_s or self.newest() > self.generation:
                self.lost = True
                os.kill(os.getpid(), signal.SIGINT)
                return
            last = self.clock()
            self.send_heartbeat()

    def send_heartbeat(self) -> None:
        """Change the heartbeat."""
        self.beats += 1
        self.place.write(self.heartbeat(self.generation), f"{self.owner} (beat {self.beats})".encode())

    def read_heartbeat(self, generation: int) -> bytes:
        """The heartbeat of a generation; empty if it was given back."""
        try:
            return self.place.read(self.heartbeat(generation))
        except FileNotFoundError:
            return b""

    def newest(self) -> int:
        """The highest generation; 0 if the lease was never taken."""
        numbers = [name.rpartition(".")[2] for name in self.place.names("leases") if name.startswith(f"{self.name}.")]
        return max((int(number) for number in numbers if number.isdigit()), default=0)

    def file(self, generation: int) -> str:
        return f"leases/{self.name}.{generation}"

    def heartbeat(self, generation: int) -> str:
        return f"leases/{self.name}.{generation}.alive"


class LeaseFolder:
    """Leases below a folder of a file system."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self, folder: str) -> set[str]:
        """Names of the files right below a folder."""
        try:
            return {path.name for path in (self.root / folder).iterdir()}
        except FileNotFoundError:
            return set()

    def create(self, name: str, content: bytes) -> bool:
        """Write a file that is not there yet; false where it is."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("xb") as file:
                file.write(content)
        except FileExistsError:
            return False
        return True

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole, over what is there."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".tmp-{uuid.uuid4().hex[:12]}-{path.name}")
        temporary.write_bytes(content)
        temporary.replace(path)

    def read(self, name: str) -> bytes:
        """A file's bytes."""
        return (self.root / name).read_bytes()
