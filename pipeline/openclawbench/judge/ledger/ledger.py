"""The ledger of a run that asks: one writer thread, group commit. Acknowledged rows are on the disk.

An answer's future is done when its commit is: code that waits for it uses nothing that a kill or a power cut could
undo."""

import asyncio
import os
import queue
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from openclawbench.errors import LedgerError
from openclawbench.judge.ledger.sqlite_file import (
    ANSWER,
    BALLAST,
    NAME,
    as_ledger_error,
    connect_to_read,
    key_groups,
    locked,
    open_for_writing,
)
from openclawbench.judge.ledger.stored_answer import StoredAnswer, answer_to, now, read_stored_answer, storable
from openclawbench.judge.transport.chat_request import ChatRequest
from openclawbench.rules.judge.asking import Commit

UNREAD = ["key", "stage", "trajectory_id", "reason", "received_at", "response", "response_sha256"]
SETTLED = ["question", "first", "last", "outcome", "judge", "base"]
ROWS = sorted({size for power in range(9) for size in (2**power, 3 * 2**power)}, reverse=True)  # of one statement


@dataclass(frozen=True)
class Statement:
    """A statement over any number of rows: `text` with the rows' places in it."""

    text: str
    columns: int

    def over(self, rows: int) -> str:
        """The statement for this number of rows."""
        return self.text.format(", ".join([f"({', '.join('?' * self.columns)})"] * rows))


ADD_ANSWER = Statement(f"insert or ignore into answers({', '.join(ANSWER)}) values {{}}", len(ANSWER))
ADD_INTENT = Statement("insert or replace into intents(key, stage, trajectory_id, sent_at) values {}", 4)
END_INTENT = Statement("delete from intents where key in (values {})", 1)
ADD_LOST = Statement("insert into lost(key, stage, trajectory_id, reason, sent_at) values {}", 5)
ADD_UNREAD = Statement(f"insert into unread({', '.join(UNREAD)}) values {{}}", len(UNREAD))
ADD_SETTLED = Statement(f"insert or replace into settled({', '.join(SETTLED)}) values {{}}", len(SETTLED))
ADD_ROUND = Statement(
    "insert into rounds(base, round, asked, model) values {} on conflict(base) do update set round = excluded.round", 4
)
ADD_ENDPOINT = Statement("insert or replace into endpoints(base_url, model, accepts) values {}", 3)
Row = tuple[Statement, tuple[Any, ...]]


@dataclass
class PendingWrite:
    """Rows that belong into one transaction, and the future that waits for it."""

    rows: tuple[Row, ...]
    future: "asyncio.Future[None] | None"


