"""Leases: one owner at a time, a silent one is followed, and one that was followed notices."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from openclawbench.errors import LeaseHeld, LeaseLost
from openclawbench.storage.lease import Lease, LeaseFolder, LeaseStorage
from openclawbench.storage.object_store import ObjectStore

BEAT_S, STALE_S = 5.0, 60.0


@pytest.fixture(params=["folder", "store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> LeaseStorage:
    (tmp_path / "leases").mkdir()  # which fsspec does not make in a file system
    return LeaseFolder(tmp_path) if request.param == "folder" else ObjectStore(f"file://{tmp_path}")


def lease(place: LeaseStorage, while_waiting: Callable[[], None] = lambda: None) -> Lease:
    """A lease whose time passes only while it waits."""
    now = [0.0]

    def wait(seconds: float) -> None:
        now[0] += seconds
        while_waiting()

    return Lease(place, "share-0-of-2", BEAT_S, STALE_S, wait, lambda: now[0])


def test_a_lease_that_was_given_back_is_taken_at_once(place: LeaseStorage) -> None:
    with lease(place) as first:
        assert first.generation == 1
    second = lease(place, lambda: pytest.fail("there was nothing to wait for"))
    second.acquire()
    assert second.generation == 2


def test_an_owner_that_is_heard_of_keeps_it(place: LeaseStorage) -> None:
    owner = lease(place)
    owner.acquire()
    with pytest.raises(LeaseHeld, match=r"beat 2\) is at work on it"):
        lease(place, owner.send_heartbeat).acquire()


def test_a_silent_owner_is_followed_when_its_time_is_over_and_not_before(place: LeaseStorage) -> None:
    lease(place).acquire()  # and never heard of again, as after a kill
    waited: list[float] = []
    successor = lease(place, lambda: waited.append(BEAT_S))
    successor.acquire()
    assert successor.generation == 2
    assert STALE_S < sum(waited) <= STALE_S + 2 * BEAT_S


def test_of_two_who_would_follow_one_does(place: LeaseStorage) -> None:
    lease(place).acquire()
    other = lease(place)
    taken: list[bool] = []

    def overtaken() -> None:
        if not taken:
            taken.append(True)
            other.acquire()

    with pytest.raises(LeaseHeld, match="has just begun"):
        lease(place, overtaken).acquire()
    assert other.generation == 2


def test_an_owner_that_was_followed_is_interrupted_and_says_so(
    place: LeaseStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    owner = Lease(place, "share-0-of-2", 0.01, 30.0)
    with pytest.raises(LeaseLost, match="stood still for too long"), owner:
        place.create(owner.file(2), b"{}")
        while not owner.lost:
            time.sleep(0.01)
    assert sent == [(os.getpid(), signal.SIGINT)]
