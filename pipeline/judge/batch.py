"""Batch mode: the same questions, ledger and keys, handed to the endpoint a file at a time at a lower price.

Each batch has a name of ours that is durable before anything is sent and stands in its metadata: a run that was killed
at any moment finds its batches again, and makes none twice. What a batch did not answer is asked for in another one.
"""

import asyncio
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec

from pipeline.errors import BudgetReached, EndpointFailing, EndpointRefused
from pipeline.judge.batch_client import BatchClient
from pipeline.judge.engine import Task, answer_row, other_way, stored_answer
from pipeline.judge.ledger import ADD_ANSWER, Kind, Ledger, now
from pipeline.judge.messages import ChatRequest
from pipeline.judge.money import Budget
from pipeline.judge.responses import checked, one_line
from pipeline.judge.tally import Tally
from pipeline.judge.transport import Passing, Received, Refusal, shown
from pipeline.judge.way import Way
from pipeline.rules.asking import AskingRules
from pipeline.rules.prices import Price

BATCHED = ["key", "batch", "stage", "model", "trajectory_id", "packet_sha256", "request_bytes", "way", "corrects"]
ADD_BATCH = Kind("insert or replace into batches(name, id, status, created_at) values {}", 4)
ADD_BATCHED = Kind(f"insert or replace into batched({', '.join(BATCHED)}) values {{}}", len(BATCHED))
END_BATCHED = Kind("delete from batched where key in (values {})", 1)
COMMIT_TOGETHER = 200  # answers of a batch in one commit
PASSING = ".batch-"  # files on their way to or from the endpoint
ENDED = ("completed", "failed", "expired", "cancelled")


