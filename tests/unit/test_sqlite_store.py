"""The SQLite store: read while an agent has it open, copied once a process, and what it says kept beside an export."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from normalizing import SAMPLES, normalized_folder

from pipeline.sources import sqlite_store
from pipeline.sources.sqlite_store import BrokenStore, PrivateCopy, copy_of, member_content, read_store, removed

STORE = SAMPLES / "2026.9.6" / "openclaw-agent.sqlite"
EXPORT = SAMPLES / "2026.9.6" / "subagent-spawn.jsonl"
EVENT = json.dumps({"type": "session", "version": 4, "id": "live", "timestamp": "2026-01-01T00:00:00Z"})


@pytest.fixture(autouse=True)
def no_copy_of_another_test() -> None:
    copy_of.cache_clear()


def live(path: Path) -> sqlite3.Connection:
    """A store as a running agent has it: what is new stands in the log only."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(
        "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, event_zstd BLOB)"
    )
    connection.execute("INSERT INTO transcript_events VALUES ('live', 0, ?, NULL)", (EVENT,))
    return connection


def test_a_store_is_copied_once_for_all_its_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "raw" / "m").mkdir(parents=True)
    shutil.copy(STORE, tmp_path / "raw" / "m")
    copies: list[Path] = []
    copyfile = shutil.copyfile

    def counted(source: Path, target: Path) -> None:
        copies.append(source)
        copyfile(source, target)

    monkeypatch.setattr(shutil, "copyfile", counted)
    intake, found = normalized_folder(tmp_path / "raw", tmp_path / "data")
    assert len(intake.entries) > 1, "its sessions are in several shards"
    assert len(found.trajectories) > 30
    assert copies == [tmp_path / "raw" / "m" / STORE.name]


def test_a_live_store_is_read_without_a_lock_and_with_its_log(tmp_path: Path) -> None:
    path = tmp_path / "openclaw-agent.sqlite"
    with closing(live(path)) as agent:
        agent.execute("BEGIN EXCLUSIVE")
        before = sorted((one.name, one.stat().st_size, one.stat().st_mtime_ns) for one in tmp_path.iterdir())
        assert [session.session_id for session in read_store(path)] == ["live"]
        assert member_content(path, "live").decode() == EVENT + "\n"
        after = sorted((one.name, one.stat().st_size, one.stat().st_mtime_ns) for one in tmp_path.iterdir())
        assert after == before
        agent.execute("COMMIT")
        agent.execute("INSERT INTO transcript_events VALUES ('next', 0, ?, NULL)", (EVENT,))
        assert [session.session_id for session in read_store(path)] == ["live", "next"], "it changed: copied anew"


def test_a_copy_is_removed_by_the_process_that_made_it_and_by_no_other(tmp_path: Path) -> None:
    copy = PrivateCopy(STORE)
    folder = copy.file.parent
    removed(folder, os.getpid() + 1)
    assert copy.file.exists()
    del copy
    assert not folder.exists()


def test_a_store_that_never_rests_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(100))
    monkeypatch.setattr(sqlite_store, "stamps", lambda path: [(next(times), 0)])
    with pytest.raises(BrokenStore, match="run again when the agent is idle"):
        list(read_store(STORE))


@pytest.mark.parametrize("name", ["subagent-spawn.jsonl", "a-better-name.jsonl", "renamed.jsonl.bak-1"])
def test_what_a_store_says_of_a_run_is_kept_beside_an_export(tmp_path: Path, name: str) -> None:
    raw = tmp_path / "raw"
    for model in ("alone", "both"):
        (raw / model).mkdir(parents=True)
        shutil.copy(STORE, raw / model)
    shutil.copy(EXPORT, raw / "both" / name)
    _, found = normalized_folder(raw, tmp_path / "data")
    of = {(row["source_model"], row["session_id"]): row for row in found.trajectories}
    alone, both = of["alone", "subagent-spawn"], of["both", "subagent-spawn"]
    assert alone["context"]["session_key"]
    assert both["context"] == alone["context"]
    assert both["source_file"] == f"both/{name}" if name.endswith("jsonl") else both["source_member"]
