"""Batch mode: the same questions, ledger and keys, handed to the endpoint a file at a time at a lower price.

Each batch gets a name that is durable before anything is sent and that its metadata repeats. So a run that was killed
at any moment finds its batches again and creates none twice. Requests that a batch leaves unanswered go into another.
"""

import asyncio
import hashlib
import uuid
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from openclawbench.errors import BudgetReached, EndpointFailing
from openclawbench.judge.client.batch_engine import (
    BATCHED,
    END_BATCHED,
    Asked,
    BatchEngine,
    Need,
    Rows,
    batch_answer,
    lines_of,
    row_of,
)
from openclawbench.judge.client.engine import QuestionTask
from openclawbench.judge.ledger.ledger import ADD_UNREAD, Ledger, Statement
from openclawbench.judge.ledger.stored_answer import now
from openclawbench.judge.transport.batch_api import BatchClient
from openclawbench.judge.transport.protocol import RejectedRequest, TransientError
from openclawbench.judge.transport.request_options import RequestOptions
from openclawbench.judge.transport.responses import one_line

ADD_BATCH = Statement("insert or replace into batches(name, id, status, created_at) values {}", 4)
ADD_BATCHED = Statement(f"insert or replace into batched({', '.join(BATCHED)}) values {{}}", len(BATCHED))
COMMIT_TOGETHER = 200  # answers of a batch in one commit
TEMPORARY_PREFIX = ".batch-"  # files on their way to or from the endpoint
ENDED = ("completed", "failed", "expired", "cancelled")


