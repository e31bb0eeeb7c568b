"""The engine: sends the questions of one stage, and makes every answer durable in the ledger before it is used.

A request holds its slot only while it is with the endpoint. Its intent is durable before it takes the slot; the commit
of its answer is awaited after it has left the slot. Only then follows what depends on the answer: a corrective
question, or the note that the question is settled.
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
from openclawbench.judge.retry import CircuitBreaker, RetryPolicy
from openclawbench.judge.transport.chat_request import ChatRequest
from openclawbench.judge.transport.endpoint import Endpoint, printable_url
from openclawbench.judge.transport.protocol import HttpResponse, RejectedRequest, TransientError, Transport
from openclawbench.judge.transport.request_options import RequestOptions
from openclawbench.rules.judge.asking import AskingRules
from openclawbench.rules.judge.prices import Price

LONGEST_SLEEP_S = 0.5  # seconds until a stopped run is noticed
REFUSED = "refused"  # outcome of a question that the endpoint rejects although it answers others
# Questions in progress that are not with the endpoint (their intents are being committed, or they wait for a slot): one
# for every PER_WAITING slots, and at least LEAST_WAITING.
LEAST_WAITING = 4
PER_WAITING = 2
# Answers that wait for their commit outside the slots: one for every PER_COMMITTING slots. A kill pays for these twice.
PER_COMMITTING = 10


@dataclass(frozen=True)
class QuestionTask:
    """A question and how to ask it: its first request, how to check an answer, and the corrective request."""

    question: Question
    id: bytes  # key of its row in `settled`
    first: ChatRequest
    judge: bytes  # digest of the judge that reads it
    read: Callable[[StoredAnswer], AnswerCheck]
    second: Callable[[StoredAnswer, AnswerProblem], ChatRequest | None]  # None if asking again is of no use
    is_new: bool  # the first request had no answer when the task was made

    def in_round(self, number: int, is_new: bool = True) -> "QuestionTask":
        """The same question in another round, with request keys of its own."""
        second = self.second

        def again(answer: StoredAnswer, complaint: AnswerProblem) -> ChatRequest | None:
            request = second(answer, complaint)
            return None if request is None else request.in_round(number)

        return replace(self, first=self.first.in_round(number), second=again, is_new=is_new)


class RunStopped(Exception):
    """Ends a task because the run is stopping. The next run asks its question."""


class QuestionDeferred(RunStopped):
    """Ends a task whose request was rejected before the model answered any other: it is asked again at the end."""


class QuestionRunner:
    """Asks the questions of one stage. `halt` stops it: nothing new is sent, and calls in flight are awaited."""

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
        self.retry_policy = RetryPolicy(rules.retry)
        self.breaker = CircuitBreaker(concurrency, rules.retry)
        self.slots = AdaptiveConcurrency(concurrency, concurrency // PER_COMMITTING, rules.adapt)
        self.in_progress = asyncio.Semaphore(concurrency + max(LEAST_WAITING, concurrency // PER_WAITING))
        self.stopped_by: OpenClawBenchError | None = None
        self.options: RequestOptions | None = None
        self.known_options: RequestOptions | None = None
        self.last_failure = ""
        self.unreadable = UnreadableAnswerBreaker(rules.retry.unreadable_in_a_row)
        self.rejected = 0  # requests in a row that were rejected for an unknown reason
        self.deferred: dict[bytes, QuestionTask] = {}  # rejected before anything was answered

    async def run(self, batches: Iterator[list[QuestionTask]]) -> None:
        """Ask all questions. Raises the error that stopped the run early, once no call is in flight, or EndpointFailing
        if questions were given up."""
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            while (
                self.stopped_by is None and (batch := await loop.run_in_executor(None, next, batches, None)) is not None
            ):
                for task in batch:
                    await self.start(task, group)
        async with asyncio.TaskGroup() as group:
            for task in self.deferred.values():
                if self.stopped_by is None:
                    await self.start(task, group)
        if self.stopped_by is not None:
            raise self.stopped_by
        if self.tally.unanswered:
            raise EndpointFailing(
                f"{self.tally.unanswered} questions of stage {self.tally.stage} got no answer from "
                f"{printable_url(self.endpoint.base_url)} (last: {self.last_failure}). Every answer is kept. Run "
                "the same command again to ask them again."
            )

    async def start(self, task: QuestionTask, group: asyncio.TaskGroup) -> None:
        """Start a question when there is room. The first one to an unknown endpoint goes alone, to find its options."""
        await self.in_progress.acquire()
        if self.stopped_by is not None:  # free the place: the rest of the batch must not wait for it
            self.in_progress.release()
            return
        asyncio_task = group.create_task(self.run_task(task))
        if self.options is None:
            remembered = self.ledger.accepts(printable_url(self.endpoint.base_url), task.first.model)
            self.known_options = RequestOptions.from_text(remembered) if remembered else None
            self.options = self.known_options or RequestOptions()
            if remembered is None:
                await asyncio_task

    async def run_task(self, task: QuestionTask) -> None:
        """Ask one question; an error that concerns all of them stops the run."""
        try:
            await self.ask(task)
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
            self.in_progress.release()

    def halt(self, error: OpenClawBenchError) -> None:
        """Stop the run: nothing new is sent. The first error counts."""
        self.stopped_by = self.stopped_by or error

    async def ask(self, task: QuestionTask) -> None:
        """Ask; if the answer cannot be used, ask once more; note which answer is final."""
        former_answer = None if task.is_new else self.ledger.answer_to(task.first)
        first = last = former_answer or await self.answer(task, task.first, None)
        check = task.read(first)
        if check.complaint is not None and (second := task.second(first, check.complaint)) is not None:
            former_answer = self.ledger.answer_to(second)
            last = former_answer or await self.answer(task, second, first.key)
            check = task.read(last)
        if former_answer is not None and was_cut_off_sooner(check, last, task.first):
            next_round = task.in_round(task.first.round + 1)
            await self.ledger.begin_round(task.first.base, next_round.first.round, task.first.model)
            await self.ask(next_round)
            return
        self.ledger.settle(task.id, first.key, last.key, check.settled_as, task.judge, task.first.base)
        self.tally.count_question(check.gist)
        if former_answer is None:
            self.unreadable.record(check)

    async def answer(self, task: QuestionTask, request: ChatRequest, corrects: bytes | None) -> StoredAnswer:
        """Send a request within the budget and return its answer once it is durable."""
        reserved = await self.budget.reserve(request.bytes)
        self.tally.asked_again += corrects is not None
        usd, tokens = 0.0, 0
        try:
            stored, row = await self.call(task, request, corrects)
            usd, tokens = stored.cost_usd, stored.prompt_tokens + stored.completion_tokens
        finally:
            self.budget.settle(reserved, usd, tokens)
        self.limits.correct(self.estimated_tokens(task, request), tokens)
        self.tally.count_answer(usd, tokens, stored.cached_tokens, stored.usage_estimated)
        try:
            await self.ledger.put((ADD_ANSWER, row), (END_INTENT, (request.key,)))
        finally:
            self.slots.acknowledge()
        if self.options is not None and self.options != self.known_options:
            self.known_options = self.options
            await self.ledger.remember(printable_url(self.endpoint.base_url), request.model, self.options.text)
        return stored

    # ------------------------------------------------------------------------------------------------------ one call
    async def call(
        self, task: QuestionTask, request: ChatRequest, corrects: bytes | None
    ) -> tuple[StoredAnswer, tuple[Any, ...]]:
        """Send a request until it is answered; `answer` acknowledges it. A failed call gives its slot back here."""
        question, attempts = task.question, [0]
        self.check_running()
        await self.ledger.intend(request.key, question.stage, question.trajectory_id)
        try:
            async with self.slots:
                started = time.monotonic()
                received, finish, options = await self.send_adapted(task, request, attempts)
        except (TransientError, OpenClawBenchError, RunStopped):
            self.slots.acknowledge()
            await self.ledger.put((END_INTENT, (request.key,)))
            raise
        latency = time.monotonic() - started
        return self.row(task, request, corrects, received, finish, options, attempts[0], latency)

    async def send_adapted(
        self, task: QuestionTask, request: ChatRequest, attempts: list[int]
    ) -> tuple[HttpResponse, str | None, RequestOptions]:
        """Send a request, without the options that the endpoint rejects. Returns the response, the outcome if the
        endpoint rejects this question alone (else None), and the options."""
        while True:
            assert self.options is not None
            options = self.options
            body = msgspec.json.encode(options.body(request, self.plain_prompt))
            try:
                return await self.send(task, request, body, attempts), None, options
            except RejectedRequest as rejection:
                finish = self.rules.question_fault_in(rejection.message) if is_client_fault(rejection) else None
                if finish is None and rejection.status == 413:
                    finish = "too_long"
                if finish is None and self.is_poison(rejection, options, task):
                    finish = REFUSED
                if finish is not None:
                    return (
                        HttpResponse(rejection.body, rejection.headers, request_id=rejection.request_id),
                        finish,
                        options,
                    )
                self.adapt_options(rejection, options, request)

    def is_poison(self, rejection: RejectedRequest, options: RequestOptions, task: QuestionTask) -> bool:
        """True if the endpoint rejects this request alone, for an unknown reason: the model has answered others before,
        and only few in a row were rejected. Raises QuestionDeferred while the model has not answered any request."""
        if not is_client_fault(rejection) or options_without(options, rejection, self.rules) is not None:
            return False
        self.rejected += 1
        if self.rejected >= self.rules.retry.refused_in_a_row:
            return False
        is_well = self.ledger.has_answers_of(task.first.model)
        if not is_well and task.id not in self.deferred:
            raise QuestionDeferred
        return is_well

    def estimated_tokens(self, task: QuestionTask, request: ChatRequest) -> int:
        """Estimated tokens of a request and its answer, for the rate limit."""
        estimate = self.rules.estimate
        answer = estimate.completion_tokens.get(task.question.stage, 0)
        return int(request.bytes / estimate.bytes_per_token) + answer

    def check_running(self) -> None:
        """Raise RunStopped if the run is stopping."""
        if self.ledger.alarm is not None:
            self.halt(self.ledger.alarm)
        if self.stopped_by is not None:
            raise RunStopped

    async def send(self, task: QuestionTask, request: ChatRequest, body: bytes, attempts: list[int]) -> HttpResponse:
        """Send a body, and retry failures that may pass."""
        tokens = self.estimated_tokens(task, request)

        async def attempt() -> HttpResponse:
            self.check_running()
            if (seconds := self.limits.wait(tokens)) > 0.0:
                await self.sleep(seconds)
                await self.limits.turn(tokens, self.sleep)
            attempts[0] += 1
            sent_at = time.monotonic()
            try:
                received = await self.transport.send(body)
            except TransientError as failure:
                self.slots.record_failure(failure, sent_at)
                await self.record_failure(failure, task.question, request)
                raise
            self.breaker.record_success()
            self.rejected = 0
            self.slots.record_success()
            self.limits.learn(received.headers)
            return received

        try:
            return await attempt()
        except TransientError as failure:
            return await self.retry_policy.retry(failure, attempt, self.sleep)

    async def record_failure(self, failure: TransientError, question: Question, request: ChatRequest) -> None:
        """Record a failure: count it, list it as lost if it may have been paid for, pause if the endpoint says so."""
        self.tally.failures += 1
        self.tally.last_failure = failure.reason
        about = (request.key, question.stage, storable(question.trajectory_id), failure.reason, now())
        if failure.body is not None:
            digest = hashlib.sha256(failure.body).digest()
            await self.ledger.put((ADD_UNREAD, (*about, failure.body, digest)))
        if failure.may_be_paid:
            self.budget.add_lost_call(request.bytes)
            await self.ledger.put((ADD_LOST, about))
        if failure.retry_after is not None:
            self.limits.pause(failure.retry_after)
        try:
            self.breaker.record_failure(failure)
            self.budget.check_retry(request.bytes)
        except OpenClawBenchError as error:
            self.halt(error)
            raise

    async def sleep(self, seconds: float) -> None:
        """Sleep; raise RunStopped if the run stops meanwhile."""
        end = time.monotonic() + seconds
        while (remaining := end - time.monotonic()) > 0.0:
            await asyncio.sleep(min(remaining, LONGEST_SLEEP_S))
            self.check_running()

    def adapt_options(self, rejection: RejectedRequest, options: RequestOptions, request: ChatRequest) -> None:
        """Leave out the option that the endpoint rejects. Raises EndpointRefused if it rejects something else."""
        reduced = options_without(options, rejection, self.rules)
        if reduced is None:
            refused = EndpointRefused(self.sentence(rejection, request.model))
            self.halt(refused)  # before another task takes its slot
            raise refused
        if self.options == options:  # no other request adapted them meanwhile
            self.options = reduced

    def sentence(self, rejection: RejectedRequest, model: str) -> str:
        """The message of EndpointRefused: what the endpoint rejects and what to do, without the key."""
        url, words = printable_url(self.endpoint.base_url), rejection.message
        if 300 <= rejection.status < 400:
            return f"{url} redirects ({rejection.status}), and a key goes nowhere else: {words} Correct --base-url."
        advice = {
            401: f"{url} refuses the key (401). Set OPENAI_API_KEY to one that is valid there and run again.",
            403: f"{url} does not allow this key to ask {model} (403). Use another key or model and run again.",
            404: f"{url} knows no model {model}, or the address is wrong (404). Check --model and --base-url.",
        }.get(rejection.status, f"{url} refuses the request ({rejection.status}). Nothing more was sent.")
        return f"{advice} It says: {words}"

    def row(
        self,
        task: QuestionTask,
        request: ChatRequest,
        corrects: bytes | None,
        received: HttpResponse,
        finish: str | None,
        options: RequestOptions,
        attempts: int,
        latency: float,
    ) -> tuple[StoredAnswer, tuple[Any, ...]]:
        """The answer, and its row in the ledger."""
        limit = request.parameters.max_output_tokens
        stored = stored_answer(request.key, received, finish, self.price, self.rules, request.bytes, limit)
        about = {
            "stage": task.question.stage,
            "model": request.model,
            "trajectory_id": task.question.trajectory_id,
            "packet_sha256": request.packet_sha256,
            "request_bytes": request.bytes,
        }
        return stored, answer_row(stored, about, attempts, latency, options.text, corrects)


def is_client_fault(rejection: RejectedRequest) -> bool:
    """True for the statuses with which endpoints reject the content of a request."""
    return rejection.status in (400, 413, 422)


def options_without(options: RequestOptions, rejection: RejectedRequest, rules: AskingRules) -> RequestOptions | None:
    """The options without the one that the endpoint rejects; None if it rejects something else."""
    refused = rules.adaptation_for(rejection.message) if is_client_fault(rejection) else None
    return options.without(refused) if refused else None
