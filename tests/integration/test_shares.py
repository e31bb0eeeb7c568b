"""`--shard i/n`: runs over shares, in one folder or in several, come to the bytes of one run over everything."""

import re
import shutil
import signal
import time
from pathlib import Path

import pytest
from child import EXAMPLE, Ended, Started, call, call_all, few_shards, files, spoil, start, temporary
from conftest import Ran
from thorough import first

pytestmark = pytest.mark.slow
AFTER_ALL_SHARDS = {"coverage", "draw", "near", "split", "certify", "summarize"}
PATIENCE = 60.0  # seconds
SHARDS = 7


def arguments(data: Path, raw: Path, *more: str, verb: str = "run") -> list[str | Path]:
    return [verb, "--data", data, "--raw", raw, "--oracle", EXAMPLE / "oracle", "--engine", "serial", *more]


def parts(data: Path) -> dict[str, bytes]:
    """Every part of every table."""
    return {name: content for name, content in files(data / "work").items() if name.endswith(".parquet")}


@pytest.fixture(scope="module")
def undivided(small: Ran, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of one run over everything."""
    data = few_shards(tmp_path_factory.mktemp("whole") / "data", SHARDS)
    assert call(*arguments(data, small.raw)).status == 0
    return data


def same(data: Path, undivided: Path) -> None:
    assert parts(data) == parts(undivided)
    assert files(data / "release") == files(undivided / "release")
    assert temporary(data) == []


def test_shares_in_one_folder_and_a_run_at_the_end(undivided: Path, small: Ran, tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data", SHARDS)
    calls = {f"{index}/3": arguments(data, small.raw, "--shard", f"{index}/3", "--json") for index in range(3)}
    done = call_all(calls)
    assert {name: (ended.status, ended.json["share"]) for name, ended in done.items()} == {
        name: (0, name) for name in calls
    }
    assert sum(ended.json["shards"] for ended in done.values()) == len(parts_of(undivided, "step"))
    assert parts_of(data, "step") == parts_of(undivided, "step")
    assert not (data / "release").exists() and not parts_of(data, "summary_count")
    last = call(*arguments(data, small.raw, "--json"))
    assert last.status == 0, last.err
    redone = {stage["stage"] for stage in last.json["stages"] if stage["redone"]}
    assert redone == AFTER_ALL_SHARDS
    same(data, undivided)


def parts_of(data: Path, table: str) -> set[str]:
    """Names of a table's parts."""
    return {path.name for path in (data / "work" / table).glob("*.parquet")}


@pytest.mark.thorough
def test_shares_in_folders_of_their_own_are_copied_together(undivided: Path, small: Ran, tmp_path: Path) -> None:
    owns = {f"{index}/2": few_shards(tmp_path / f"own-{index}", SHARDS) for index in range(2)}
    calls = {name: arguments(data, small.raw, "--shard", name) for name, data in owns.items()}
    assert {ended.status for ended in call_all(calls).values()} == {0}
    data = tmp_path / "data"
    for own in owns.values():
        shutil.copytree(own / "work", data / "work", dirs_exist_ok=True)
    last = call(*arguments(data, small.raw, "--json"))
    assert {stage["stage"] for stage in last.json["stages"] if stage["redone"]} == AFTER_ALL_SHARDS
    same(data, undivided)


@pytest.mark.thorough
def test_two_workers_with_the_same_share_damage_nothing(undivided: Path, small: Ran, tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data", SHARDS)
    share = arguments(data, small.raw, "--shard", "0/2")
    assert {ended.status for ended in call_all({"one": share, "other": share}).values()} == {0}
    assert temporary(data) == []
    assert call(*arguments(data, small.raw, "--shard", "1/2")).status == 0
    assert call(*arguments(data, small.raw)).status == 0
    same(data, undivided)


def test_a_stage_that_needs_all_shards_says_that_it_waits(small: Ran, tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data", SHARDS)
    first = call(*arguments(data, small.raw, "--shard", "0/2", verb="fuse"))
    assert first.status == 0, first.err
    text = " ".join(first.text.split())
    assert "coverage waits until all shards are there; 3 are missing" in text
    assert f"openclawbench run --data {data}" in text
    printed = call("status", "--data", data, "--json").json
    rows = {row["stage"]: (row["done"], row["rows"]) for row in printed["stages"]}
    assert rows["normalize"][0] == SHARDS - 3 and re.match(r"Trajectory [1-9]", rows["normalize"][1])
    assert (rows["slice"], printed["release"]) == ((0, None), "none")
    second = call(*arguments(data, small.raw, "--shard", "1/2", verb="fuse"))
    assert "coverage waits for the last run: all shards are there" in " ".join(second.text.split())
    third = call(*arguments(data, small.raw, "--shard", "1/2", verb="fuse"))
    assert "nothing was redone" in third.text


@pytest.mark.thorough
def test_every_stage_that_waits_counts_the_same_missing_shards(small: Ran, tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data", SHARDS)
    first = call(*arguments(data, small.raw, "--shard", "0/2", "--json"))
    assert first.json["waiting"] == dict.fromkeys(AFTER_ALL_SHARDS, 3)
    second = call(*arguments(data, small.raw, "--shard", "1/2"))
    assert "the release wait for the last run: all shards are there" in " ".join(second.text.split())


@pytest.mark.parametrize("written", ["2/2", "1", "-1/2", "a/b", "0/0"])
def test_a_share_that_is_none_is_refused(written: str, small: Ran, tmp_path: Path) -> None:
    ended = call(*arguments(tmp_path / "data", small.raw, "--shard", written))
    assert (ended.status, "write i/n" in ended.err) == (2, True)


def under_way(child: Started, data: Path) -> None:
    """Wait until a run has begun to write parts."""
    limit = time.monotonic() + PATIENCE
    while not list((data / "work").glob("trajectory/*.parquet")):
        assert not child.has_ended() and time.monotonic() < limit
        time.sleep(0.003)


def test_status_says_what_is_running_and_a_dead_run_is_not(undivided: Path, small: Ran, tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data", SHARDS)
    child = start(*arguments(data, small.raw, "--shard", "0/2"))
    under_way(child, data)
    child.send(signal.SIGSTOP)
    printed = call("status", "--data", data, "--json").json
    busy = call(*arguments(data, small.raw))
    child.send(signal.SIGKILL)
    child.send(signal.SIGCONT)
    child.wait()
    (run,) = printed["runs"]
    assert run["share"] == "0/2" and run["pid"] == child.pid and len(run["shards"]) == 1
    packet = next(row for row in printed["stages"] if row["stage"] == "packet")
    assert (packet["running"], packet["done"] + packet["running"] + packet["stale"]) == (1, packet["shards"])
    assert (busy.status, "another run is writing here" in busy.err) == (2, True)
    after = call("status", "--data", data, "--json").json
    assert after["runs"] == [] and not any(row["running"] for row in after["stages"])
    assert call(*arguments(data, small.raw)).status == 0
    same(data, undivided)


@pytest.mark.parametrize("engine", first(1, ["serial", "processes"]))
def test_a_failing_shard_is_listed_and_the_others_go_on(
    engine: str, undivided: Path, small: Ran, tmp_path: Path
) -> None:
    data = few_shards(tmp_path / "data", SHARDS)
    how = ["--engine", engine, "--workers", "2"]
    assert call(*arguments(data, small.raw, *how, verb="normalize")).status == 0
    spoilt = sorted((data / "work" / "step").glob("*.parquet"))[1]
    spoil(spoilt)
    shard = int(spoilt.name[:4])
    ended: Ended = call(*arguments(data, small.raw, *how))
    assert ended.status == 1 and "Traceback" not in ended.err
    assert f"stage describe: 1 of {SHARDS} shards failed; shard {shard}: " in ended.err
    assert len(parts_of(data, "release_line")) == len(parts_of(undivided, "release_line")) - 1
    printed = call("status", "--data", data, "--json").json
    assert [(entry["stage"], entry["shard"]) for entry in printed["failed"]] == [("describe", shard)]
    rows = {row["stage"]: row for row in printed["stages"]}
    assert (rows["describe"]["failed"], rows["describe"]["stale"]) == (1, 0)
    assert (rows["packet"]["failed"], rows["packet"]["stale"], rows["coverage"]["stale"]) == (0, 1, 1)
    assert "Failed shards" in call("status", "--data", data).text
    spoilt.unlink()
    assert call(*arguments(data, small.raw, *how)).status == 0
    assert call("status", "--data", data, "--json").json["failed"] == []
    same(data, undivided)


@pytest.mark.thorough
def test_ctrl_c_stops_one_process_too(undivided: Path, small: Ran, tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data", SHARDS)
    child = start(*arguments(data, small.raw))
    under_way(child, data)
    child.send(signal.SIGINT)
    ended = child.wait()
    assert (ended.status, "Traceback" in ended.err) == (3, False), ended.err
    assert call(*arguments(data, small.raw)).status == 0
    same(data, undivided)
