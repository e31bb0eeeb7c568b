"""Background jobs, for work that takes longer than a request may. They can be watched and stopped."""

import secrets
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from openclawbench.base.terminal import one_line
from openclawbench.errors import OpenClawBenchError

FAULTS = (OpenClawBenchError, OSError, ValueError, LookupError, TypeError, ArithmeticError, pl.exceptions.PolarsError)
KEPT = 20  # jobs that ended
JobStep = tuple[int, int, Any]  # done, of how many, the result so far


@dataclass
class Job:
    """A piece of work: a generator whose last result counts."""

    name: str
    title: str
    owner: str
    asked: dict[str, str]  # what it was asked to do
    done: int = 0
    total: int = 0
    result: Any = None
    error: str | None = None
    ended: bool = False
    stopping: threading.Event = field(default_factory=threading.Event)

    def work(self, steps: Callable[[], Iterator[JobStep]]) -> None:
        """Carry it out."""
        try:
            for self.done, self.total, self.result in steps():
                if self.stopping.is_set():
                    self.error = "stopped"
                    break
        except FAULTS as error:
            self.error = one_line(str(error)) or type(error).__name__
        finally:
            self.ended = True


class Jobs:
    """The jobs of a workbench; one of a kind runs at a time."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}

    def start(self, title: str, owner: str, asked: dict[str, str], steps: Callable[[], Iterator[JobStep]]) -> Job:
        """Begin a job."""
        for name in [name for name, job in self.jobs.items() if job.ended][:-KEPT]:
            del self.jobs[name]
        job = Job(secrets.token_hex(6), title, owner, asked)
        self.jobs[job.name] = job
        threading.Thread(target=job.work, args=(steps,), name=f"job {title}", daemon=True).start()
        return job

    def get(self, name: str) -> Job | None:
        """A job; None if it is gone."""
        return self.jobs.get(name)
