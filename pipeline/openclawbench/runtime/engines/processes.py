"""All processors of one machine: a pool of processes, each of which imports the program once.

Processes are spawned, never forked: the dataframe library has threads from the moment it is imported. They import
nothing from the folder that a person works in, which is where somebody else's files may be (PYTHONSAFEPATH).
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
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from openclawbench.errors import WorkersFailed
from openclawbench.runtime.engines.protocol import LostTask, Result, Task, unheard

AHEAD = 1  # tasks sent beyond the number of workers, so that none waits for the next one to be pickled
GONE = "its process was killed or died, twice (if for want of memory, use fewer --workers; what it said stands above)"
THREADS = "POLARS_MAX_THREADS"
SAFE_PATH = "PYTHONSAFEPATH"
_function: list[Callable[[Any], Any]] = []  # of this process, when it is a worker


class Processes:
    """The engine for one machine. `workers` processes at most, fewer where there are fewer tasks."""

    name = "processes"

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(
        self, function: Callable[[Task], Result], tasks: Iterable[Task], begun: Callable[[Task], None] = unheard
    ) -> Iterator[tuple[Task, Result | LostTask]]:
        """Results as they come. If a worker dies, its task is unknown: each task that was under way is done
        again, alone; the one at which a worker dies again is LostTask, the others are not."""
        waiting = deque(tasks)
        while waiting:
            suspects = deque((yield from pooled(function, waiting, self.workers, AHEAD, begun)))
            while suspects:
                for task in (yield from pooled(function, suspects, 1, 0, begun)):
                    yield task, LostTask(GONE)


def pooled(
    function: Callable[[Task], Result], waiting: deque[Task], workers: int, ahead: int, begun: Callable[[Task], None]
) -> Generator[tuple[Task, Result], None, list[Task]]:
    """Take tasks off `waiting` and yield their results; when a worker dies, return the tasks that were under way."""
    flying: dict[Future[Any], Task] = {}
    context = Recorded()
    try:
        workers = min(workers, len(waiting))
        with pool(function, workers, context) as executor:
            while waiting or flying:
                while waiting and len(flying) < workers + ahead:
                    with interrupts_held():
                        flying[submitted(executor, waiting[0])] = waiting[0]
                    begun(waiting.popleft())
                for future in wait(flying, return_when=FIRST_COMPLETED).done:
                    result = future.result()
                    yield flying.pop(future), result
    except BrokenProcessPool as error:
        if not context.begun.value:
            raise WorkersFailed(context.what_became_of_it()) from error
        return [*flying.values()]
    return []


def submitted(executor: ProcessPoolExecutor, task: Any) -> Future[Any]:
    """A task handed out. BrokenProcessPool where a worker has died."""
    try:
        return executor.submit(carry_out, task)
    except (
        OSError,
        ValueError,
    ):  # the pool closed over another one's death meanwhile: ask it again
        return executor.submit(carry_out, task)


class Recorded(SpawnContext):
    """How processes are spawned; knows afterwards what became of them, and whether any of them began to work."""

    def __init__(self) -> None:
        self.started: list[SpawnProcess] = []
        with surroundings({SAFE_PATH: "1"}):  # the first lock starts a process that cleans up
            self.begun = self.Value("i", 0)

    def Process(self, *arguments: Any, **named: Any) -> SpawnProcess:  # type: ignore[override]
        """A new process, recorded."""
        process = SpawnProcess(*arguments, **named)
        self.started.append(process)
        return process

    def what_became_of_it(self) -> str:
        """Why no worker could begin: the end of the first that has one."""
        ends = [process.exitcode for process in self.started if process.exitcode is not None]
        by_itself = [status for status in ends if status >= 0]
        if by_itself:
            why = f"its interpreter ended with status {by_itself[0]}, for the reason that stands above"
        else:
            why = f"it was killed by signal {-ends[0]}, as happens where memory is short" if ends else "it was gone"
        return (
            f"--engine processes: no worker could be started: {why}. Nothing is lost. Mend it, or use --engine serial."
        )


@contextlib.contextmanager
def pool(
    function: Callable[[Any], Any], workers: int, context: Recorded | None = None
) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes that have the function; none of them is left when it is closed, however that comes."""
    before = set(multiprocessing.active_children())
    context = context or Recorded()
    ended = False
    with surroundings({THREADS: str(threads_each(workers)), SAFE_PATH: "1"}):
        executor = ProcessPoolExecutor(workers, context, initializer=begin, initargs=(function, context.begun))
        try:
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


def threads_of_polars(threads: int) -> contextlib.AbstractContextManager[None]:
    """Processes that are started meanwhile have so many threads of polars. It asks once, when it is imported, which is
    before a new process can say anything itself; the threads of this process are there already."""
    return surroundings({THREADS: str(threads)})


@contextlib.contextmanager
def surroundings(variables: dict[str, str]) -> Iterator[None]:
    """Processes that are started meanwhile have these environment variables."""
    former = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in former.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Ctrl-C waits. A process that is started meanwhile never sees it (it inherits that), not even while it imports:
    a terminal tells every process, and it is the parent's to handle."""
    held = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def begin(function: Callable[[Any], Any], begun: Any = None) -> None:
    """Make this process a worker, and count it. A parent that is gone takes its workers along."""
    if begun is not None:
        with begun.get_lock():
            begun.value += 1
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
