"""All processors of one machine: a pool of processes, each of which imports the program once. `KeptWorkers`
lets them stay for the next tasks.

Processes are spawned, never forked: the dataframe library has threads from the moment it is imported. They import
nothing from the current folder, which may hold other people's files (PYTHONSAFEPATH).
"""

import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import count
from multiprocessing.context import SpawnContext, SpawnProcess
from types import FrameType
from typing import Any, NamedTuple

from openclawbench.errors import WorkersFailed
from openclawbench.runtime.engines.protocol import LostTask, Task, TaskResult, ignore_start

AHEAD = 1  # tasks sent beyond the number of workers, so that none waits for the next one to be pickled
GONE = "its process was killed or died, twice (if it ran out of memory, use fewer --workers; its output is above)"
THREADS = "POLARS_MAX_THREADS"
SAFE_PATH = "PYTHONSAFEPATH"
_numbers = count()  # of functions that this process hands out
_functions: dict[int, Callable[[Any], Any]] = {}  # number -> the last function of this process, when it is a worker


class Processes:
    """The engine for one machine. `workers` processes at most, fewer where there are fewer tasks. `kept`: where they
    stay when the tasks are done; null: they end."""

    name = "processes"

    def __init__(self, workers: int, kept: "KeptWorkers | None" = None) -> None:
        self.workers = workers
        self.kept = kept

    def run(
        self,
        function: Callable[[Task], TaskResult],
        tasks: Iterable[Task],
        begun: Callable[[Task], None] = ignore_start,
    ) -> Iterator[tuple[Task, TaskResult | LostTask]]:
        """Results as they come. If a worker dies, its task is unknown: each task that was under way is done
        again, alone; the one at which a worker dies again is LostTask, the others are not."""
        waiting = deque(tasks)
        with contextlib.nullcontext(self.kept) if self.kept else KeptWorkers() as kept:
            while waiting:
                suspects = deque((yield from run_in_pool(function, waiting, kept, self.workers, AHEAD, begun)))
                while suspects:
                    for task in (yield from run_in_pool(function, suspects, kept, 1, 0, begun)):
                        yield task, LostTask(GONE)


class KeptWorkers:
    """A pool of workers for one call of an engine after another: each imports the program once for all of them. None is
    left when it ends, also after an error."""

    def __init__(self) -> None:
        self.pool: Pool | None = None

    def __enter__(self) -> "KeptWorkers":
        return self

    def __exit__(self, error: object, *_: object) -> None:
        self.end(at_once=error is not None)

    def of(self, workers: int) -> "Pool":
        """A pool of at least so many workers."""
        if self.pool is not None and self.pool.workers < workers:
            self.end()
        self.pool = self.pool or Pool(workers)
        return self.pool

    def end(self, at_once: bool = False) -> None:
        """End the workers; the next tasks start others. `at_once`: whatever they are doing."""
        pool, self.pool = self.pool, None
        if pool is not None:
            pool.end(at_once)


def run_in_pool(
    function: Callable[[Task], TaskResult],
    waiting: deque[Task],
    kept: KeptWorkers,
    workers: int,
    ahead: int,
    begun: Callable[[Task], None],
) -> Generator[tuple[Task, TaskResult], None, list[Task]]:
    """Take tasks off `waiting` and yield their results; when a worker dies, return the tasks that were under way."""
    under_way: dict[Future[Any], Task] = {}
    workers = min(workers, len(waiting))
    number, pickled = next(_numbers), pickle.dumps(function)
    pool, ended = kept.of(workers), False
    try:
        while waiting or under_way:
            while waiting and len(under_way) < workers + ahead:
                with interrupts_blocked():
                    under_way[pool.submit(Job(number, pickled, waiting[0]))] = waiting[0]
                begun(waiting.popleft())
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                result = future.result()
                yield under_way.pop(future), result
        ended = True
    except BrokenProcessPool as error:
        kept.end(at_once=True)
        if not pool.context.begun.value:
            raise WorkersFailed(pool.context.end_reason()) from error
        return [*under_way.values()]
    finally:
        if not ended and kept.pool is pool:  # Ctrl-C, an error, a dead worker: unfinished parts have temporary names
            kept.end(at_once=True)
    return []


