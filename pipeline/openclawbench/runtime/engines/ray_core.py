"""Many machines: Ray Core (extra `ray`) hands out shards; the functions are those of the other engines.

Without an address a cluster of this machine alone is started, and ended with the run. Its clients need a token
that is made for the run and is in no file.
"""

import contextlib
import os
import secrets
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

from openclawbench.base.resources import how_to_install
from openclawbench.errors import MissingExtra, UsageError
from openclawbench.runtime.engines.processes import THREADS
from openclawbench.runtime.engines.protocol import LostTask, Task, TaskResult, ignore_start

AHEAD = 1  # tasks sent beyond the number of workers, so that a worker always has a next task
CONNECT_TIMEOUT_S = 10.0  # for an address to answer
POLL_S = 0.5  # between two looks for Ctrl-C
RETRIES = 1  # of a task whose worker died
STORE_BYTES = 256 << 20  # of a local cluster's memory for objects: only tasks and their results go through it
GONE = "its worker was killed or died, twice (if it ran out of memory, use fewer --workers; its output is above)"
NO_REPORTING = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
LOCAL_ONLY = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token"}  # Ray then listens on 127.0.0.1 only


class RayCore:
    """The engine for several machines. `workers`: most tasks at a time; None: one for each processor of the cluster."""

    name = "ray"

    def __init__(self, workers: int | None, address: str | None = None, local_workers: int = 1) -> None:
        """`address` of a cluster that runs; without it `local_workers` processes of this machine."""
        self.address = address
        self.workers = workers or local_workers
        self.asked = workers

    def run(
        self,
        function: Callable[[Task], TaskResult],
        tasks: Iterable[Task],
        begun: Callable[[Task], None] = ignore_start,
    ) -> Iterator[tuple[Task, TaskResult | LostTask]]:
        """Results as they come. A task whose worker dies is done again, elsewhere if need be; then it is LostTask."""
        waiting = deque(tasks)
        if not waiting:
            return
        ray = import_ray(local_only=self.address is None)
        with interrupts_deferred() as raise_deferred, connected(ray, self.address, min(self.workers, len(waiting))):
            at_once = self.asked or self.workers
            if self.asked is None and self.address is not None:
                at_once = max(1, int(ray.cluster_resources().get("CPU", 1)))
            one_thread = {"env_vars": {THREADS: os.environ.get(THREADS, "1")}}  # a worker is counted as one processor
            options = {"num_cpus": 1, "max_retries": RETRIES, "retry_exceptions": False, "runtime_env": one_thread}
            remote = ray.remote(**options)(carry_out)
            shared = ray.put(function)
            under_way: dict[Any, Task] = {}
            while waiting or under_way:
                while waiting and len(under_way) < at_once + AHEAD:
                    task = waiting.popleft()
                    under_way[remote.remote(shared, task)] = task
                    begun(task)
                finished, _ = ray.wait([*under_way], num_returns=1, timeout=POLL_S)
                raise_deferred()
                for reference in finished:
                    yield under_way.pop(reference), result_of(ray, reference)


def carry_out(function: Callable[[Any], Any], task: Any) -> Any:
    """One task, in a worker."""
    return function(task)


def result_of(ray: Any, reference: Any) -> Any:
    """The result of a task. An error of the function is raised unchanged."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.OutOfMemoryError):
        return LostTask(GONE)


@contextlib.contextmanager
def connected(ray: Any, address: str | None, workers: int) -> Iterator[None]:
    """A cluster: that of the address, or a local one that ends here. UsageError if nobody answers there."""
    quiet = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
    own = {"num_cpus": workers, "include_dashboard": False, "object_store_memory": STORE_BYTES}
    try:
        if address is not None:
            check_address(address)
        job = ray.job_config.JobConfig()
        job._py_driver_sys_path = NoFolders()
        ray.init(address=address or "local", job_config=job, **quiet, **({} if address else own))
    except (OSError, ValueError, RuntimeError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(
            f"--engine ray: {address or 'this machine'}: {why}. Check --ray-address, or start a cluster."
        ) from error
    with contextlib.redirect_stdout(sys.stderr):  # where Ray says that a worker died; stdout is for results
        try:
            yield
        finally:
            ray.shutdown()


class NoFolders(list[str]):
    """What Ray puts before the import path of its workers, which stays empty: it would be the current
    folder, which may hold other people's files. Ray has no setting for that."""

    def extend(self, _folders: Iterable[str]) -> None:
        """Ignore the folders."""


def check_address(address: str) -> None:
    """OSError or ValueError if nobody answers at host:port: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_TIMEOUT_S):
        pass


@contextlib.contextmanager
def interrupts_deferred() -> Iterator[Callable[[], None]]:
    """Ctrl-C is noted, and handled when the given function is called: Ray's compiled code lets no exception of a signal
    handler through."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    noted: list[tuple[int, FrameType | None]] = []

    def note(number: int, frame: FrameType | None) -> None:
        noted.append((number, frame))
        print("stopping: Ray ends its workers, which may take some seconds", file=sys.stderr)

    former = signal.signal(signal.SIGINT, note)

    def raise_deferred() -> None:
        if noted and callable(former):
            former(*noted.pop())

    try:
        yield raise_deferred
    finally:
        signal.signal(signal.SIGINT, former)


def import_ray(local_only: bool) -> Any:
    """Ray, its environment variables set before it reads them. `local_only`: for a cluster of this machine.
    MissingExtra if it is not installed."""
    wanted = {**NO_REPORTING, **(LOCAL_ONLY | {"RAY_AUTH_TOKEN": secrets.token_hex(32)} if local_only else {})}
    os.environ.update({name: value for name, value in wanted.items() if name not in os.environ})
    try:
        import ray  # hundreds of megabytes: only on request
    except ImportError as error:
        raise MissingExtra(f"--engine ray: Ray is not installed. {how_to_install('ray')}.") from error
    return ray
