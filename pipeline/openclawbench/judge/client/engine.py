"""The asking engine: questions in, every answer durable in the ledger before anything is made of it.

A request holds its slot only while it is with the endpoint: its intent is durable before it takes the slot, the commit
of its answer is waited for after it has left it, and what follows from an answer (a corrective question, the note that
the question is settled) comes after that.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from openclawbench.errors import EndpointFailing, EndpointRefused, OpenClawBenchError
from openclawbench.judge.client.budget import Budget
from openclawbench.judge.client.concurrency import AdaptiveConcurrency
from openclawbench.judge.client.progress import JudgeProgress
from openclawbench.judge.client.rate_limit import RateLimits
from openclawbench.judge.client.retry import CircuitBreaker, RetryPolicy
from openclawbench.judge.client.unreadable_answers import UnreadableAnswerBreaker
from openclawbench.judge.ledger.ledger import ADD_ANSWER, ADD_LOST, ADD_UNREAD, END_INTENT, Ledger
from openclawbench.judge.ledger.stored_answer import (
    StoredAnswer,
    answer_row,
    now,
    storable,
    stored_answer,
    was_cut_off_sooner,
)
from openclawbench.judge.protocol import AnswerCheck, AnswerProblem, Question
from openclawbench.judge.transport.chat_request import ChatRequest
from openclawbench.judge.transport.endpoint import Endpoint, printable_url
from openclawbench.judge.transport.protocol import HttpResponse, RejectedRequest, TransientError, Transport
from openclawbench.judge.transport.request_options import RequestOptions
from openclawbench.rules.asking import AskingRules
from openclawbench.rules.prices import Price

LONGEST_NAP_S = 0.5
REFUSED = "refused"  # outcome of a question that the endpoint refuses while it answers others
# Questions under way beside those with the endpoint, their intents being made durable or waiting for a slot: at least
# so many, or one for so many slots.
LEAST_WAITING = 4
SHARE_WAITING = 2
# Answers that wait for their commit beside what is with the endpoint: one for so many slots. A kill pays both again.
SHARE_COMMITTING = 10


@dataclass(frozen=True)
class QuestionTask:
    """A question with how to ask it: its first request, what an answer lacks, the request that asks once more."""

    question: Question
    id: bytes  # under which it is settled
    first: ChatRequest
    judge: bytes  # who reads it: stands beside what is settled
    read: Callable[[StoredAnswer], AnswerCheck]  # what an answer says, and what is wrong with it
    second: Callable[[StoredAnswer, AnswerProblem], ChatRequest | None]  # null where asking again is no use
    is_new: bool  # no answer to the first request was there when the task was made

    def in_round(self, number: int, is_new: bool = True) -> "QuestionTask":
        """The same question, asked anew."""
        second = self.second

        def again(kept: StoredAnswer, complaint: AnswerProblem) -> ChatRequest | None:
            request = second(kept, complaint)
            return None if request is None else request.in_round(number)

        return replace(self, first=self.first.in_round(number), second=again, is_new=is_new)


class RunStopped(Exception):
    """In a task: the run is ending; this question is left for the next one."""


class QuestionDeferred(RunStopped):
    """In a task: refused before this model answered anything, so that nobody knows yet what is wrong with it."""


class Engine:
    """Asks the questions of one stage. `halt` ends it: nothing new is sent, calls in flight are waited for."""

    def __init__(
        self,
        ledger: Ledger,
        transport: Transport,
        endpoint: Endpoint,
        price: Price,
        budget: Budget,
        limits: RateLimits,
        concurrency: int,
        rules: AskingRules,
        plain_prompt: str,
        tally: JudgeProgress,
    ) -> None:
        self.ledger, self.transport, self.endpoint, self.price = ledger, transport, endpoint, price
        self.budget, self.limits, self.rules, self.plain_prompt = budget, limits, rules, plain_prompt
        self.tally = tally
        self.patience = RetryPolicy(rules.retry)
        self.breaker = CircuitBreaker(concurrency, rules.retry)
        self.slots = AdaptiveConcurrency(concurrency, concurrency // SHARE_COMMITTING, rules.adapt)
        self.under_way = asyncio.Semaphore(concurrency + max(LEAST_WAITING, concurrency // SHARE_WAITING))
        self.stopping: OpenClawBenchError | None = None
        self.way: RequestOptions | None = None
        self.remembered: RequestOptions | None = None
        self.last_failure = ""
        self.unreadable = UnreadableAnswerBreaker(rules.retry.unreadable_in_a_row)
        self.refused = 0  # requests in a row that were refused for a reason that is not known
        self.deferred: dict[bytes, QuestionTask] = {}  # refused so before anything was answered: asked again at the end

    async def run(self, batches: Iterator[list[QuestionTask]]) -> None:
        """Ask everything. Raises what ended the run early, after the calls in flight; EndpointFailing where questions
        were given up."""
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            while (
                self.stopping is None and (batch := await loop.run_in_executor(None, next, batches, None)) is not None
            ):
                for task in batch:
                    await self.begin(task, group)
        async with asyncio.TaskGroup() as group:
            for task in self.deferred.values():
                if self.stopping is None:
                    await self.begin(task, group)
        if self.stopping is not None:
            raise self.stopping
        if self.tally.unanswered:
            raise EndpointFailing(
                f"{self.tally.unanswered} questions of stage {self.tally.stage} got no answer from "
                f"{printable_url(self.endpoint.base_url)} (last: {self.last_failure}). Every answer is kept. Run "
                "the same command again to ask them again."
            )

    async def begin(self, task: QuestionTask, group: asyncio.TaskGroup) -> None:
        """Start on a question when there is room. The first one to an unknown endpoint goes alone: it finds the way."""
        await self.under_way.acquire()
        if self.stopping is not None:  # the room is given back: the rest of the batch must not wait for it
            self.under_way.release()
            return
        begun = group.create_task(self.carry_out(task))
        if self.way is None:
            remembered = self.ledger.accepts(printable_url(self.endpoint.base_url), task.first.model)
            self.remembered = RequestOptions.from_text(remembered) if remembered else None
            self.way = self.remembered or RequestOptions()
            if remembered is None:
                await begun

    async def carry_out(self, task: QuestionTask) -> None:
        """One question to its end; what ends the run is noted for all."""
        try:
            await self.pursue(task)
        except OpenClawBenchError as error:
            self.halt(error)
        except TransientError as failure:
            self.tally.unanswered += 1
            self.last_failure = f"{task.question.trajectory_id}: {failure.sentence}"
        except QuestionDeferred:
            self.deferred[task.id] = task
        except RunStopped:
            pass
        finally:
            self.under_way.release()

    def halt(self, why: OpenClawBenchError) -> None:
        """End the run: nothing new is sent."""
        self.stopping = self.stopping or why

    async def pursue(self, task: QuestionTask) -> None:
        """Ask; ask once more where the answer is none; note which answer stands."""
        kept = None if task.is_new else self.ledger.answer_to(task.first)
        first = last = kept or await self.answer(task, task.first, None)
        heard = task.read(first)
        if heard.complaint is not None and (second := task.second(first, heard.complaint)) is not None:
            kept = self.ledger.answer_to(second)
            last = kept or await self.answer(task, second, first.key)
            heard = task.read(last)
        if kept is not None and was_cut_off_sooner(heard, last, task.first):
            another = task.in_round(task.first.round + 1)
            await self.ledger.begin_round(task.first.base, another.first.round, task.first.model)
            await self.pursue(another)
            return
        self.ledger.settle(task.id, first.key, last.key, heard.outcome, task.judge, task.first.base)
        self.tally.heard(heard.gist)
        if kept is None:
            self.unreadable.heard(heard, last)

    async def answer(self, task: QuestionTask, request: ChatRequest, corrects: bytes | None) -> StoredAnswer:
        """The endpoint's answer to a request, once it is durable."""
        reserved = await self.budget.reserve(request.bytes)
        self.tally.asked_again += corrects is not None
        usd, tokens = 0.0, 0
        try:
            stored, row = await self.call(task, request, corrects)
            usd, tokens = stored.cost_usd, stored.prompt_tokens + stored.completion_tokens
        finally:
            self.budget.settle(reserved, usd, tokens)
        self.limits.correct(self.estimated(task, request), tokens)
        self.tally.add(usd, tokens, stored.cached_tokens, stored.usage_estimated)
        try:
            await self.ledger.put((ADD_ANSWER, row), (END_INTENT, (request.key,)))
        finally:
            self.slots.acknowledged()
        if self.way is not None and self.way != self.remembered:
            self.remembered = self.way
            await self.ledger.remember(printable_url(self.endpoint.base_url), request.model, self.way.text)
        return stored

    # ------------------------------------------------------------------------------------------------------ one call
    async def call(
        self, task: QuestionTask, request: ChatRequest, corrects: bytes | None
    ) -> tuple[StoredAnswer, tuple[Any, ...]]:
        """Send a request until it is answered. What an endpoint refuses of the way it is asked is left out. `answer`
        tells the slots when it is acknowledged."""
        question, attempts = task.question, [0]
        self.go_on()
        await self.ledger.intend(request.key, question.stage, question.trajectory_id)
        try:
            async with self.slots:
                started = time.monotonic()
                received, finish, way = await self.sent(task, request, attempts)
        except (TransientError, OpenClawBenchError, RunStopped):
            self.slots.acknowledged()
            await self.ledger.put((END_INTENT, (request.key,)))
            raise
        latency = time.monotonic() - started
        return self.row(task, request, corrects, received, finish, way, attempts[0], latency)

    async def sent(
        self, task: QuestionTask, request: ChatRequest, attempts: list[int]
    ) -> tuple[HttpResponse, str | None, RequestOptions]:
        """What came back, the outcome where the endpoint refused this one question, and the way it was asked."""
        while True:
            assert self.way is not None
            way = self.way
            body = msgspec.json.encode(way.body(request, self.plain_prompt))
            try:
                return await self.send(task, request, body, attempts), None, way
            except RejectedRequest as refusal:
                finish = self.rules.question_fault_in(refusal.message) if is_client_fault(refusal) else None
                if finish is None and refusal.status == 413:
                    finish = "too_long"
                if finish is None and self.is_poison(refusal, way, task):
                    finish = REFUSED
                if finish is not None:
                    return HttpResponse(refusal.body, refusal.headers, request_id=refusal.request_id), finish, way
                self.find_another_way(refusal, way, request)

    def is_poison(self, refusal: RejectedRequest, way: RequestOptions, task: QuestionTask) -> bool:
        """True if the endpoint rejects this request alone, for an unknown reason: the model has answered others before,
        and only few in a row were rejected. Raises QuestionDeferred while the model has not answered any request."""
        if not is_client_fault(refusal) or other_way(way, refusal, self.rules) is not None:
            return False
        self.refused += 1
        if self.refused >= self.rules.retry.refused_in_a_row:
            return False
        is_well = self.ledger.has_answers_of(task.first.model)
        if not is_well and task.id not in self.deferred:
            raise QuestionDeferred
        return is_well

    def estimated(self, task: QuestionTask, request: ChatRequest) -> int:
        """Tokens that a request is counted for until its usage is known."""
        estimate = self.rules.estimate
        answer = estimate.completion_tokens.get(task.question.stage, 0)
        return int(request.bytes / estimate.bytes_per_token) + answer

    def go_on(self) -> None:
        """Raises RunStopped where the run is ending."""
        if self.ledger.alarm is not None:
            self.halt(self.ledger.alarm)
        if self.stopping is not None:
            raise RunStopped

    async def send(self, task: QuestionTask, request: ChatRequest, body: bytes, attempts: list[int]) -> HttpResponse:
        """Send, and again where what failed may pass."""
        tokens = self.estimated(task, request)

        async def attempt() -> HttpResponse:
            self.go_on()
            if (seconds := self.limits.wait(tokens)) > 0.0:
                await self.nap(seconds)
                await self.limits.turn(tokens, self.nap)
            attempts[0] += 1
            sent_at = time.monotonic()
            try:
                received = await self.transport.send(body)
            except TransientError as failure:
                self.slots.failed(failure, sent_at)
                await self.note(failure, task.question, request)
                raise
            self.breaker.answered()
            self.refused = 0
            self.slots.answered()
            self.limits.learn(received.headers)
            return received

        try:
            return await attempt()
        except TransientError as failure:
            return await self.patience.again(failure, attempt, self.nap)

    async def note(self, failure: TransientError, question: Question, request: ChatRequest) -> None:
        """Count a failure, list it where it may have been paid for, wait where the endpoint says so."""
        self.tally.failures += 1
        self.tally.last_failure = failure.reason
        about = (request.key, question.stage, storable(question.trajectory_id), failure.reason, now())
        if failure.body is not None:
            digest = hashlib.sha256(failure.body).digest()
            await self.ledger.put((ADD_UNREAD, (*about, failure.body, digest)))
        if failure.may_be_paid:
            self.budget.lose(request.bytes)
            await self.ledger.put((ADD_LOST, about))
        if failure.retry_after is not None:
            self.limits.pause(failure.retry_after)
        try:
            self.breaker.failed(failure)
            self.budget.refuse_another(request.bytes)
        except OpenClawBenchError as error:
            self.halt(error)
            raise

    async def nap(self, seconds: float) -> None:
        """Sleep, but not through the end of the run."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            await asyncio.sleep(min(left, LONGEST_NAP_S))
            self.go_on()

    def find_another_way(self, refusal: RejectedRequest, way: RequestOptions, request: ChatRequest) -> None:
        """Leave out what the endpoint refuses, and remember it. Raises EndpointRefused where that is not what it is."""
        other = other_way(way, refusal, self.rules)
        if other is None:
            refused_for_good = EndpointRefused(self.sentence(refusal, request.model))
            self.halt(refused_for_good)  # before its slot is anybody else's
            raise refused_for_good
        if self.way == way:  # not found by another request meanwhile
            self.way = other

    def sentence(self, refusal: RejectedRequest, model: str) -> str:
        """What the endpoint refuses and what to do, without the key."""
        url, said = printable_url(self.endpoint.base_url), refusal.message
        if 300 <= refusal.status < 400:
            return f"{url} redirects ({refusal.status}), and a key goes nowhere else: {said} Correct --base-url."
        what = {
            401: f"{url} refuses the key (401). Set OPENAI_API_KEY to one that is valid there and run again.",
            403: f"{url} does not allow this key to ask {model} (403). Use another key or model and run again.",
            404: f"{url} knows no model {model}, or the address is wrong (404). Check --model and --base-url.",
        }.get(refusal.status, f"{url} refuses the request ({refusal.status}). Nothing more was sent.")
        return f"{what} It says: {said}"

    def row(
        self,
        task: QuestionTask,
        request: ChatRequest,
        corrects: bytes | None,
        received: HttpResponse,
        finish: str | None,
        way: RequestOptions,
        attempts: int,
        latency: float,
    ) -> tuple[StoredAnswer, tuple[Any, ...]]:
        """The answer as it is used and as the ledger keeps it."""
        limit = request.parameters.max_output_tokens
        stored = stored_answer(request.key, received, finish, self.price, self.rules, request.bytes, limit)
        about = {
            "stage": task.question.stage,
            "model": request.model,
            "trajectory_id": task.question.trajectory_id,
            "packet_sha256": request.packet_sha256,
            "request_bytes": request.bytes,
        }
        return stored, answer_row(stored, about, attempts, latency, way.text, corrects)


def is_client_fault(refusal: RejectedRequest) -> bool:
    """True for the statuses with which endpoints refuse what a request holds."""
    return refusal.status in (400, 413, 422)


def other_way(way: RequestOptions, refusal: RejectedRequest, rules: AskingRules) -> RequestOptions | None:
    """The way without what the endpoint refuses of it; null where that is not what it is."""
    refused = rules.adaptation_for(refusal.message) if is_client_fault(refusal) else None
    return way.without(refused) if refused else None
