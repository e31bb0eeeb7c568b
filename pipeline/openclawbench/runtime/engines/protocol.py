"""What an engine is: one function mapped over many tasks, each result as soon as it is there, in any order.

Function and tasks are pickled by engines that run elsewhere: a module's function or a bound method, and plain data.
A task that cannot be carried out comes back as LostTask; the others go on. An exception of the function itself ends the
run. A generator that is closed early (Ctrl-C) leaves no process behind.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class LostTask:
    """Why a task has no result: whatever ran it was gone before it was done, twice, the second time alone."""

    reason: str


def unheard(task: object) -> None:
    """Ignores every event."""


class Engine(Protocol):
    """Serial, or a pool of processes; one that uses many machines has the same face."""

    name: str
    workers: int

    def run(
        self, function: Callable[[Task], Result], tasks: Iterable[Task], begun: Callable[[Task], None] = unheard
    ) -> Iterator[tuple[Task, Result | LostTask]]:
        """Every task with its result, in the order in which they are done. `begun` is told of each task that is handed
        out, once more where it is handed out again."""
        ...
