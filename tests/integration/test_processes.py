"""Several processes: the same bytes as one, a shard that fails, a worker that is killed, Ctrl-C."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from child import EXAMPLE, Ended, Ran, Started, call, few_shards, files, start, temporary
from dying import STAGES, Dying
from fussy import fussy
from thorough import first

from openclawbench.construct.normalize.normalize import normalize
from openclawbench.errors import StageFailed
from openclawbench.flow import FLOW, stages_up_to
from openclawbench.fulltax.rules_judge import RulesJudge
from openclawbench.intake.intake import take_in
from openclawbench.runtime.engines.processes import Processes
from openclawbench.runtime.engines.protocol import Engine, ignore_start
from openclawbench.runtime.engines.serial import Serial
from openclawbench.runtime.run import Run, rounds
from openclawbench.storage.data_folder import DataFolder

pytestmark = pytest.mark.slow
PATIENCE = 60.0  # seconds


def arguments(data: Path, raw: Path, workers: int) -> list[str | Path]:
    inputs = ["run", "--data", data, "--raw", raw, "--oracle", EXAMPLE / "oracle"]
    return [*inputs, "--engine", "processes", "--workers", str(workers)]


@pytest.fixture(scope="module")
def serial(small: Ran, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of one process, with as many shards as the tests here have."""
    data = few_shards(tmp_path_factory.mktemp("serial") / "data", 7)
    assert call("run", "--data", data, "--raw", small.raw, "--oracle", EXAMPLE / "oracle").status == 0
    return data


def parts(data: Path) -> dict[str, bytes]:
    """Every part of every table."""
    return {name: content for name, content in files(data / "work").items() if name.endswith(".parquet")}