class BatchRun:
    """Asks the questions of one stage in batches, until none is left."""

    def __init__(
        self,
        ledger: Ledger,
        client: BatchClient,
        price: Price,
        budget: Budget,
        way: Way,
        rules: AskingRules,
        plain: str,
        tally: Tally,
        stopped: Callable[[], None],
    ) -> None:
        """`price` is that of batches. `stopped` raises where the run is to end."""
        self.ledger, self.client, self.price, self.budget = ledger, client, price, budget
        self.way, self.rules, self.plain, self.tally, self.stopped = way, rules, plain, tally, stopped
        self.failures: Counter[bytes] = Counter()
        self.refused: tuple[Refusal, dict[str, Any]] | None = None  # of the batch that is being collected; its row

    async def run(self, tasks: Callable[[], Iterator[list[Task]]]) -> None:
        """Rounds: hand over what has no answer, collect. EndpointFailing where requests fail in every round;
        BudgetReached where what is left does not fit."""
        while True:
            await self.collect_all()
            sent, over = await self.hand_over(tasks())
            if not sent:
                if over is not None:
                    raise over
                return

    async def collect_all(self) -> None:
        """Wait for every batch that is not collected yet. What a kill left of files on their way goes first."""
        for path in self.ledger.folder.glob(f"{PASSING}*"):
            path.unlink()
        for name, id_ in self.ledger.reader.execute(
            "select name, id from batches where status != 'collected' order by created_at"
        ).fetchall():
            known = id_ or await self.found_again(name)
            if known is not None:
                await self.collect(name, known)

    async def found_again(self, name: str) -> str | None:
        """The id of a batch whose making was cut off; null where the endpoint knows none: it is made anew."""
        found = await self.client.find(name)
        if found is None:
            keys = self.ledger.reader.execute("select key from batched where batch = ?", (name,)).fetchall()
            await self.ledger.put((ADD_BATCH, (name, None, "collected", 0.0)), *((END_BATCHED, key) for key in keys))
            return None
        return str(found["id"])

    # ----------------------------------------------------------------------------------------------------- handing over
    async def hand_over(self, batches: Iterator[list[Task]]) -> tuple[int, BudgetReached | None]:
        """Make batches of everything that has no answer. How many requests; why not all, where the budget ended it."""
        sent, full = 0, None
        waiting: list[tuple[Task, ChatRequest, bytes | None]] = []
        size = 0
        for batch in batches:
            for task in batch:
                self.stopped()
                need = self.next_request(task)
                if need is None:
                    continue
                if not self.budget.fits(self.budget.most(need[0].bytes)):
                    full = BudgetReached(self.budget.sentence(self.budget.most(need[0].bytes)))
                    break
                await self.budget.reserve(need[0].bytes)
                waiting.append((task, *need))
                size += need[0].bytes
                if len(waiting) >= self.rules.batch.requests or size >= self.rules.batch.bytes:
                    sent += await self.submit(waiting)
                    waiting, size = [], 0
            if full is not None:
                break
        if waiting:
            sent += await self.submit(waiting)
        return sent, full

    def next_request(self, task: Task) -> tuple[ChatRequest, bytes | None] | None:
        """What is to be asked for a question; null where its answer stands, which is noted then."""
        first = last = self.ledger.answer(task.first.key)
        if first is None or last is None:
            return task.first, None
        heard = task.read(first)
        if heard.complaint is not None and (second := task.second(first, heard.complaint)) is not None:
            last = self.ledger.answer(second.key)
            if last is None:
                return second, first.key
            heard = task.read(last)
        self.ledger.settle(task.id, first.key, last.key, heard.outcome)
        self.tally.heard(heard.gist)
        return None

    async def submit(self, requests: list[tuple[Task, ChatRequest, bytes | None]]) -> int:
        """Make one batch. Its name and requests are durable before anything is sent."""
        name = uuid.uuid4().hex
        path = self.ledger.folder / f"{PASSING}{name}.jsonl"
        rows = [batched_row(name, self.way, *one) for one in requests]
        with path.open("wb") as file:
            for _, request, _ in requests:
                file.write(self.line(request))
        try:
            moment = now()
            await self.ledger.put((ADD_BATCH, (name, None, "begun", moment)), *((ADD_BATCHED, row) for row in rows))
            file_id = await self.client.upload(path)
            made = await self.client.make(file_id, name)
            await self.ledger.put((ADD_BATCH, (name, made["id"], "made", moment)))
        finally:
            path.unlink(missing_ok=True)
        return len(requests)

    def line(self, request: ChatRequest) -> bytes:
        """A request as a line of a batch's file."""
        body = self.way.body(request, self.plain)
        line = {"custom_id": request.key.hex(), "method": "POST", "url": "/v1/chat/completions", "body": body}
        return msgspec.json.encode(line) + b"\n"

    # ------------------------------------------------------------------------------------------------------- collecting
    async def collect(self, name: str, id_: str) -> None:
        """Wait for a batch and keep its answers."""
        while (found := await self.client.look(id_))["status"] not in ENDED:
            self.stopped()
            await asyncio.sleep(self.rules.batch.poll_s)
        last_word = f"batch {id_} ended as {found['status']}{because(found)}"
        self.refused = None
        for field in ("output_file_id", "error_file_id"):
            if file_id := found.get(field):
                path = self.ledger.folder / f"{PASSING}{name}.{field}.jsonl"
                await self.client.download(file_id, path)
                await self.keep(path)
                path.unlink()
        unanswered = [key for (key,) in self.ledger.reader.execute("select key from batched where batch = ?", (name,))]
        self.failures.update(unanswered)
        ended = ((END_BATCHED, (key,)) for key in unanswered)
        await self.ledger.put((ADD_BATCH, (name, id_, "collected", 0.0)), *ended)
        self.budget.forget()
        self.budget.spent_usd, self.budget.spent_tokens = self.ledger.spent()
        if self.refused is not None:
            await self.find_another_way(*self.refused)
        if found["status"] == "failed":  # the same file would fail again
            raise EndpointFailing(f"{last_word}. Every answer is kept; run again to make another one.")
        if most := max((self.failures[key] for key in unanswered), default=0):
            self.tally.failures += len(unanswered)
            if most >= self.rules.retry.attempts:
                raise EndpointFailing(
                    f"{len(unanswered)} requests got no answer in {most} batches ({last_word}). Every answer is kept; "
                    "run again to ask them again."
                )

    async def find_another_way(self, refusal: Refusal, row: dict[str, Any]) -> None:
        """Leave out of later batches what the endpoint refuses, and remember it; the requests are no batch's any more.
        Raises EndpointRefused where that is not what it is."""
        if row["way"] != self.way.text:  # another one was found since
            return
        other = other_way(self.way, refusal, self.rules)
        if other is None:
            raise EndpointRefused(
                f"the endpoint refuses a request of a batch ({refusal.status}): {refusal.message}. Every answer is "
                "kept, and no request is in a batch any more."
            )
        self.way = other
        self.failures.clear()  # what failed for this fails no more
        await self.ledger.remember(shown(self.client.endpoint.base_url), str(row["model"]), other.text)

    async def keep(self, path: Path) -> None:
        """Keep the answers in a batch's file; what is none is left for another batch."""
        with path.open("rb") as file:
            lines = (self.client.endpoint.clean(line) for line in file if line.strip())
            while some := list(islice(lines, COMMIT_TOGETHER)):
                found = [rows for line in some if (rows := self.rows_of(line)) is not None]
                if found:
                    await self.ledger.put(*chain.from_iterable(found))

    def rows_of(self, line: bytes) -> tuple[tuple[Kind, tuple[Any, ...]], ...] | None:
        """The answer's row and the end of its waiting; null where the line holds no answer."""
        try:
            found = msgspec.json.decode(line, type=Line)
            key = bytes.fromhex(found.custom_id)
        except (msgspec.DecodeError, ValueError):  # not of the form of an answer: it is asked for again
            self.tally.failures += 1
            return None
        query = f"select {', '.join(BATCHED)} from batched where key = ?"
        known = self.ledger.reader.execute(query, (key,)).fetchone()
        response = found.response
        if known is None or response is None:
            return None
        row = dict(zip(BATCHED, known, strict=True))
        headers = {"x-request-id": response.request_id} if response.request_id else {}
        finish = None
        try:
            received = checked(response.status_code, headers, bytes(response.body), self.rules)
        except Passing:
            return None
        except Refusal as refusal:
            finish = self.rules.question_fault_in(refusal.message)
            if finish is None:
                self.refused = refusal, row
                return None
            received = Received(refusal.body, headers)
        kept = stored_answer(key, received, finish, self.price)
        answer = answer_row(kept, row, 1, 0.0, str(row["way"]), row["corrects"])
        self.tally.add(kept.cost_usd, kept.prompt_tokens + kept.completion_tokens, kept.cached_tokens)
        return (ADD_ANSWER, answer), (END_BATCHED, (key,))


class LineResponse(msgspec.Struct):
    """The response in a line of a batch's output."""

    status_code: int
    body: msgspec.Raw
    request_id: str | None = None


class Line(msgspec.Struct):
    """A line of a batch's output."""

    custom_id: str
    response: LineResponse | None = None


def because(batch: dict[str, Any]) -> str:
    """What the endpoint says of a batch's end, with a colon before it; blank where it says nothing."""
    errors = batch.get("errors")
    said = [one.get("message") for one in (errors or {}).get("data") or [] if isinstance(one, dict)]
    words = one_line("; ".join(str(one) for one in said if one))
    return f": {words}" if words else ""


def batched_row(name: str, way: Way, task: Task, request: ChatRequest, corrects: bytes | None) -> tuple[Any, ...]:
    """What is needed of a request to keep its answer."""
    question = task.question
    ours = (request.model, question.trajectory_id, request.packet_sha256, request.bytes)
    return (request.key, name, question.stage, *ours, way.text, corrects)


def open_requests(ledger: Ledger) -> int:
    """Requests in batches that are not collected yet."""
    return int(ledger.reader.execute("select count(*) from batched").fetchone()[0])
