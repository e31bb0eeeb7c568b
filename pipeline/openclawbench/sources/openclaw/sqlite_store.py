"""OpenClaw's SQLite store (2026.8 on): each session as the JSONL it would have been. Never locks a live agent."""

import os
import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from openclawbench.sources.io.file_encodings import MOST_BYTES, decompressed, is_compressed
from openclawbench.sources.openclaw.session_index import REASON
from openclawbench.sources.openclaw.store_tables import (
    NODES,
    WINDOWS,
    layout_difference,
    list_names,
    read_nodes,
    tables_of,
    windows_without_records,
)

FILE_NAME = "openclaw-agent.sqlite"
MAGIC = b"SQLite format 3\x00"
BESIDE = ("-wal", "-journal")  # logs: what is not in the database yet, and what a write that was cut off had changed
LOGS = (*BESIDE, "-shm")  # the last is an index into the first, which is made anew
ATTEMPTS = 3
TABLES_MOST = 1000  # names of tables that are handed on
STORE_HINT = "Take the store from a backup, or the session out of it; its other sessions are read."
Stamp = tuple[int, int, int] | None  # size and times of a file, or None


@dataclass(frozen=True)
class StoredSession:
    """One session of a store: its rows in the order of seq, one a line, and what the store says about its run."""

    session_id: str
    content: bytes
    context: dict[str, Any]
    error: str | None = None  # why its rows cannot be read; then there is no content


@dataclass(frozen=True)
class StoreNote:
    """Something about a store that is not a session: `reason` is its code, `what` says it without the place and without
    what to do, `table` is the one that it is about (None: the whole store), `records` how many it is about; `tables`
    are those of a database that holds no transcripts."""

    reason: str
    what: str
    table: str | None = None
    records: int = 0
    tables: tuple[str, ...] = ()


class BrokenStore(Exception):
    """The file is an SQLite database that cannot be read."""


class PrivateCopy:
    """The database and its log in a folder of this process's own, so that no lock is taken on the original.

    A copy that was written to while it was made is made again; BrokenStore after three such tries. The folder is
    removed with the object, or at the end of the process that made it.
    """

    def __init__(self, path: Path) -> None:
        folder = Path(tempfile.mkdtemp(prefix="openclawbench-"))
        weakref.finalize(self, remove_folder, folder, os.getpid())
        self.file = folder / "store.sqlite"
        for _ in range(ATTEMPTS):
            before = stamps(path)
            shutil.copyfile(path, self.file)
            for suffix in BESIDE:
                log = path.with_name(path.name + suffix)
                target = self.file.with_name(self.file.name + suffix)
                target.unlink(missing_ok=True)
                if log.exists():
                    shutil.copyfile(log, target)
            if stamps(path) == before:
                return
        raise BrokenStore("it was written to while it was being copied; run again when the agent is idle")


def remove_folder(folder: Path, process: int) -> None:
    """Remove a folder; a process that was forked from the one that made it leaves it alone."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


@lru_cache(maxsize=1)
def copy_of(path: Path, known_stamps: tuple[Stamp, ...], process: int) -> PrivateCopy:
    """The copy of a store in this state, made once per process, because its sessions are read one by one."""
    return PrivateCopy(path)


@contextmanager
def open_copy(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a private copy of the store as it is now."""
    copy = copy_of(path, tuple(stamps(path)), os.getpid())
    with closing(sqlite3.connect(copy.file)) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        yield connection


def stamps(path: Path) -> list[Stamp]:
    """Size and times of the database and its logs."""
    return [stamp(file) for file in (path, *(path.with_name(path.name + suffix) for suffix in BESIDE))]


def stamp(path: Path) -> Stamp:
    """Size and times of a file, or None."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def read_store(path: Path) -> Iterator[StoredSession | StoreNote]:
    """Every session of the store in the order of ids, before them what there is to say of the store. Raises BrokenStore
    with the reason."""
    try:
        with open_copy(path) as connection:
            if (why := layout_difference(connection)) is not None:
                yield StoreNote("unknown_store", why, tables=tables_of(connection)[:TABLES_MOST])
                return
            ids, nodes = session_ids(connection), read_nodes(connection)
            yield from notes(connection, ids, nodes.fault)
            for session_id in ids:
                yield read_stored_session(connection, session_id, nodes.contexts.get(session_id, {}))
    except (sqlite3.Error, ValueError) as error:
        raise BrokenStore(str(error)) from error


def notes(connection: sqlite3.Connection, ids: list[Any], fault: str | None) -> Iterator[StoreNote]:
    """Remarks on a store. `fault`: what is broken in its table of run contexts."""
    if not ids:
        yield StoreNote("empty_store", "it holds no record of any session")
    if windows := windows_without_records(connection):
        what = f"{len(windows)} of the sessions that it lists have no record: {list_names(windows)}"
        yield StoreNote("windows_without_records", what, WINDOWS, len(windows))
    if fault is not None:
        yield StoreNote(REASON, fault, NODES)


def is_store(path: Path) -> bool:
    """True for an SQLite database. Raises OSError if the file cannot be read."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def member_content(path: Path, session_id: str) -> bytes:
    """The records of one session again. Raises BrokenStore with the reason; OSError if the store is not there."""
    try:
        with open_copy(path) as connection:
            return lines(connection, session_id)
    except (sqlite3.Error, ValueError) as error:
        raise BrokenStore(str(error)) from error


def read_stored_session(connection: sqlite3.Connection, session_id: Any, context: dict[str, Any]) -> StoredSession:
    """One session. If one of its rows cannot be read, the session has a fault and the rest of the store is still
    read."""
    if not isinstance(session_id, str):
        return StoredSession(repr(session_id), b"", {}, "records of the store whose session id is not text")
    try:
        return StoredSession(session_id, lines(connection, session_id), context)
    except (sqlite3.Error, ValueError) as error:
        return StoredSession(session_id, b"", context, f"session {session_id}: {error}. {STORE_HINT}")


def session_ids(connection: sqlite3.Connection) -> list[Any]:
    """Ids of all sessions that have records."""
    return [
        row[0] for row in connection.execute("SELECT DISTINCT session_id FROM transcript_events ORDER BY session_id")
    ]


def lines(connection: sqlite3.Connection, session_id: str) -> bytes:
    """The session's records as JSONL; a row that is stored compressed is undone."""
    rows = connection.execute(
        "SELECT seq, event_json, event_zstd FROM transcript_events WHERE session_id = ? ORDER BY seq", (session_id,)
    )
    return b"".join(event(seq, text, blob) + b"\n" for seq, text, blob in rows)


def event(seq: Any, text: Any, blob: Any) -> bytes:
    """One record's bytes. ValueError, with the row's seq, where it has none."""
    if isinstance(text, str):
        return text.encode()
    if not isinstance(blob, bytes):
        raise ValueError(f"row {seq} (seq) is neither text nor compressed")
    if not is_compressed(blob):
        raise ValueError(f"row {seq} (seq): its compressed data cannot be read: it does not begin as such data does")
    try:
        return decompressed(blob)
    except ValueError as error:
        raise ValueError(f"row {seq} (seq): its compressed data cannot be read: {error}") from error
