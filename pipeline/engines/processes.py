"""All processors of one machine: a pool of processes, each of which imports the program once.

Processes are spawned, never forked: the dataframe library has threads from the moment it is imported.
"""

import contextlib
import gc
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from pipeline.engines.protocol import Lost, Result, Task, unheard

AHEAD = 1  # tasks sent beyond the number of workers, so that none waits for the next one to be pickled
GONE = "its process was killed or died, twice (the machine may be short of memory: use fewer --workers)"
THREADS = "POLARS_MAX_THREADS"
_function: list[Callable[[Any], Any]] = []  # of this process, when it is a worker


class Processes:
    """The engine for one machine. `workers` processes at most, fewer where there are fewer tasks."""

    name = "processes"

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(
        self, function: Callable[[Task], Result], tasks: Iterable[Task], begun: Callable[[Task], None] = unheard
    ) -> Iterator[tuple[Task, Result | Lost]]:
        """Results as they come. Where a worker dies, nobody knows of which task: each that was under way is done
        again, alone; the one at which a worker dies again is Lost, the others are not."""
        waiting = deque(tasks)
        while waiting:
            suspects = deque((yield from pooled(function, waiting, self.workers, AHEAD, begun)))
            while suspects:
                for task in (yield from pooled(function, suspects, 1, 0, begun)):
                    yield task, Lost(GONE)


def pooled(
    function: Callable[[Task], Result], waiting: deque[Task], workers: int, ahead: int, begun: Callable[[Task], None]
) -> Generator[tuple[Task, Result], None, list[Task]]:
    """Take tasks off `waiting` and yield their results; when a worker dies, return the tasks that were under way."""
    flying: dict[Future[Any], Task] = {}
    try:
        workers = min(workers, len(waiting))
        with pool(function, workers) as executor:
            while waiting or flying:
                while waiting and len(flying) < workers + ahead:
                    with interrupts_held():
                        flying[executor.submit(carry_out, waiting[0])] = waiting[0]
                    begun(waiting.popleft())
                for future in wait(flying, return_when=FIRST_COMPLETED).done:
                    result = future.result()
                    yield flying.pop(future), result
    except BrokenProcessPool:
        return [*flying.values()]
    return []


@contextlib.contextmanager
def pool(function: Callable[[Any], Any], workers: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes that have the function; none of them is left when it is closed, however that comes."""
    before = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(workers, context, initializer=begin, initargs=(function,))
    ended = False
    try:
        with threads_of_polars(threads_each(workers)):
            yield executor
        ended = True
    finally:
        if not ended:  # Ctrl-C, an error, a dead worker: what is under way is half a part under a temporary name
            for worker in set(multiprocessing.active_children()) - before:
                worker.terminate()
        executor.shutdown(wait=True, cancel_futures=True)


def threads_each(workers: int) -> int:
    """How many threads of polars each of so many workers has: its share of the processors."""
    return max(1, processors() // workers)


@contextlib.contextmanager
def threads_of_polars(threads: int) -> Iterator[None]:
    """Processes that are started meanwhile have so many threads of polars. It asks once, when it is imported, which is
    before a new process can say anything itself; the threads of this process are there already."""
    former = os.environ.get(THREADS)
    os.environ[THREADS] = str(threads)
    try:
        yield
    finally:
        os.environ.pop(THREADS)
        if former is not None:
            os.environ[THREADS] = former


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Ctrl-C waits. A process that is started meanwhile never sees it (it inherits that), not even while it imports:
    a terminal tells every process, and it is the parent's to handle."""
    held = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def begin(function: Callable[[Any], Any]) -> None:
    """Make this process a worker. A parent that is gone takes its workers along."""
    _function.append(function)
    gc.freeze()  # what the imports made is never looked at again
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    """Wait for the parent's end, however it comes, then end this process at once."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def carry_out(task: Any) -> Any:
    """One task, in a worker."""
    return _function[0](task)


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
