"""Batch mode: the same questions, ledger and keys, handed to the endpoint a file at a time at a lower price.

Each batch gets a name that is durable before anything is sent and that its metadata repeats. So a run that was killed
at any moment finds its batches again and creates none twice. Requests that a batch leaves unanswered go into another.
"""

import asyncio
import hashlib
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from openclawbench.errors import BudgetReached, EndpointFailing, EndpointRefused, UnreadableAnswers
from openclawbench.judge.client.budget import Budget
from openclawbench.judge.client.engine import REFUSED, QuestionTask, is_client_fault, options_without
from openclawbench.judge.client.progress import JudgeProgress
from openclawbench.judge.client.unreadable_answers import UnreadableAnswerBreaker
from openclawbench.judge.ledger.ledger import ADD_ANSWER, ADD_UNREAD, Ledger, Row, Statement
from openclawbench.judge.ledger.stored_answer import StoredAnswer, answer_row, now, stored_answer, was_cut_off_sooner
from openclawbench.judge.protocol import AnswerCheck
from openclawbench.judge.transport.batch_api import BatchClient
from openclawbench.judge.transport.chat_request import ChatRequest
from openclawbench.judge.transport.endpoint import printable_url
from openclawbench.judge.transport.protocol import HttpResponse, RejectedRequest, TransientError
from openclawbench.judge.transport.request_options import RequestOptions
from openclawbench.judge.transport.responses import check_response, one_line
from openclawbench.rules.judge.asking import AskingRules
from openclawbench.rules.judge.prices import Price
from openclawbench.rules.judge.request import RequestRules

BATCHED = ["key", "batch", "stage", "model", "trajectory_id", "packet_sha256", "request_bytes", "way", "corrects"]
ADD_BATCH = Statement("insert or replace into batches(name, id, status, created_at) values {}", 4)
ADD_BATCHED = Statement(f"insert or replace into batched({', '.join(BATCHED)}) values {{}}", len(BATCHED))
END_BATCHED = Statement("delete from batched where key in (values {})", 1)
COMMIT_TOGETHER = 200  # answers of a batch in one commit
TEMPORARY_PREFIX = ".batch-"  # files on their way to or from the endpoint
ENDED = ("completed", "failed", "expired", "cancelled")
Rows = tuple[Row, ...]


