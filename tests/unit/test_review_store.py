"""review/: recorded while a run works, appended and never written again, whole after a kill or a full disk."""

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from openclawbench.errors import DataFolderLocked
from openclawbench.storage import append_log, review_store
from openclawbench.storage.data_folder import DataFolder

NAME = "event_reviews.jsonl"


def test_a_verdict_is_recorded_while_a_run_works(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    with data.locked(), data.reviewing():
        data.append_review(NAME, [b'{"a": 1}\n'])
    assert append_log.read_complete_lines(data.review_file(NAME)) == b'{"a": 1}\n'


def test_what_stands_there_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = DataFolder(tmp_path)
    data.append_review(NAME, [b"%d\n" % number for number in range(10_000)])
    path = data.review_file(NAME)
    before, inode = path.read_bytes(), path.stat().st_ino
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_size))
    data.append_review(NAME, [b"{}\n"])
    assert path.read_bytes() == before + b"{}\n"
    assert path.stat().st_ino == inode
    assert synced == [len(before) + 3]


@pytest.mark.parametrize("torn", [b'{"b": ', b"{", b'{"b": "\xe2\x82'])
def test_a_line_that_was_not_written_to_its_end_never_counts(torn: bytes, tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(b'{"a": 1}\n' + torn)
    assert append_log.read_complete_lines(path) == b'{"a": 1}\n'
    append_log.append(path, [b'{"c": 3}\n'])
    assert path.read_bytes() == b'{"a": 1}\n{"c": 3}\n'


def test_a_last_line_that_only_lacks_its_end_is_kept(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(b'{"a": 1}\n{"b": 2}')  # an editor left it so
    assert append_log.read_complete_lines(path) == b'{"a": 1}\n{"b": 2}'
    append_log.append(path, [b'{"c": 3}\n'])
    assert path.read_bytes() == b'{"a": 1}\n{"b": 2}\n{"c": 3}\n'


def test_a_full_disk_leaves_nothing_of_what_was_to_be_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / NAME
    append_log.append(path, [b"1\n"])

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
        patch.setattr(os, "fsync", full)
        append_log.append(path, [b"2\n"])
    assert path.read_bytes() == b"1\n"


def adds(folder: Path, number: int) -> None:
    for turn in range(20):
        with review_store.reviewing(folder):
            append_log.append(folder / NAME, [b"[%d, %d]\n" % (number, turn), b"[]\n"])


def test_several_who_record_at_once_wait_for_each_other(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    people = [spawn.Process(target=adds, args=(tmp_path, number)) for number in range(3)]
    for person in people:
        person.start()
    for person in people:
        person.join(60)
    lines = (tmp_path / NAME).read_bytes().splitlines()
    assert sorted(lines[::2]) == sorted(b"[%d, %d]" % (number, turn) for number in range(3) for turn in range(20))
    assert set(lines[1::2]) == {b"[]"}


def test_one_who_does_not_end_is_not_waited_for_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review_store, "WAIT_S", 0.2)
    begun = time.monotonic()
    with (
        review_store.reviewing(tmp_path),
        pytest.raises(DataFolderLocked, match="recording reviews"),
        review_store.reviewing(tmp_path),
    ):
        pass
    assert time.monotonic() - begun < 10