class BatchRun(BatchEngine):
    """Asks all questions of one stage in batches."""

    def __init__(self, asked: Asked, options: RequestOptions, client: BatchClient) -> None:
        super().__init__(asked, options)
        self.client = client

    async def run(self, tasks: Callable[[], Iterator[list[QuestionTask]]]) -> None:
        """Hand over unanswered questions and collect the answers, round by round. Raises EndpointFailing if requests
        fail in every round, and BudgetReached if the remaining requests exceed the budget."""
        while True:
            await self.collect_all()
            self.first_read = self.first_unread = 0
            sent, over = await self.submit_all(tasks())
            if not sent:
                if over is not None:
                    raise over
                return

    async def collect_all(self) -> None:
        """Wait for every batch that is not collected yet, after removing the temporary files of a killed run."""
        for path in self.ledger.folder.glob(f"{TEMPORARY_PREFIX}*"):
            path.unlink()
        for name, id_ in self.ledger.reader.execute(
            "select name, id from batches where status != 'collected' order by created_at"
        ).fetchall():
            batch_id = id_ or await self.find_interrupted(name)
            if batch_id is not None:
                await self.collect(name, batch_id)

    async def find_interrupted(self, name: str) -> str | None:
        """The id of a batch whose creation was interrupted; None if the endpoint does not know it."""
        batch = await self.client.find(name)
        if batch is None:
            keys = self.ledger.reader.execute("select key from batched where batch = ?", (name,)).fetchall()
            await self.ledger.put((ADD_BATCH, (name, None, "collected", 0.0)), *((END_BATCHED, key) for key in keys))
            return None
        return str(batch["id"])

    # ----------------------------------------------------------------------------------------------------- handing over
    async def submit_all(self, batches: Iterator[list[QuestionTask]]) -> tuple[int, BudgetReached | None]:
        """Create batches of all unanswered questions. Returns the number of requests, and the error if the budget ended
        this early."""
        sent, full = 0, None
        waiting: list[tuple[QuestionTask, Need]] = []
        size = 0
        for batch in batches:
            for task in batch:
                self.stopped()
                need = self.next_request(task)
                if need is None:
                    continue
                if not self.budget.fits(self.budget.maximum(need[0].bytes)):
                    full = BudgetReached(self.budget.sentence(self.budget.maximum(need[0].bytes)))
                    break
                await self.budget.reserve(need[0].bytes)
                waiting.append((task, need))
                size += need[0].bytes
                if len(waiting) >= self.rules.batch.requests or size >= self.rules.batch.bytes:
                    sent += await self.submit(waiting)
                    waiting, size = [], 0
            if full is not None:
                break
        if waiting:
            sent += await self.submit(waiting)
        return sent, full

    async def submit(self, requests: list[tuple[QuestionTask, Need]]) -> int:
        """Create one batch. Its name and requests are durable before anything is sent."""
        name = uuid.uuid4().hex
        path = self.ledger.folder / f"{TEMPORARY_PREFIX}{name}.jsonl"
        rows = [tuple(row_of(name, self.options, *request).values()) for request in requests]
        with path.open("wb") as file:
            for _, (request, _) in requests:
                file.write(self.line(request))
        try:
            moment = now()
            await self.ledger.put((ADD_BATCH, (name, None, "begun", moment)), *((ADD_BATCHED, row) for row in rows))
            file_id = await self.client.upload(path)
            batch = await self.client.create(file_id, name)
            await self.ledger.put((ADD_BATCH, (name, batch["id"], "made", moment)))
        finally:
            path.unlink(missing_ok=True)
        return len(requests)

    # ------------------------------------------------------------------------------------------------------- collecting
    async def collect(self, name: str, id_: str) -> None:
        """Wait for a batch and keep its answers."""
        while (batch := await self.client.status(id_))["status"] not in ENDED:
            self.stopped()
            await asyncio.sleep(self.rules.batch.poll_s)
        last_word = f"batch {id_} ended as {batch['status']}{end_reason(batch)}"
        self.refused, before = [], set(self.collected)
        for field in ("output_file_id", "error_file_id"):
            if file_id := batch.get(field):
                path = self.ledger.folder / f"{TEMPORARY_PREFIX}{name}.{field}.jsonl"
                await self.client.download(file_id, path)
                await self.store_answers(path)
                path.unlink()
        unanswered = [key for (key,) in self.ledger.reader.execute("select key from batched where batch = ?", (name,))]
        self.failures.update(unanswered)
        ended = ((END_BATCHED, (key,)) for key in unanswered)
        await self.ledger.put((ADD_BATCH, (name, id_, "collected", 0.0)), *ended)
        self.budget.restart(self.ledger.spent())
        await self.settle_refused(bool(self.collected - before))
        if batch["status"] == "failed":  # the same file would fail again
            raise EndpointFailing(f"{last_word}. Every answer is kept; run again to make another one.")
        if most := max((self.failures[key] for key in unanswered), default=0):
            self.tally.failures += len(unanswered)
            if most >= self.rules.retry.attempts:
                raise EndpointFailing(
                    f"{len(unanswered)} requests got no answer in {most} batches ({last_word}). Every answer is kept; "
                    "run again to ask them again."
                )

    async def store_answers(self, path: Path) -> None:
        """Keep the answers in a batch's file; requests without an answer are left for another batch."""
        with path.open("rb") as file:
            lines = (line for *_, line in lines_of(file, self.rules.connection.largest_answer_bytes))
            while group := list(islice(lines, COMMIT_TOGETHER)):
                answer_rows = [rows for line in group if (rows := self.rows_of(line)) is not None]
                if answer_rows:
                    await self.ledger.put(*chain.from_iterable(answer_rows))

    def rows_of(self, line: bytes) -> Rows | None:
        """The row of the answer, and the statement that ends its waiting; None if the line holds no answer."""
        try:
            answer = batch_answer(line)
            key = bytes.fromhex(answer.custom_id)
        except ValueError:  # not an answer: the question is asked again
            self.tally.failures += 1
            return None
        query = f"select {', '.join(BATCHED)} from batched where key = ?"
        stored_row = self.ledger.reader.execute(query, (key,)).fetchone()
        if stored_row is None:
            return None
        row = dict(zip(BATCHED, stored_row, strict=True))
        try:
            return self.kept_rows(key, *self.received(answer), row)
        except TransientError as failure:
            self.tally.last_failure = failure.sentence
            return None if failure.body is None else unread_rows(row, failure)
        except RejectedRequest as rejection:
            self.refused.append((rejection, row))
            return None


def unread_rows(row: dict[str, Any], failure: TransientError) -> Rows:
    """The row of a response with status 200 that is not an answer."""
    body = failure.body or b""
    about = (row["key"], row["stage"], row["trajectory_id"], failure.reason, now())
    return ((ADD_UNREAD, (*about, body, hashlib.sha256(body).digest())),)


def end_reason(batch: dict[str, Any]) -> str:
    """The endpoint's reason for a batch's end, after a colon; empty if it gives none."""
    errors = batch.get("errors")
    messages = [row.get("message") for row in (errors or {}).get("data") or [] if isinstance(row, dict)]
    words = one_line("; ".join(str(message) for message in messages if message))
    return f": {words}" if words else ""


def open_requests(ledger: Ledger) -> int:
    """Requests in batches that are not collected yet."""
    return int(ledger.reader.execute("select count(*) from batched").fetchone()[0])
