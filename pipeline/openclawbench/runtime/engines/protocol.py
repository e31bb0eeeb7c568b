"""What an engine is: one function mapped over many tasks, each result as soon as it is there, in any order.

Function and tasks are pickled by engines that run elsewhere: a module's function or a bound method, and plain data.
A task that cannot be carried out comes back as LostTask; the others go on. An exception of the function itself ends the
run. A generator that is closed early (Ctrl-C) leaves no process behind.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

Task = TypeVar("Task")
TaskResult = TypeVar("TaskResult")


@dataclass(frozen=True)
class LostTask:
    """Why a task has no result: its process or worker ended twice before the task was done, the second time with this
    task alone."""

    reason: str


def ignore_start(task: object) -> None:
    """Do nothing when a task is handed out."""


class Engine(Protocol):
    """Serial, a pool of processes, or many machines: all have this interface."""

    name: str
    workers: int

    def run(
        self,
        function: Callable[[Task], TaskResult],
        tasks: Iterable[Task],
        begun: Callable[[Task], None] = ignore_start,
    ) -> Iterator[tuple[Task, TaskResult | LostTask]]:
        """Every task with its result, in the order in which they are done. `begun` is called with each task that is
        handed out, and again if the task is handed out again."""
        ...
