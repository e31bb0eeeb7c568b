"""Engines give the same results, lose one task at most to a worker that dies, and leave no process behind."""

import multiprocessing
import multiprocessing.resource_tracker
import multiprocessing.spawn
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import polars
import pytest

from openclawbench.errors import WorkersFailed
from openclawbench.runtime.engines.choice import PARALLEL_BYTES, engine_for
from openclawbench.runtime.engines.processes import THREADS, KeptWorkers, Processes, interrupts_blocked, processors
from openclawbench.runtime.engines.protocol import Engine, LostTask
from openclawbench.runtime.engines.serial import Serial

TASKS = list(range(7))


def square(number: int) -> int:
    return number * number


def refuses_three(number: int) -> int:
    if number == 3:
        raise ValueError("three")
    return number


def process_id(_: int) -> int:
    time.sleep(0.05)
    return os.getpid()


def dies_of_three(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def threads_of_polars(_: int) -> int:
    return polars.thread_pool_size()


class DiesOnce:
    """Kills its process when it comes to three for the first time."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def call(self, number: int) -> int:
        if number == 3 and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number


@pytest.mark.parametrize(
    "engine", [Serial(), Processes(1), Processes(3)], ids=lambda choice: f"{choice.name}-{choice.workers}"
)
def test_every_task_has_its_result(engine: Engine) -> None:
    assert dict(engine.run(square, TASKS)) == {number: number * number for number in TASKS}
    assert list(engine.run(square, [])) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_share_the_processors(workers: int) -> None:
    """Polars asks for its threads when it is imported, which is before a worker has anything to do."""
    before = os.environ.get(THREADS)
    results = {result for _, result in Processes(workers).run(threads_of_polars, TASKS)}
    assert results == {max(1, processors() // workers)}
    assert os.environ.get(THREADS) == before


def test_the_task_at_which_a_worker_dies_is_lost_and_no_other() -> None:
    ended = dict(Processes(2).run(dies_of_three, TASKS))
    assert isinstance(ended.pop(3), LostTask)
    assert ended == {number: number for number in TASKS if number != 3}


def test_workers_import_nothing_from_the_folder_that_a_person_works_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("struct", "polars", "msgspec"):  # of the interpreter's own start, and of the program's
        (tmp_path / f"{name}.py").write_text("open('imported', 'w').close()\nraise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    assert dict(Processes(2).run(threads_of_polars, [1])) == {1: processors()}
    assert not (tmp_path / "imported").exists()


def test_the_process_that_cleans_up_imports_nothing_from_there_either(tmp_path: Path) -> None:
    (tmp_path / "struct.py").write_text("open('imported', 'w').close()\n")
    code = "from openclawbench.runtime.engines.processes import Processes\n"
    code += "if __name__ == '__main__': print([*Processes(1).run(abs, [-1])])"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "program.py").write_text(code)
    asked = [sys.executable, "-P", tmp_path / "elsewhere" / "program.py"]
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    ended = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=True, env=plain)
    assert ended.stdout == "[(-1, 1)]\n", ended.stderr
    assert not (tmp_path / "imported").exists()


@pytest.fixture
def interpreter_that_cannot_start(tmp_path: Path) -> Iterator[None]:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nsleep 0.3\nexit 7\n")  # about as long as an interpreter takes to find out
    program.chmod(0o755)
    multiprocessing.resource_tracker.ensure_running()
    former = multiprocessing.spawn.get_executable()
    multiprocessing.spawn.set_executable(str(program))
    yield
    multiprocessing.spawn.set_executable(former)


@pytest.mark.usefixtures("interpreter_that_cannot_start")
def test_a_worker_that_cannot_begin_is_told_as_what_it_is() -> None:
    with pytest.raises(WorkersFailed, match=r"no worker could be started: its interpreter ended with status 7"):
        list(Processes(2).run(square, TASKS))
    assert multiprocessing.active_children() == []


def test_a_worker_that_was_killed_once_loses_nothing(tmp_path: Path) -> None:
    ended = dict(Processes(2).run(DiesOnce(tmp_path / "mark").call, TASKS))
    assert (tmp_path / "mark").exists()
    assert ended == {number: number for number in TASKS}


def test_an_error_of_the_function_ends_the_run_and_leaves_no_process() -> None:
    with pytest.raises(ValueError, match="three"):
        list(Processes(2).run(refuses_three, TASKS))
    assert multiprocessing.active_children() == []


def test_results_that_nobody_wants_any_more_leave_no_process() -> None:
    results = Processes(2).run(square, range(10_000))
    next(results)
    assert multiprocessing.active_children() != []
    results.close()  # what Ctrl-C comes to
    assert multiprocessing.active_children() == []


def process_ids(engine: Processes, tasks: int = 8) -> set[int]:
    return {int(result) for _, result in engine.run(process_id, range(tasks))}


def test_workers_that_are_kept_do_the_tasks_of_several_functions() -> None:
    with KeptWorkers() as kept:
        engine = Processes(2, kept)
        first = process_ids(engine)
        assert dict(engine.run(square, TASKS)) == {number: number * number for number in TASKS}
        assert process_ids(engine, tasks=1) | process_ids(engine) == first
        assert {child.pid for child in multiprocessing.active_children()} == first
        more = process_ids(Processes(3, kept))
        assert more.isdisjoint(first)
        assert {child.pid for child in multiprocessing.active_children()} >= more
        kept.end()
        assert multiprocessing.active_children() == []
        assert process_ids(engine).isdisjoint(first | more)
    assert multiprocessing.active_children() == []


def test_a_worker_that_dies_between_two_calls_loses_nothing() -> None:
    with KeptWorkers() as kept:
        engine = Processes(2, kept)
        ids = process_ids(engine)
        os.kill(min(ids), signal.SIGKILL)
        time.sleep(0.2)
        assert dict(engine.run(square, TASKS)) == {number: number * number for number in TASKS}
    assert multiprocessing.active_children() == []


def test_kept_workers_lose_the_task_at_which_one_dies_and_no_other() -> None:
    with KeptWorkers() as kept:
        engine = Processes(2, kept)
        for _ in range(2):
            ended = dict(engine.run(dies_of_three, TASKS))
            assert isinstance(ended.pop(3), LostTask)
            assert ended == {number: number for number in TASKS if number != 3}
        with pytest.raises(ValueError, match="three"):
            list(engine.run(refuses_three, TASKS))
        assert multiprocessing.active_children() == []
        results = engine.run(square, range(10_000))
        next(results)
        results.close()
        assert multiprocessing.active_children() == []
        assert dict(engine.run(square, TASKS)) == {number: number * number for number in TASKS}
    assert multiprocessing.active_children() == []


def test_kept_workers_end_with_an_error_whatever_they_do() -> None:
    with pytest.raises(KeyboardInterrupt), KeptWorkers() as kept:
        results = Processes(2, kept).run(time.sleep, [0, 600, 600])
        next(results)
        raise KeyboardInterrupt
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("name", "workers", "tasks", "raw_bytes", "chosen"),
    [
        ("auto", 4, 100, PARALLEL_BYTES, ("processes", 4)),
        ("auto", 4, 100, PARALLEL_BYTES - 1, ("serial", 1)),  # little work
        ("auto", 4, 1, PARALLEL_BYTES, ("serial", 1)),  # one shard
        ("auto", 1, 100, PARALLEL_BYTES, ("serial", 1)),  # one processor
        ("processes", 2, 1, 0, ("processes", 2)),
        ("serial", 4, 100, PARALLEL_BYTES, ("serial", 1)),
    ],
)
def test_the_engine_fits_the_work(name: str, workers: int, tasks: int, raw_bytes: int, chosen: tuple[str, int]) -> None:
    engine = engine_for(name, workers, tasks, raw_bytes)
    assert (engine.name, engine.workers) == chosen


def test_ctrl_c_that_another_thread_takes_waits_until_a_worker_is_recorded() -> None:
    """A signal to the process goes to any thread that does not block it; Python's handler runs in the main thread."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)  # a test process may ignore it
    ended = threading.Event()
    other = threading.Thread(target=ended.wait)
    other.start()
    reached_end = False
    try:
        with pytest.raises(KeyboardInterrupt), interrupts_blocked():
            signal.pthread_kill(other.ident or 0, signal.SIGINT)
            time.sleep(0.1)
            reached_end = True
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, former)
        ended.set()
        other.join()
    assert reached_end
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