class BatchRun:
    """Asks all questions of one stage in batches."""

    def __init__(
        self,
        ledger: Ledger,
        client: BatchClient,
        price: Price,
        budget: Budget,
        options: RequestOptions,
        rules: AskingRules,
        parameters: RequestRules,
        plain: str,
        tally: JudgeProgress,
        stopped: Callable[[], None],
    ) -> None:
        """`price` is the price of batch requests. `stopped` raises if the run is to end."""
        self.ledger, self.client, self.price, self.budget = ledger, client, price, budget
        self.options, self.rules, self.plain, self.tally, self.stopped = options, rules, plain, tally, stopped
        self.parameters = parameters
        self.failures: Counter[bytes] = Counter()
        self.refused: list[
            tuple[RejectedRequest, dict[str, Any]]
        ] = []  # of the batch that is being collected; their rows
        self.unreadable = UnreadableAnswerBreaker(rules.retry.unreadable_in_a_row)
        self.first_read, self.first_unread = 0, 0  # first answers of this run that can be read, and that cannot
        self.collected: set[bytes] = set()  # keys of the answers of this run

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
        waiting: list[tuple[QuestionTask, ChatRequest, bytes | None]] = []
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

    def next_request(self, task: QuestionTask) -> tuple[ChatRequest, bytes | None] | None:
        """The request to send for a question; None if its answer is final, which is noted then."""
        first = last = self.ledger.answer_to(task.first)
        if first is None or last is None:
            return task.first, None
        check = task.read(first)
        if check.complaint is not None and (second := task.second(first, check.complaint)) is not None:
            last = self.ledger.answer_to(second)
            if last is None:
                self.refuse_to_correct_all(first, check)
                return second, first.key
            check = task.read(last)
        else:
            self.first_read += first.key in self.collected
        if last.key not in self.collected and was_cut_off_sooner(check, last, task.first):
            another = task.in_round(task.first.round + 1)
            self.ledger.begin_round(task.first.base, another.first.round, task.first.model)
            return self.next_request(another)
        self.ledger.settle(task.id, first.key, last.key, check.settled_as, task.judge, task.first.base)
        self.tally.count_question(check.gist)
        if last.key in self.collected:
            self.unreadable.record(check)
        return None

    def refuse_to_correct_all(self, first: StoredAnswer, check: AnswerCheck) -> None:
        """Raise UnreadableAnswers if this run received many first answers and none of them can be read. A person must
        look at them before all of these questions are asked again."""
        self.first_unread += first.key in self.collected
        if not self.first_read and self.first_unread >= self.unreadable.most:
            raise UnreadableAnswers(
                f"the first {self.first_unread} answers are all unreadable (the last one: {check.settled_as}). Nothing "
                "more is asked. `openclawbench ledger export` shows what the model writes; try another model or "
                "endpoint, or run again to ask for each of these answers once more. Every answer is kept."
            )

    async def submit(self, requests: list[tuple[QuestionTask, ChatRequest, bytes | None]]) -> int:
        """Create one batch. Its name and requests are durable before anything is sent."""
        name = uuid.uuid4().hex
        path = self.ledger.folder / f"{TEMPORARY_PREFIX}{name}.jsonl"
        rows = [batched_row(name, self.options, *request) for request in requests]
        with path.open("wb") as file:
            for _, request, _ in requests:
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

    def line(self, request: ChatRequest) -> bytes:
        """A request as a line of a batch's file."""
        body = self.options.body(request, self.plain)
        line = {"custom_id": request.key.hex(), "method": "POST", "url": "/v1/chat/completions", "body": body}
        return msgspec.json.encode(line) + b"\n"

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

    async def settle_refused(self, is_well: bool) -> None:
        """Handle the requests of the batch that the endpoint refused.

        A request that is refused for an unknown reason goes to review, with the endpoint's message as its answer, and
        does not stop later runs. This holds if the batch has other answers (`is_well`), or if few requests were refused
        and the model has answered before."""
        poison = []
        for rejection, row in self.refused:
            options = RequestOptions.from_text(str(row["way"]))
            if is_client_fault(rejection) and options_without(options, rejection, self.rules) is None:
                poison.append((rejection, row))
            else:
                await self.drop_refused_option(rejection, row)
        few = len(poison) < self.rules.retry.refused_in_a_row
        if poison and not is_well and not (few and self.ledger.has_answers_of(str(poison[0][1]["model"]))):
            await self.drop_refused_option(*poison[0])
            return
        for rejection, row in poison:
            received = HttpResponse(rejection.body, rejection.headers, request_id=rejection.request_id)
            rows = self.kept_rows(bytes(row["key"]), received, REFUSED, row)
            self.failures.pop(bytes(row["key"]), None)
            await self.ledger.put(*rows)

    async def drop_refused_option(self, rejection: RejectedRequest, row: dict[str, Any]) -> None:
        """Remember the option that the endpoint refuses, so that later batches omit it, and take the requests out of
        their batch. Raises EndpointRefused if the refusal has another cause."""
        if row["way"] != self.options.text:  # the options have changed since
            return
        reduced = options_without(self.options, rejection, self.rules)
        if reduced is None:
            raise EndpointRefused(
                f"the endpoint refuses a request of a batch ({rejection.status}): {rejection.message}. Every answer is "
                "kept, and no batch holds a request any more."
            )
        self.options = reduced
        self.failures.clear()  # what failed for this fails no more
        await self.ledger.remember(printable_url(self.client.endpoint.base_url), str(row["model"]), reduced.text)

    async def store_answers(self, path: Path) -> None:
        """Keep the answers in a batch's file; requests without an answer are left for another batch."""
        with path.open("rb") as file:
            lines = (line for line in lines_of(file, self.rules.connection.largest_answer_bytes) if line.strip())
            while group := list(islice(lines, COMMIT_TOGETHER)):
                answer_rows = [rows for line in group if (rows := self.rows_of(line)) is not None]
                if answer_rows:
                    await self.ledger.put(*chain.from_iterable(answer_rows))

    def rows_of(self, line: bytes) -> Rows | None:
        """The row of the answer, and the statement that ends its waiting; None if the line holds no answer."""
        try:
            content = msgspec.json.decode(line, type=BatchOutputLine)
            key = bytes.fromhex(content.custom_id)
        except (msgspec.DecodeError, ValueError):  # not an answer: the question is asked again
            self.tally.failures += 1
            return None
        query = f"select {', '.join(BATCHED)} from batched where key = ?"
        stored_row = self.ledger.reader.execute(query, (key,)).fetchone()
        response = content.response
        if stored_row is None:
            return None
        row = dict(zip(BATCHED, stored_row, strict=True))
        if response is None:
            return None
        headers = {"x-request-id": str(response.request_id)} if response.request_id else {}
        finish = None
        try:
            received = check_response(
                response.status_code, headers, bytes(response.body), self.rules, self.client.secrets
            )
        except TransientError as failure:
            self.tally.last_failure = failure.sentence
            return None if failure.body is None else unread_rows(row, failure)
        except RejectedRequest as rejection:
            finish = self.rules.question_fault_in(rejection.message)
            if finish is None:
                self.refused.append((rejection, row))
                return None
            received = HttpResponse(rejection.body, headers, request_id=rejection.request_id)
        return self.kept_rows(key, received, finish, row)

    def kept_rows(self, key: bytes, received: HttpResponse, finish: str | None, row: dict[str, Any]) -> Rows:
        """The row of an answer, and the statement that ends its waiting."""
        limit = self.parameters.max_output_tokens
        stored = stored_answer(key, received, finish, self.price, self.rules, int(row["request_bytes"]), limit)
        answer = answer_row(stored, row, 1, 0.0, str(row["way"]), row["corrects"])
        tokens = stored.prompt_tokens + stored.completion_tokens
        self.tally.count_answer(stored.cost_usd, tokens, stored.cached_tokens, stored.usage_estimated)
        self.collected.add(key)
        return (ADD_ANSWER, answer), (END_BATCHED, (key,))


