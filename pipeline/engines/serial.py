"""One process, one task after another."""

from collections.abc import Callable, Iterable, Iterator

from pipeline.engines.protocol import Lost, Result, Task


class Serial:
    """The engine for little work: it needs no time to start."""

    name = "serial"
    workers = 1

    def run(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[tuple[Task, Result | Lost]]:
        """Results in the order of the tasks."""
        for task in tasks:
            yield task, function(task)
