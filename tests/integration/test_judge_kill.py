"""kill -9 at 25 random moments of asking, and a full disk: no answer is lost, none that was acknowledged is asked for
again, and what may have been paid for twice is listed."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import Endpoint, arguments, fresh, ledger, many_raw, rules
from child import call, files, small_raw, start

pytestmark = pytest.mark.slow

KILLS = 25
IN_FLIGHT = 8
MORE = 4  # engine.LEAST_WAITING: so many about to be sent, and listed though they were not
PATIENCE = 60.0  # seconds


def killed_at(endpoint: Endpoint, command: list[str | Path], env: dict[str, str], calls: int) -> bool:
    """Start a run and kill it when so many calls have come; false where it ended before."""
    child = start(*command, env=env)
    limit = time.monotonic() + PATIENCE
    while endpoint.count() < calls and not child.has_ended():
        assert time.monotonic() < limit
        time.sleep(0.002)
    if not child.has_ended():
        child.send(signal.SIGKILL)
    return child.wait().status == -signal.SIGKILL


def acknowledged(data: Path) -> set[str]:
    """Request ids of the answers in the ledger."""
    if not (data / "ledger" / "ledger.sqlite").exists():
        return set()
    return {entry for (entry,) in ledger(data, "select request_id from answers")}


def test_kills_lose_nothing_and_repeat_at_most_what_was_in_flight(endpoint: Endpoint, tmp_path: Path) -> None:
    raw, env = many_raw(tmp_path / "raw", 2), rules(tmp_path)
    undisturbed = fresh(tmp_path / "undisturbed")
    endpoint.script()
    ended = call(*arguments(endpoint, undisturbed, raw), env=env)
    assert ended.status == 0, ended.err
    everything = endpoint.log()["calls"]

    data = fresh(tmp_path / "killed")
    command = arguments(endpoint, data, raw, "--concurrency", str(IN_FLIGHT))
    endpoint.script(latency_s=0.08)
    moments = sorted(random.Random(5).sample(range(1, everything), KILLS))
    kills, repeated = 0, 0
    for moment in moments:
        kills += killed_at(endpoint, command, env, moment + repeated)
        former = endpoint.log()
        kept = acknowledged(data)
        repeated = sum(former["came"].values()) - len(former["came"])
        assert all(former["came"][digest] for digest in former["came"])
        assert {f"req-{digest[:20]}" for digest in former["came"]} >= kept
    assert kills >= KILLS - 2, "the runs ended before they could be killed"
    before = {f"req-{digest[:20]}": count for digest, count in former["came"].items()}
    ended = call(*command, env=env)
    assert ended.status == 0, ended.err
    assert files(data / "release") == files(undisturbed / "release")

    log = endpoint.log()
    after = {f"req-{digest[:20]}": count for digest, count in log["came"].items()}
    assert all(after[entry] == before[entry] for entry in kept), "an acknowledged answer was asked for again"
    assert set(after) == acknowledged(data), "an answer was lost"
    twice = {name for name, count in after.items() if count > 1}
    listed = {entry for (entry,) in ledger(data, "select request_id from lost join answers using(key)")}
    assert twice <= listed
    ((lost,),) = ledger(data, "select count(*) from lost where reason = 'killed'")
    assert sum(count - 1 for count in after.values()) <= kills * IN_FLIGHT
    assert sum(count - 1 for count in after.values()) <= lost <= kills * (IN_FLIGHT + MORE)


@pytest.fixture
def little_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with 24 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_stops_the_run_and_loses_no_answer(endpoint: Endpoint, little_disk: Path, tmp_path: Path) -> None:
    raw, env = small_raw(tmp_path / "raw"), rules(tmp_path)
    undisturbed = fresh(tmp_path / "undisturbed")
    endpoint.script()
    assert call(*arguments(endpoint, undisturbed, raw), env=env).status == 0

    data = fresh(tmp_path / "full")
    (little_disk / "ledger").mkdir()
    (data / "ledger").symlink_to(little_disk / "ledger", target_is_directory=True)
    endpoint.script(latency_s=0.5)
    command = arguments(endpoint, data, raw, "--concurrency", "3")
    child = start(*command, env=env)
    while endpoint.count() < 3:
        assert not child.has_ended(), child.wait().err
    with (little_disk / "other").open("wb") as file, pytest.raises(OSError):
        while True:
            os.write(file.fileno(), bytes(4096))
    ended = child.wait()
    assert ended.status == 2, ended.err
    assert "the disk is full" in ended.err
    came = endpoint.log()["came"]
    assert acknowledged(data) == {f"req-{digest[:20]}" for digest in came}, "an answer was lost"
    assert len(came) < 12
    (little_disk / "other").unlink()
    assert call(*command, env=env).status == 0
    assert set(endpoint.log()["came"].values()) == {1}
    assert files(data / "release") == files(undisturbed / "release")


def test_ctrl_c_waits_for_the_calls_in_flight(endpoint: Endpoint, tmp_path: Path) -> None:
    raw, env, data = small_raw(tmp_path / "raw"), rules(tmp_path), fresh(tmp_path)
    endpoint.script(latency_s=0.7)
    child = start(*arguments(endpoint, data, raw, "--concurrency", "2"), env=env)
    while endpoint.count() < 3:
        assert not child.has_ended(), child.wait().err
    child.send(signal.SIGINT)
    ended = child.wait()
    assert ended.status == 3 and "waited for" in ended.err
    assert acknowledged(data) == {f"req-{digest[:20]}" for digest in endpoint.log()["came"]}
