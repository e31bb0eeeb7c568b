"""Many machines: Ray Core (extra `ray`) hands out shards; the functions are those of the other engines.

Without an address a cluster of this machine alone is started, and ended with the run. Who speaks with it needs a token
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
from openclawbench.runtime.engines.protocol import LostTask, Result, Task, unheard

AHEAD = 1  # tasks sent beyond the number of workers, so that none waits for the next one
KNOCK_S = 10.0  # how long an address may take to answer
LOOK_S = 0.5  # how often Ctrl-C is looked for
RETRIES = 1  # of a task whose worker died
STORE_BYTES = 256 << 20  # of a local cluster's memory for objects: only tasks and what became of them go through it
GONE = "its worker was killed or died, twice (if for want of memory, use fewer --workers; what it said stands above)"
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}  # nothing is reported to anybody
ALONE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token"}  # Ray's way of saying: on 127.0.0.1


class RayCore:
    """The engine for many machines. `workers` tasks at a time at most; null: one for each processor of the cluster."""

    name = "ray"

    def __init__(self, workers: int | None, address: str | None = None, local_workers: int = 1) -> None:
        """`address` of a cluster that runs; without it `local_workers` processes of this machine."""
        self.address = address
        self.workers = workers or local_workers
        self.asked = workers

    def run(
        self, function: Callable[[Task], Result], tasks: Iterable[Task], begun: Callable[[Task], None] = unheard
    ) -> Iterator[tuple[Task, Result | LostTask]]:
        """Results as they come. A task whose worker dies is done again, elsewhere if need be; then it is LostTask."""
        waiting = deque(tasks)
        if not waiting:
            return
        ray = imported(alone=self.address is None)
        with interrupts_noted() as raise_noted, connected(ray, self.address, min(self.workers, len(waiting))):
            at_once = self.asked or self.workers
            if self.asked is None and self.address is not None:
                at_once = max(1, int(ray.cluster_resources().get("CPU", 1)))
            alone = {"env_vars": {THREADS: os.environ.get(THREADS, "1")}}  # a worker is counted as one processor
            options = {"num_cpus": 1, "max_retries": RETRIES, "retry_exceptions": False, "runtime_env": alone}
            remote = ray.remote(**options)(carry_out)
            shared = ray.put(function)
            flying: dict[Any, Task] = {}
            while waiting or flying:
                while waiting and len(flying) < at_once + AHEAD:
                    task = waiting.popleft()
                    flying[remote.remote(shared, task)] = task
                    begun(task)
                finished, _ = ray.wait([*flying], num_returns=1, timeout=LOOK_S)
                raise_noted()
                for reference in finished:
                    yield flying.pop(reference), result_of(ray, reference)


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
            knock(address)
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
    """What Ray puts before the import path of its workers, which stays empty: it would be the folder that a person
    works in, where somebody else's files may be. Ray has no setting for that."""

    def extend(self, _folders: Iterable[str]) -> None:
        """Leave them out."""


def knock(address: str) -> None:
    """OSError or ValueError if nobody answers at host:port: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK_S):
        pass


@contextlib.contextmanager
def interrupts_noted() -> Iterator[Callable[[], None]]:
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

    def raise_noted() -> None:
        if noted and callable(former):
            former(*noted.pop())

    try:
        yield raise_noted
    finally:
        signal.signal(signal.SIGINT, former)


def imported(alone: bool) -> Any:
    """Ray, its surroundings set before it reads them: `alone` for a cluster of this machine's. MissingExtra where it is
    not installed."""
    wanted = {**QUIET, **(ALONE | {"RAY_AUTH_TOKEN": secrets.token_hex(32)} if alone else {})}
    os.environ.update({name: value for name, value in wanted.items() if name not in os.environ})
    try:
        import ray  # hundreds of megabytes: only for who asks for it
    except ImportError as error:
        raise MissingExtra(f"--engine ray: Ray is not installed. {how_to_install('ray')}.") from error
    return ray