class Ledger:
    """The ledger, open for writing by this process alone. Use it as a context manager, within a running loop."""

    def __init__(self, folder: Path, rules: Commit) -> None:
        self.folder, self.rules = folder, rules
        self.path = folder / NAME
        self.waiting: queue.SimpleQueue[PendingWrite | None] = queue.SimpleQueue()
        self.alarm: LedgerError | None = None  # no new calls any more
        self.broken: LedgerError | None = None  # nothing can be written any more
        self.unhurried: list[Row] = []  # rows for the next commit
        self.held = ExitStack()

    def __enter__(self) -> Self:
        self.held.enter_context(locked(self.folder))
        self.connection = open_for_writing(self.folder)
        self.reader = connect_to_read(self.folder)
        self.scout = connect_to_read(self.folder)  # for another thread
        self.hold_ballast()
        self.found_in_flight = self.note_calls_in_flight()
        self.thread = threading.Thread(target=self.write, name="ledger", daemon=True)
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.unhurried:
            self.waiting.put(PendingWrite(tuple(self.unhurried), None))
        self.waiting.put(None)
        self.thread.join()
        self.scout.close()
        self.reader.close()
        self.connection.close()
        self.held.close()
        if self.broken is not None and error is None:
            raise self.broken

    # ------------------------------------------------------------------------------------------------------- reading
    def answer_to(self, request: ChatRequest) -> StoredAnswer | None:
        """The answer to a request; None if it has none."""
        return answer_to(self.reader, request)

    def rounds(self, bases: list[bytes]) -> dict[bytes, int]:
        """The rounds of those requests that are past their first one. Call it outside the loop's thread."""
        rounds: dict[bytes, int] = {}
        for group in key_groups(bases):
            places = ", ".join("?" * len(group))
            rounds.update(
                self.scout.execute(f"select base, round from rounds where base in ({places})", group).fetchall()
            )
        return rounds

    def has_answers_of(self, model: str) -> bool:
        """True if this model has answered any request."""
        query = "select 1 from answers where model = ? and completion_tokens > 0 limit 1"
        return self.reader.execute(query, (model,)).fetchone() is not None

    def settled(self, questions: list[bytes]) -> set[bytes]:
        """Those of the questions that have their answer."""
        return self.matching_keys("select question from settled where question in", questions)

    def answered(self, keys: list[bytes]) -> set[bytes]:
        """Those of the requests that have an answer."""
        return self.matching_keys("select key from answers where key in", keys)

    def matching_keys(self, query: str, keys: list[bytes]) -> set[bytes]:
        """The keys that a query finds. Call it outside the loop's thread."""
        known_keys: set[bytes] = set()
        for group in key_groups(keys):
            known_keys.update(key for (key,) in self.scout.execute(f"{query} ({', '.join('?' * len(group))})", group))
        return known_keys

    def answer(self, key: bytes) -> StoredAnswer | None:
        """The answer to a request; None if it has none."""
        return read_stored_answer(self.reader, key)

    def spent(self) -> tuple[float, int]:
        """USD and tokens of everything in the ledger."""
        query = (
            "select total(cost_usd), coalesce(sum(prompt_tokens + completion_tokens), 0) from answers indexed by spent"
        )
        usd, tokens = self.reader.execute(query).fetchone()
        return float(usd), int(tokens)

    def lost_bytes(self) -> list[int]:
        """Sizes of the requests that may have been paid for and whose answers were lost. A request that was never
        answered later counts with the mean size of the answered ones."""
        query = (
            "select coalesce(a.request_bytes, (select avg(request_bytes) from answers), 0) from lost "
            "left join answers a on a.key = lost.key"
        )
        return [int(size) for (size,) in self.reader.execute(query)]

    def accepts(self, base_url: str, model: str) -> str | None:
        """The request options that the endpoint accepts, as far as known."""
        query = "select accepts from endpoints where base_url = ? and model = ?"
        row = self.reader.execute(query, (base_url, model)).fetchone()
        return None if row is None else str(row[0])

    # ------------------------------------------------------------------------------------------------------- writing
    def put(self, *rows: Row) -> "asyncio.Future[None]":
        """Add rows to the next commit; the future is done when they are durable."""
        future = asyncio.get_running_loop().create_future()
        if self.broken is None:
            self.waiting.put(PendingWrite((*rows, *self.unhurried), future))
            self.unhurried.clear()
        if self.broken is not None and not future.done():  # checked again: the writer may have ended in between
            future.set_exception(self.broken)
        return future

    def intend(self, key: bytes, stage: str, trajectory_id: str) -> "asyncio.Future[None]":
        """Note that a call is about to be sent."""
        return self.put((ADD_INTENT, (key, stage, storable(trajectory_id), now())))

    def settle(
        self,
        question: bytes,
        first: bytes,
        last: bytes,
        outcome: str,
        judge: bytes | None = None,
        base: bytes | None = None,
    ) -> None:
        """Note which answer is final for a question. The row goes with the next commit without a future, because
        durable answers decide it. `base`: key of the first round of its request."""
        self.unhurried.append((ADD_SETTLED, (question, first, last, outcome, judge, base)))

    def begin_round(self, base: bytes, number: int, model: str) -> "asyncio.Future[None]":
        """Note that a request is asked again."""
        return self.put((ADD_ROUND, (base, number, 0, model)))

    def remember(self, base_url: str, model: str, accepts: str) -> "asyncio.Future[None]":
        """Note the request options that an endpoint accepts."""
        return self.put((ADD_ENDPOINT, (base_url, model, accepts)))

    def note_calls_in_flight(self) -> int:
        """List the calls that a former run left in flight as lost: they may have been paid for."""
        self.connection.execute("begin immediate")
        columns = "key, stage, trajectory_id, 'killed', sent_at"
        query = f"insert into lost select {columns} from intents"
        count = self.connection.execute(query).rowcount
        self.connection.execute("delete from intents")
        self.connection.execute("commit")
        return count

    # ------------------------------------------------------------------------------------------------ the one writer
    def write(self) -> None:
        """Commit waiting rows, group by group, until `close`. Any other end fails all futures, so that none waits
        forever."""
        group: list[PendingWrite] = []
        is_told = False
        try:
            while not is_told and (first := self.waiting.get()) is not None:
                group = [first]
                is_told = self.gather(group)
                self.commit(group)
            is_told = True
        finally:
            if not is_told:
                self.end_for_all(group)

    def end_for_all(self, group: list[PendingWrite]) -> None:
        """End the writer after an unexpected error: fail all present and later futures."""
        why = sys.exception()
        self.broken = LedgerError(
            f"{self.path}: the writer of the ledger ended ({type(why).__name__}: {why}). Every answer that was "
            "acknowledged is kept; run again, and report this with --debug."
        )
        while not self.waiting.empty():
            if (write := self.waiting.get()) is not None:
                group.append(write)
        for loop, futures in by_loop(group).items():
            loop.call_soon_threadsafe(resolve_futures, futures, self.broken)

    def gather(self, group: list[PendingWrite]) -> bool:
        """Let a group grow for a moment; true if the end was among its rows. The thread sleeps meanwhile, because
        waking it for each row would interrupt the loop as often."""
        time.sleep(self.rules.window_ms / 1000)
        while len(group) < self.rules.rows:
            try:
                write = self.waiting.get_nowait()
            except queue.Empty:
                return False
            if write is None:
                return True
            group.append(write)
        return False

    def commit(self, group: list[PendingWrite]) -> None:
        """Commit one transaction. If the disk is full, the ballast makes room for the calls in flight, and `alarm` says
        that no others may start. If the commit still fails, nothing more is written, and all futures fail."""
        error = self.broken or self.attempt(group)
        if error is not None and self.broken is None and self.drop_ballast():
            self.alarm, error = error, self.attempt(group)
        self.broken = error
        for loop, futures in by_loop(group).items():
            loop.call_soon_threadsafe(resolve_futures, futures, error)

    def attempt(self, group: list[PendingWrite]) -> LedgerError | None:
        """Try the transaction. Returns the error if it failed; it is then rolled back as a whole."""
        try:
            self.connection.execute("begin immediate")
            for kind, rows in by_kind(group).items():
                for piece in pieces(rows):
                    self.connection.execute(kind.over(len(piece)), list(chain.from_iterable(piece)))
            self.connection.execute("commit")
        except (sqlite3.Error, ValueError, OverflowError, LedgerError) as error:
            if self.connection.in_transaction:
                self.connection.execute("rollback")
            if isinstance(error, LedgerError):
                return error
            if isinstance(error, sqlite3.Error):
                return as_ledger_error(self.path, error)
            return LedgerError(f"{self.path}: a value cannot be kept: {error}. Nothing was asked after this.")
        return None

    def hold_ballast(self) -> None:
        """Reserve disk space that can be freed when the disk is full. Raises LedgerError if it is full already."""
        path = self.folder / BALLAST
        if path.exists() and path.stat().st_size == self.rules.ballast_bytes:
            return
        try:
            with path.open("wb") as file:
                file.write(bytes(self.rules.ballast_bytes))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            path.unlink(missing_ok=True)
            raise LedgerError(f"{self.folder}: there is no room for answers: {error.strerror}. Make room.") from error

    def drop_ballast(self) -> bool:
        """Free the reserved space; false if it was freed before."""
        path = self.folder / BALLAST
        if not path.exists():
            return False
        path.unlink()
        return True


def by_kind(group: list[PendingWrite]) -> dict[Statement, list[tuple[Any, ...]]]:
    """The rows of a group by their statement. Few statements serve all rows, because after each one the loop's thread
    may run for long."""
    counts: dict[Statement, list[tuple[Any, ...]]] = {}
    for note in group:
        for kind, row in note.rows:
            counts.setdefault(kind, []).append(row)
    return counts


def pieces(rows: list[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Rows in two or three pieces of few different lengths: SQLite keeps one prepared statement a length."""
    start = 0
    while start < len(rows):
        size = next(size for size in ROWS if size <= len(rows) - start)
        yield rows[start : start + size]
        start += size


def by_loop(group: list[PendingWrite]) -> dict[asyncio.AbstractEventLoop, list["asyncio.Future[None]"]]:
    """The futures of a group by the loop that waits for them (there is one, but for tests)."""
    connections: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for note in group:
        if note.future is not None:
            connections.setdefault(note.future.get_loop(), []).append(note.future)
    return connections


def resolve_futures(futures: list["asyncio.Future[None]"], error: LedgerError | None) -> None:
    """In the loop: the commit is done, or has failed."""
    for future in futures:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
