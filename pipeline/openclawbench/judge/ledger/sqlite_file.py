"""The ledger's file: one SQLite database in WAL mode, its tables, its lock, and reading it while another writes.

answers   every answer as it came, with its own digest, by the digest of its request. Rows are added, never changed.
unread    every response with status 200 that was not an answer, as it came.
settled   the final answer to a question, by (judge, question), so that a resumed run need not build requests.
rounds    requests that are asked again, by the key of their first round: `asked` counts rounds of --ask-again, the
          others began because the answer had been cut off at a lower limit.
intents   calls that were begun and have neither an answer nor a known refusal: what is in flight.
lost      calls that may have been paid for without an answer: in flight at a kill, timed out, dropped, half-sent.
endpoints request options that an endpoint accepts.
batches   batches handed to an endpoint, by our name for them; `id` is the endpoint's.
batched   the requests in batches that are not collected yet.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, Self

from openclawbench.errors import LedgerError, LedgerLocked, UnreadableInput
from openclawbench.storage.file_lock import file_lock

NAME = "ledger.sqlite"
LOCK = ".lock"
BALLAST = ".ballast"
VERSION = 3
MORE_COLUMNS = {  # version -> table, column and type of what it has more than the one before; null in rows of before
    2: [("answers", "response_sha256", "blob")],
    3: [
        ("answers", "answer_limit", "integer"),
        ("answers", "usage_estimated", "integer"),
        ("settled", "judge", "blob"),
        ("settled", "base", "blob"),
    ],
}
UNREADABLE_FILE = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR", "SQLITE_CANTOPEN")
KEYS_AT_ONCE = 500  # of one look-up
PREPARED = 200  # statements that are kept: one for each number of rows (ledger.ROWS)
TABLES = """
create table if not exists answers(
    key blob primary key, stage text not null, model text not null, trajectory_id text not null,
    packet_sha256 text not null, finish text not null, response blob not null, request_id text,
    prompt_tokens integer not null, cached_tokens integer not null, completion_tokens integer not null,
    cost_usd real not null, request_bytes integer not null, attempts integer not null, latency_s real not null,
    answered_at real not null, way text not null, corrects blob, response_sha256 blob,
    answer_limit integer, usage_estimated integer);
create index if not exists spent on answers(
    stage, model, finish, prompt_tokens, cached_tokens, completion_tokens, cost_usd, request_bytes);
create table if not exists settled(
    question blob primary key, first blob not null, last blob not null, outcome text not null, judge blob,
    base blob) without rowid;
create table if not exists rounds(
    base blob primary key, round integer not null, asked integer not null, model text not null) without rowid;
create table if not exists unread(
    key blob not null, stage text not null, trajectory_id text not null, reason text not null,
    received_at real not null, response blob not null, response_sha256 blob not null);
create table if not exists intents(
    key blob primary key, stage text not null, trajectory_id text not null, sent_at real not null) without rowid;
create table if not exists lost(
    key blob not null, stage text not null, trajectory_id text not null, reason text not null, sent_at real not null);
create table if not exists endpoints(
    base_url text not null, model text not null, accepts text not null, primary key(base_url, model)) without rowid;
create table if not exists batches(
    name text primary key, id text, status text not null, created_at real not null) without rowid;
create table if not exists batched(
    key blob primary key, batch text not null, stage text not null, model text not null, trajectory_id text not null,
    packet_sha256 text not null, request_bytes integer not null, way text not null, corrects blob) without rowid;
