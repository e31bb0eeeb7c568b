"""The SQLite store: read while an agent has it open, copied once a process, and what it says kept beside an export."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from normalizing import RULES, SAMPLES, Normalized, check_accounting, normalized_folder

from openclawbench.construct.normalize.normalize import normalize
from openclawbench.intake.intake import take_in
from openclawbench.records.session import RunManifestRow, SourceFile
from openclawbench.sources.openclaw import sqlite_store
from openclawbench.sources.openclaw.sqlite_store import (
    FILE_NAME,
    BrokenStore,
    PrivateCopy,
    StoredSession,
    copy_of,
    member_content,
    read_store,
    remove_folder,
)
from openclawbench.storage.data_folder import DataFolder

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


def sessions_in(path: Path) -> list[str]:
    """Ids of the sessions of a store."""
    return [entry.session_id for entry in read_store(path) if isinstance(entry, StoredSession)]


def test_a_store_is_copied_once_for_all_its_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "raw" / "m").mkdir(parents=True)
    shutil.copy(STORE, tmp_path / "raw" / "m")
    copies: list[Path] = []
    copyfile = shutil.copyfile

    def counted(source: Path, target: Path) -> None:
        copies.append(source)
        copyfile(source, target)

    monkeypatch.setattr(shutil, "copyfile", counted)
    intake, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    assert len(intake.entries) > 1, "its sessions are in several shards"
    assert len(result.trajectories) > 30
    assert copies == [tmp_path / "raw" / "m" / STORE.name]


def test_a_live_store_is_read_without_a_lock_and_with_its_log(tmp_path: Path) -> None:
    path = tmp_path / "openclaw-agent.sqlite"
    with closing(live(path)) as agent:
        agent.execute("BEGIN EXCLUSIVE")
        before = sorted((entry.name, entry.stat().st_size, entry.stat().st_mtime_ns) for entry in tmp_path.iterdir())
        assert sessions_in(path) == ["live"]
        assert member_content(path, "live").decode() == EVENT + "\n"
        after = sorted((entry.name, entry.stat().st_size, entry.stat().st_mtime_ns) for entry in tmp_path.iterdir())
        assert after == before
        agent.execute("COMMIT")
        agent.execute("INSERT INTO transcript_events VALUES ('next', 0, ?, NULL)", (EVENT,))
        assert sessions_in(path) == ["live", "next"], "it changed: copied anew"


def test_a_copy_is_removed_by_the_process_that_made_it_and_by_no_other(tmp_path: Path) -> None:
    copy = PrivateCopy(STORE)
    folder = copy.file.parent
    remove_folder(folder, os.getpid() + 1)
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
    _, result = normalized_folder(raw, tmp_path / "data")
    of = {(row["source_model"], row["session_id"]): row for row in result.trajectories}
    alone, both = of["alone", "subagent-spawn"], of["both", "subagent-spawn"]
    assert alone["context"]["session_key"]
    assert both["context"] == alone["context"]
    assert both["source_file"] == f"both/{name}" if name.endswith("jsonl") else both["source_member"]


def row_of(session_id: str, number: int, **fields: object) -> tuple[str, int, str, None]:
    """A row of transcript_events."""
    return session_id, number, json.dumps(fields | {"timestamp": "2026-01-01T00:00:01Z"}), None


def reply(session_id: str, number: int, text: str) -> tuple[str, int, str, None]:
    """A row with an answer that hangs on the row before it."""
    message = {"role": "assistant", "content": [{"type": "text", "text": text}], "stopReason": "stop"}
    parent = f"{number - 1}" if number > 1 else None
    return row_of(session_id, number, type="message", id=f"{number}", parentId=parent, message=message)


def test_what_a_live_agent_commits_later_is_read_by_the_next_run(tmp_path: Path) -> None:
    """The database itself does not change until its log is written back; what is new is in the log."""
    (tmp_path / "raw" / "m").mkdir(parents=True)
    data, path = DataFolder(tmp_path / "data"), tmp_path / "raw" / "m" / FILE_NAME

    def spoken_texts() -> list[str]:
        intake = take_in(data, tmp_path / "raw", None, save=True)
        normalized = Normalized()
        for shard in sorted(intake.entries):
            normalized.add(normalize(intake.read(SourceFile, shard), intake.read(RunManifestRow, shard), RULES))
        check_accounting(normalized, sum(len(entries) for entries in intake.entries.values()))
        assert {row["disposition"] for row in normalized.files} <= {"trajectory", "sidecar"}
        return sorted(step["action_text"] for step in normalized.steps)

    with closing(live(path)) as agent:
        agent.execute("PRAGMA wal_autocheckpoint=0")
        agent.execute("INSERT INTO transcript_events VALUES (?, ?, ?, ?)", reply("live", 1, "one"))
        before = path.stat().st_mtime_ns
        assert spoken_texts() == ["one"]
        agent.execute("INSERT INTO transcript_events VALUES (?, ?, ?, ?)", reply("live", 2, "two"))
        assert spoken_texts() == ["one", "two"]
        header = row_of("next", 0, type="session", version=4, id="next")
        agent.execute("INSERT INTO transcript_events VALUES (?, ?, ?, ?)", header)
        agent.execute("INSERT INTO transcript_events VALUES (?, ?, ?, ?)", reply("next", 1, "three"))
        assert spoken_texts() == ["one", "three", "two"]
        assert path.stat().st_mtime_ns == before, "all of it was in the log"
        agent.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert spoken_texts() == ["one", "three", "two"]


def test_an_unchanged_store_is_not_copied_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "raw" / "m").mkdir(parents=True)
    with closing(live(tmp_path / "raw" / "m" / FILE_NAME)):
        first = take_in(DataFolder(tmp_path / "data"), tmp_path / "raw", None, save=True)
        monkeypatch.setattr(sqlite_store, "PrivateCopy", None)
        again = take_in(DataFolder(tmp_path / "data"), tmp_path / "raw", None, save=True)
        assert {shard: again.key(SourceFile, shard) for shard in again.entries} == {
            shard: first.key(SourceFile, shard) for shard in first.entries
        }


def test_what_a_log_is_of_is_said_and_a_session_file_of_such_a_name_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "raw" / "m"
    folder.mkdir(parents=True)
    (folder / "s.jsonl").write_text(EVENT + "\n")
    (folder / "s.jsonl-wal").write_text(EVENT.replace('"live"', '"other"') + "\n")
    with closing(live(folder / FILE_NAME)):
        _, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    of = {row["path"]: row for row in result.files if row["member"] is None}
    for suffix in ("-wal", "-shm"):
        log = of[f"m/{FILE_NAME}{suffix}"]
        assert (log["disposition"], log["reason"], log["records_in"]) == ("sidecar", "store_log", 1)
        assert f"a log of m/{FILE_NAME}" in log["message"]
    assert of["m/s.jsonl-wal"]["disposition"] == "trajectory"


def test_a_change_that_was_cut_off_is_undone_in_the_copy(tmp_path: Path) -> None:
    """A rollback journal that was left behind says what the database held before."""
    path = tmp_path / "killed" / FILE_NAME
    path.parent.mkdir()
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as agent:
        agent.execute("PRAGMA cache_size=1")
        agent.execute("CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, event_zstd BLOB)")
        agent.execute("INSERT INTO transcript_events VALUES ('live', 0, ?, NULL)", (EVENT,))
        agent.execute("BEGIN")
        agent.execute("UPDATE transcript_events SET event_json = '{}'")
        rows = [reply("live", number, "x" * 4000) for number in range(1, 40)]
        agent.executemany("INSERT INTO transcript_events VALUES (?, ?, ?, ?)", rows)
        for suffix in ("", "-journal"):
            shutil.copy(tmp_path / f"{FILE_NAME}{suffix}", path.with_name(path.name + suffix))
        agent.execute("ROLLBACK")
    assert member_content(path, "live").decode() == EVENT + "\n"


CREATED = "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, event_zstd BLOB)"
WINDOWS = "CREATE TABLE session_windows (session_id TEXT)"


def files_of(tmp_path: Path, *statements: str | tuple[str, tuple[object, ...]]) -> list[dict[str, object]]:
    """What became of the only file of a folder, a store made by these statements."""
    (tmp_path / "raw" / "m").mkdir(parents=True)
    with closing(sqlite3.connect(tmp_path / "raw" / "m" / FILE_NAME, isolation_level=None)) as store:
        for statement in statements:
            store.execute(*((statement,) if isinstance(statement, str) else statement))
    intake, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    check_accounting(result, sum(len(entries) for entries in intake.entries.values()))
    return result.files


def test_a_store_without_records_and_the_sessions_that_it_lists_are_told(tmp_path: Path) -> None:
    windows = "INSERT INTO session_windows VALUES ('a'), ('b')"
    empty, listed = sorted(files_of(tmp_path, CREATED, WINDOWS, windows), key=lambda row: str(row["member"]))
    assert (empty["disposition"], empty["reason"], empty["member"]) == ("quarantined", "empty_store", None)
    assert str(empty["message"]).startswith(f"m/{FILE_NAME}: it holds no record of any session. Put the store back")
    assert (listed["disposition"], listed["reason"]) == ("sidecar", "windows_without_records")
    assert (listed["member"], listed["records_in"]) == ("session_windows", 2)
    assert "2 of the sessions that it lists have no record: a, b. " in str(listed["message"])


def test_sessions_that_have_no_record_are_counted_beside_those_that_have(tmp_path: Path) -> None:
    header = ("INSERT INTO transcript_events VALUES ('live', 0, ?, NULL)", (EVENT,))
    files = files_of(tmp_path, CREATED, WINDOWS, "INSERT INTO session_windows VALUES ('live'), ('gone')", header)
    assert {(row["member"], row["reason"]) for row in files} == {
        ("live", None),
        ("session_windows", "windows_without_records"),
    }


def test_a_session_whose_first_row_is_lost_is_named_with_the_reason(tmp_path: Path) -> None:
    lost = row_of("lost", 1, type="model_change", id="1", parentId=None, provider="p", modelId="m")
    insert = "INSERT INTO transcript_events VALUES (?, ?, ?, ?)"
    rows = [(insert, row_of("kept", 0, type="session", version=4, id="kept")), (insert, lost)]
    of = {row["member"]: row for row in files_of(tmp_path, CREATED, *rows)}
    assert of["kept"]["disposition"] == "trajectory"
    assert (of["lost"]["disposition"], of["lost"]["reason"]) == ("quarantined", "not_a_session")
    message = str(of["lost"]["message"])
    assert message.startswith(f"m/{FILE_NAME}: session lost: record 1: a session without its header")
    assert "no SQLite database" not in message and message.endswith("its other sessions are read.")


@pytest.mark.parametrize(
    ("statements", "layout"),
    [
        (["CREATE TABLE cookies (host TEXT)"], "found the tables cookies. "),
        ([], "found no table at all. "),
        (
            [
                CREATED.replace("event_json", "event_text"),
                "CREATE TABLE schema_meta (app_version TEXT, schema_version INTEGER)",
                "INSERT INTO schema_meta VALUES ('2027.1.1', 40)",
            ],
            "with the columns session_id, seq, event_text, event_zstd (written by 2027.1.1, schema 40). ",
        ),
    ],
)
def test_another_layout_is_told_with_what_was_expected_and_found(
    tmp_path: Path, statements: list[str], layout: str
) -> None:
    (row,) = files_of(tmp_path, *statements, "PRAGMA user_version=1")
    assert (row["disposition"], row["reason"]) == ("quarantined", "unknown_store")
    message = str(row["message"])
    assert "expected a table `transcript_events` with the columns session_id, seq, event_json, event_zstd" in message
    assert "OpenClaw 2026.8 and 2026.9" in message and layout in message
    assert "backup" not in message and "readable" not in message


AGENT = ["CREATE TABLE schema_meta (k TEXT)", "CREATE TABLE auth_profile_store (id TEXT)"]
MEMORY = ["CREATE TABLE schema_meta (k TEXT)", "CREATE TABLE memory_index_meta (k TEXT)", "CREATE TABLE x (k TEXT)"]
GATEWAY = [
    "CREATE TABLE schema_meta (k TEXT)",
    "CREATE TABLE agent_databases (k TEXT)",
    "CREATE TABLE acp_sessions (k)",
]


@pytest.mark.parametrize(
    ("statements", "reason"),
    [(AGENT, "agent_store"), (MEMORY, "agent_store"), (GATEWAY, "gateway_store")],
    ids=["2026.6 and 2026.7", "its index of memory", "the gateway's"],
)
def test_a_database_of_the_program_without_transcripts_is_a_known_companion(
    tmp_path: Path, statements: list[str], reason: str
) -> None:
    (row,) = files_of(tmp_path, *statements)
    assert (row["disposition"], row["reason"], row["warnings"]) == ("sidecar", reason, [])


@pytest.mark.parametrize("table", ["session_lines", "transcript_parts", "messages"])
def test_a_store_that_may_hold_transcripts_is_still_told(tmp_path: Path, table: str) -> None:
    (row,) = files_of(tmp_path, *AGENT, f"CREATE TABLE {table} (a)")
    assert (row["disposition"], row["reason"]) == ("quarantined", "unknown_store")


ENDLESS = "AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, i FROM n"


def test_records_in_a_view_are_not_read_which_may_have_no_end(tmp_path: Path) -> None:
    view = f"CREATE VIEW transcript_events (session_id, seq) {ENDLESS}"
    (row,) = files_of(tmp_path, "CREATE TABLE other (a)", view)
    assert (row["disposition"], row["reason"]) == ("quarantined", "unknown_store")


def test_what_a_view_says_of_sessions_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with closing(live(path)) as store:
        store.execute(f"CREATE VIEW session_nodes (session_key, entry_json) {ENDLESS}")
        store.execute(f"CREATE VIEW session_windows (session_id, a) {ENDLESS}")
        assert [type(entry) for entry in read_store(path)] == [StoredSession]


LOCKS = ("generation-lock", "generation-writer", "reindex-lock")
LEFT = "tmp-01234567-89ab-cdef-0123-456789abcdef"


def test_what_the_program_leaves_beside_its_store_is_known_and_counted(tmp_path: Path) -> None:
    folder = tmp_path / "raw" / "m" / "agents" / "main" / "agent"
    folder.mkdir(parents=True)
    shutil.copy(STORE, folder / FILE_NAME)
    for name in (*(f"{lock}.sqlite" for lock in LOCKS), LEFT):
        with closing(sqlite3.connect(folder / f"{FILE_NAME}.{name}", isolation_level=None)) as beside:
            beside.execute("CREATE TABLE lease (holder TEXT)")
    (folder / f"{FILE_NAME}.reindex-lock.sqlite-journal").write_bytes(b"")
    (folder / "empty.sqlite.generation-lock.sqlite").write_bytes(b"")
    (folder / f"half.sqlite.{LEFT}").write_bytes(sqlite_store.MAGIC + b"cut off")
    intake, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    check_accounting(result, sum(len(entries) for entries in intake.entries.values()))
    assert [row["path"] for row in result.files if row["disposition"] == "quarantined"] == []
    reasons = {row["path"].removeprefix(f"m/agents/main/agent/{FILE_NAME}."): row["reason"] for row in result.files}
    assert {reasons[f"{lock}.sqlite"] for lock in LOCKS} == {"store_lock"}
    assert reasons[LEFT] == reasons[f"m/agents/main/agent/half.sqlite.{LEFT}"] == "store_rewritten"
    assert len(result.trajectories) > 30


def test_a_store_of_such_a_name_is_read_and_any_other_database_is_still_told(tmp_path: Path) -> None:
    folder = tmp_path / "raw" / "m"
    folder.mkdir(parents=True)
    with closing(live(folder / f"{FILE_NAME}.{LEFT}")):
        with closing(sqlite3.connect(folder / "agent-history.sqlite", isolation_level=None)) as other:
            other.execute("CREATE TABLE lease (holder TEXT)")
        _, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    fates = {(row["path"], row["disposition"], row["reason"]) for row in result.files if "-" not in row["path"][-4:]}
    assert ("m/agent-history.sqlite", "quarantined", "unknown_store") in fates
    assert not [
        row
        for row in result.files
        if row["reason"] == "store_rewritten" and row["member"] is None and row["path"].endswith(LEFT)
    ]