class Job(NamedTuple):
    """A task for a worker. `pickled`: the function, which a worker unpickles once for all tasks of its `number`."""

    number: int
    pickled: bytes
    task: Any


class RecordingContext(SpawnContext):
    """Spawns processes and records them: how each ended, and whether any of them began to work."""

    def __init__(self) -> None:
        self.started: list[SpawnProcess] = []
        with environment_variables({SAFE_PATH: "1"}):  # the first lock starts a process that cleans up
            self.begun = self.Value("i", 0)

    def Process(self, *arguments: Any, **named: Any) -> SpawnProcess:  # type: ignore[override]
        """A new process, recorded."""
        process = SpawnProcess(*arguments, **named)
        self.started.append(process)
        return process

    def end_reason(self) -> str:
        """Why no worker could begin: how the first of the processes that ended came to its end."""
        ends = [process.exitcode for process in self.started if process.exitcode is not None]
        by_itself = [status for status in ends if status >= 0]
        if by_itself:
            why = f"its interpreter ended with status {by_itself[0]}, for the reason given above"
        else:
            why = f"it was killed by signal {-ends[0]}, as happens when memory runs out" if ends else "it was gone"
        return (
            f"--engine processes: no worker could be started: {why}. Nothing is lost. Correct the cause, or use "
            "--engine serial."
        )


class Pool:
    """A pool of processes, which are started with the first task."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.context = RecordingContext()
        self.executor = ProcessPoolExecutor(
            workers, self.context, initializer=start_worker, initargs=(self.context.begun,)
        )

    def submit(self, job: Job) -> Future[Any]:
        """A task handed out. BrokenProcessPool where a worker has died."""
        with environment_variables({THREADS: str(threads_each(self.workers)), SAFE_PATH: "1"}):
            try:
                return self.executor.submit(carry_out, job)
            except (OSError, ValueError):  # the pool was closing because a worker died: try again
                return self.executor.submit(carry_out, job)

    def end(self, at_once: bool) -> None:
        """End every process. `at_once`: whatever it is doing."""
        if at_once:
            for worker in set(multiprocessing.active_children()) & set(self.context.started):
                worker.terminate()
        self.executor.shutdown(wait=True, cancel_futures=True)


def threads_each(workers: int) -> int:
    """Polars threads of each worker: its share of the processors."""
    return max(1, processors() // workers)


def threads_of_polars(threads: int) -> contextlib.AbstractContextManager[None]:
    """Processes started within it have this number of polars threads. Polars reads the variable once, on import, before
    a new process can set it; the threads of this process exist already."""
    return environment_variables({THREADS: str(threads)})


@contextlib.contextmanager
def environment_variables(variables: dict[str, str]) -> Iterator[None]:
    """Processes started within it have these environment variables."""
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
def interrupts_blocked() -> Iterator[None]:
    """Ctrl-C waits until the end of this block, so that no worker is started without being recorded. Processes started
    within it inherit that, also while they import: a terminal sends Ctrl-C to every process, and the parent handles it.

    Blocking the signal is not enough for this process: another of its threads takes it, and Python's handler then
    runs in the main thread all the same.
    """
    noted: list[tuple[int, FrameType | None]] = []
    in_main_thread = threading.current_thread() is threading.main_thread()
    former = signal.signal(signal.SIGINT, lambda *signals: noted.append(signals)) if in_main_thread else None
    held = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        if in_main_thread:
            signal.signal(signal.SIGINT, former)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
    if noted and callable(former):
        former(*noted[-1])


def start_worker(begun: Any = None) -> None:
    """Make this process a worker, and count it. A worker ends with its parent."""
    if begun is not None:
        with begun.get_lock():
            begun.value += 1
    gc.freeze()  # what the imports made is not collected again
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    """Wait for the parent's end, however it comes, then end this process at once."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def carry_out(job: Job) -> Any:
    """One task, in a worker."""
    if job.number not in _functions:
        _functions.clear()
        gc.collect()
        _functions[job.number] = pickle.loads(job.pickled)
        gc.freeze()  # as above: the function may have imported more
    return _functions[job.number](job.task)


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