def unread_rows(row: dict[str, Any], failure: TransientError) -> Rows:
    """The row of a response with status 200 that is not an answer."""
    body = failure.body or b""
    about = (row["key"], row["stage"], row["trajectory_id"], failure.reason, now())
    return ((ADD_UNREAD, (*about, body, hashlib.sha256(body).digest())),)


def lines_of(file: BinaryIO, most: int) -> Iterator[bytes]:
    """The lines of a file. A line that is longer than an answer may be is skipped: its question is asked again."""
    while line := file.readline(2 * most):
        if line.endswith(b"\n") or len(line) < 2 * most:
            yield line
        else:
            while (rest := file.readline(2 * most)) and not rest.endswith(b"\n"):
                pass


class LineResponse(msgspec.Struct):
    """The response in a line of a batch's output."""

    status_code: int
    body: msgspec.Raw
    request_id: Any = None


class BatchOutputLine(msgspec.Struct):
    """A line of a batch's output."""

    custom_id: str
    response: LineResponse | None = None


def end_reason(batch: dict[str, Any]) -> str:
    """The endpoint's reason for a batch's end, after a colon; empty if it gives none."""
    errors = batch.get("errors")
    messages = [row.get("message") for row in (errors or {}).get("data") or [] if isinstance(row, dict)]
    words = one_line("; ".join(str(message) for message in messages if message))
    return f": {words}" if words else ""


def batched_row(
    name: str, options: RequestOptions, task: QuestionTask, request: ChatRequest, corrects: bytes | None
) -> tuple[Any, ...]:
    """The values of a request that are stored until its answer arrives."""
    question = task.question
    request_values = (request.model, question.trajectory_id, request.packet_sha256, request.bytes)
    return (request.key, name, question.stage, *request_values, options.text, corrects)


def open_requests(ledger: Ledger) -> int:
    """Requests in batches that are not collected yet."""
    return int(ledger.reader.execute("select count(*) from batched").fetchone()[0])
