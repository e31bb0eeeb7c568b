"""One process, one task after another."""

from collections.abc import Callable, Iterable, Iterator

from openclawbench.runtime.engines.protocol import LostTask, Result, Task, unheard


class Serial:
    """The engine for little work: it needs no time to start."""

    name = "serial"
    workers = 1

    def run(
        self, function: Callable[[Task], Result], tasks: Iterable[Task], begun: Callable[[Task], None] = unheard
    ) -> Iterator[tuple[Task, Result | LostTask]]:
        """Results in the order of the tasks."""
        for task in tasks:
            begun(task)
            yield task, function(task)
