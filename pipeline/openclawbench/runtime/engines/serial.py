"""One process, one task after another."""

from collections.abc import Callable, Iterable, Iterator

from openclawbench.runtime.engines.protocol import LostTask, Task, TaskResult, ignore_start


class Serial:
    """The engine for little work: it needs no time to start."""

    name = "serial"
    workers = 1

    def run(
        self,
        function: Callable[[Task], TaskResult],
        tasks: Iterable[Task],
        begun: Callable[[Task], None] = ignore_start,
    ) -> Iterator[tuple[Task, TaskResult | LostTask]]:
        """Results in the order of the tasks."""
        for task in tasks:
            begun(task)
            yield task, function(task)