"""
ANSWER = [
    "key",
    "stage",
    "model",
    "trajectory_id",
    "packet_sha256",
    "finish",
    "response",
    "request_id",
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "cost_usd",
    "request_bytes",
    "attempts",
    "latency_s",
    "answered_at",
    "way",
    "corrects",
    "response_sha256",
    "answer_limit",
    "usage_estimated",
]


class Rows(sqlite3.Cursor):
    """A cursor that raises a damaged file as LedgerError."""

    connection: "Connection"

    def execute(self, *values: Any) -> Self:
        self.connection.checked(super().execute, *values)
        return self

    def fetchone(self) -> Any:
        return self.connection.checked(super().fetchone)

    def fetchall(self) -> Any:
        return self.connection.checked(super().fetchall)

    def __next__(self) -> Any:
        return self.connection.checked(super().__next__)


class Connection(sqlite3.Connection):
    """A connection to a ledger. Raises LedgerError if its file turns out to be damaged."""

    def __init__(self, path: Path, **values: Any) -> None:
        super().__init__(path, **values)
        self.path = path

    def cursor(self, factory: Any = Rows) -> Any:
        return super().cursor(factory)

    def checked(self, work: Callable[..., Any], *values: Any) -> Any:
        """The result of a database call."""
        try:
            return work(*values)
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorname", "").startswith(UNREADABLE_FILE):
                raise as_ledger_error(self.path, error) from error
            raise


def open_for_writing(folder: Path) -> sqlite3.Connection:
    """The ledger of a folder, created if missing. The caller holds the lock. Raises LedgerError if it cannot be
    opened."""
    path = folder / NAME
    try:
        connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, cached_statements=PREPARED, factory=Connection
        )
        connection.execute("pragma journal_mode=wal")
        connection.execute("pragma synchronous=full")
        connection.execute("pragma wal_autocheckpoint=4000")
        (version,) = connection.execute("pragma user_version").fetchone()
        if not 0 <= version <= VERSION:
            raise LedgerError(f"{path}: is of another version of this program ({version}). Use that version.")
        if 0 < version < VERSION:
            bring_up_to_date(connection, version)
        connection.executescript(TABLES)
        connection.execute(f"pragma user_version={VERSION}")
    except sqlite3.Error as error:
        raise as_ledger_error(path, error) from error
    return connection


def bring_up_to_date(connection: sqlite3.Connection, version: int) -> None:
    """Add the columns of this version to the tables; existing rows hold null there, because the values are unknown. One
    transaction: a kill leaves the former version."""
    connection.execute("begin immediate")
    for later in range(version + 1, VERSION + 1):
        for table, column, kind in MORE_COLUMNS[later]:
            connection.execute(f"alter table {table} add column {column} {kind}")
    connection.execute(f"pragma user_version={VERSION}")
    connection.execute("commit")


def is_current(connection: sqlite3.Connection) -> bool:
    """True if a ledger that is open for reading has the tables and columns of this version."""
    (version,) = connection.execute("pragma user_version").fetchone()
    return bool(version == VERSION)


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """True if a ledger that is open for reading has a table."""
    query = "select 1 from sqlite_master where type = 'table' and name = ?"
    return connection.execute(query, (name,)).fetchone() is not None


def has_digests(connection: sqlite3.Connection) -> bool:
    """True if the answers of a ledger that is open for reading have a column for their digest."""
    return "response_sha256" in [row[1] for row in connection.execute("pragma table_info(answers)")]


@contextmanager
def reading(folder: Path) -> Iterator[sqlite3.Connection]:
    """The ledger of a folder to read, while another process may be writing.

    Raises UnreadableInput if it does not exist, and LedgerError for errors of SQLite while it is read."""
    with closing(connect_to_read(folder)) as connection:
        try:
            yield connection
        except sqlite3.Error as error:
            raise as_ledger_error(folder / NAME, error) from error


def connect_to_read(folder: Path) -> sqlite3.Connection:
    """A connection that cannot write. Raises UnreadableInput if there is no ledger."""
    path = folder / NAME
    if not path.exists():
        raise UnreadableInput(f"{path}: there is no ledger here: no language model was asked yet.")
    try:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=Connection)
        connection.execute("pragma query_only=on")
        connection.execute("select key from answers limit 0")
    except sqlite3.Error as error:
        raise as_ledger_error(path, error) from error
    return connection


def locked(folder: Path) -> AbstractContextManager[None]:
    """Hold the lock of a ledger: one process at a time writes to it. Raises LedgerLocked."""
    held = LedgerLocked(f"{folder}: another run is using this ledger. Wait for it to end.")
    return file_lock(folder / LOCK, folder, held, LedgerError, "Make room or give access.")


def as_ledger_error(path: Path, error: sqlite3.Error) -> LedgerError:
    """The LedgerError for an error of SQLite."""
    code = getattr(error, "sqlite_errorname", "")
    if code == "SQLITE_FULL":
        return LedgerError(
            f"{path}: the disk is full. Every answer that was acknowledged is kept; make room and run again."
        )
    if code.startswith(UNREADABLE_FILE):
        return LedgerError(
            f"{path}: the file is damaged: {error} ({code}). Nothing was asked after this. `openclawbench ledger "
            "verify` says where; put a copy of the ledger in its place, or save what can be read with `sqlite3 FILE "
            ".recover`."
        )
    return LedgerError(f"{path}: {error} ({code}). Nothing was asked after this; run `openclawbench ledger verify`.")


def rows(connection: sqlite3.Connection, query: str, *values: Any) -> list[dict[str, Any]]:
    """Rows of a query as dicts."""
    cursor = connection.execute(query, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def key_groups(keys: list[bytes]) -> Iterator[list[bytes]]:
    """The keys in groups of the size of one look-up."""
    for start in range(0, len(keys), KEYS_AT_ONCE):
        yield keys[start : start + KEYS_AT_ONCE]