@pytest.mark.parametrize("workers", first(1, [2, 3]))
def test_any_number_of_processes_gives_the_same_bytes(workers: int, serial: Path, small: Ran, tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data", 7)
    ended = call(*arguments(data, small.raw, workers))
    assert ended.status == 0, ended.err
    assert parts(data) == parts(serial)
    assert files(data / "release") == files(serial / "release")


def under_way(data: Path, raw: Path) -> tuple[Started, list[int]]:
    """A run of two processes that has begun to write parts, and the ids of its workers."""
    child = start(*arguments(data, raw, 2))
    limit = time.monotonic() + PATIENCE
    while not list((data / "work").glob("step/*.parquet")):
        assert not child.has_ended() and time.monotonic() < limit
        time.sleep(0.003)
    return child, workers_of(child.pid)


def workers_of(pid: int) -> list[int]:
    """Processes that a run has started, without the one that cleans up after them."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    if not listed.exists():
        pytest.skip("no list of child processes on this system")
    named = {int(word): Path(f"/proc/{word}/cmdline").read_bytes() for word in listed.read_text().split()}
    return [name for name, command in named.items() if b"spawn_main" in command]


def all_gone(pids: list[int]) -> bool:
    """True as soon as none of the processes is left; false where that takes too long."""
    limit = time.monotonic() + PATIENCE
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        if time.monotonic() > limit:
            return False
        time.sleep(0.01)
    return True


def goes_on_to_the_same_bytes(data: Path, raw: Path, serial: Path) -> None:
    again = call(*arguments(data, raw, 2))
    assert again.status == 0, again.err
    assert parts(data) == parts(serial)
    assert files(data / "release") == files(serial / "release")
    assert temporary(data) == []


def test_ctrl_c_stops_every_process_and_a_rerun_goes_on(serial: Path, small: Ran, tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data", 7)
    child, workers = under_way(data, small.raw)
    for pid in (*workers, child.pid):  # as a terminal does: to everyone
        os.kill(pid, signal.SIGINT)
    ended = child.wait()
    assert (ended.status, "Traceback" in ended.err) == (3, False), ended.err
    assert workers and all_gone(workers)
    goes_on_to_the_same_bytes(data, small.raw, serial)


def test_the_end_of_the_parent_is_the_end_of_its_workers(serial: Path, small: Ran, tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data", 7)
    child, workers = under_way(data, small.raw)
    child.send(signal.SIGKILL)
    assert child.wait().status == -signal.SIGKILL
    assert workers and all_gone(workers)
    goes_on_to_the_same_bytes(data, small.raw, serial)


def test_a_killed_worker_changes_nothing(serial: Path, small: Ran, tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data", 7)
    child, workers = under_way(data, small.raw)
    os.kill(workers[0], signal.SIGKILL)
    ended: Ended = child.wait()
    assert ended.status == 0, ended.err
    assert parts(data) == parts(serial)
    assert files(data / "release") == files(serial / "release")
    assert temporary(data) == []


class Deadly(Processes):
    """One of two processes is killed at each stage that waits for every shard."""

    def __init__(self, folder: Path) -> None:
        super().__init__(2)
        self.folder = folder

    def run(self, function: Any, tasks: Any, begun: Any = ignore_start) -> Iterator[Any]:
        return super().run(Dying(function.__self__, self.folder).carry_out, tasks, begun)


@pytest.mark.thorough
def test_a_worker_killed_at_a_stage_over_all_shards_changes_nothing(serial: Path, small: Ran, tmp_path: Path) -> None:
    data, deaths = DataFolder(few_shards(tmp_path / "data", 7)), tmp_path / "deaths"
    deaths.mkdir()
    intake = take_in(data, small.raw, EXAMPLE / "oracle", save=True)
    run = Run(data, intake, RulesJudge(), lambda _: Deadly(deaths))
    assert {str(report.failed) for report in run.update(stages_up_to("release"), lambda *_: None)} == {"{}"}
    assert {path.name for path in deaths.iterdir()} == set(STAGES)
    assert parts(data.root) == parts(serial)
    assert temporary(data.root) == []


@pytest.mark.parametrize("engine", [Serial(), Processes(2)], ids=lambda stage: stage.name)
def test_a_shard_that_fails_is_named_and_the_others_are_done(engine: Engine, small: Ran, tmp_path: Path) -> None:
    data = DataFolder(few_shards(tmp_path / "data", 7))
    run = Run(data, take_in(data, small.raw, None, save=True), None, lambda _: engine)
    reports = {}
    with pytest.raises(StageFailed, match=r"stage fussy: 1 of \d shards failed; shard \d: ValueError: not this one"):
        reports.update((report.stage, report) for report in run.update([normalize, fussy], lambda *_: None))
    assert reports["normalize"].redone == reports["fussy"].stale == reports["fussy"].redone + 1
    assert len(list((data.work / "trace_summary_row").glob("*.parquet"))) == reports["fussy"].redone
    assert not data.manifest_file("fussy").exists()


class Outside(RulesJudge):
    """A judge outside the program, with something that no other process can have."""

    embedded = False

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


def test_a_judge_outside_the_program_stays_in_one_process(small: Ran, tmp_path: Path) -> None:
    data = DataFolder(few_shards(tmp_path / "data", 7))
    stages = FLOW[: [stage.name for stage in FLOW].index("ask_a") + 1]
    run = Run(data, take_in(data, small.raw, None, save=True), Outside(), lambda _: Processes(2))
    assert [report.failed for report in run.update(stages, lambda *_: None)] == [{}] * len(stages)


def test_shards_wait_for_each_other_only_where_the_whole_corpus_is_read() -> None:
    result = [[entry.name for entry in together] for together in rounds(FLOW, {})]
    assert sorted(name for together in result for name in together) == sorted(stage.name for stage in FLOW)
    assert result[0] == [stage.name for stage in FLOW if stage.scope == "shard" and stage.name != "split"]
    assert result[1:] == [["coverage", "draw", "summarize"], ["near"], ["split"], ["certify"]]
