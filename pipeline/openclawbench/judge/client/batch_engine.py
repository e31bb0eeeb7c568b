"""What batches have in common, whether an endpoint takes them or somebody answers their files: the next request of a
question, a request as a line of a file, and what a line of answers means."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import msgspec

from openclawbench.errors import EndpointRefused, UnreadableAnswers
from openclawbench.judge.client.budget import Budget
from openclawbench.judge.client.engine import REFUSED, QuestionTask, is_client_fault, options_without
from openclawbench.judge.client.progress import JudgeProgress
from openclawbench.judge.client.unreadable_answers import UnreadableAnswerBreaker
from openclawbench.judge.ledger.ledger import ADD_ANSWER, Ledger, Row, Statement
from openclawbench.judge.ledger.stored_answer import StoredAnswer, answer_row, stored_answer, was_cut_off_sooner
from openclawbench.judge.protocol import AnswerCheck
from openclawbench.judge.transport.chat_request import ChatRequest
from openclawbench.judge.transport.protocol import HttpResponse, RejectedRequest
from openclawbench.judge.transport.request_options import RequestOptions
from openclawbench.judge.transport.responses import check_response
from openclawbench.judge.transport.secrets import Secrets
from openclawbench.rules.judge.asking import AskingRules
from openclawbench.rules.judge.prices import Price
from openclawbench.rules.judge.request import RequestRules

BATCHED = ["key", "batch", "stage", "model", "trajectory_id", "packet_sha256", "request_bytes", "way", "corrects"]
END_BATCHED = Statement("delete from batched where key in (values {})", 1)
ROUTE = "/v1/chat/completions"
Rows = tuple[Row, ...]
Need = tuple[ChatRequest, bytes | None]  # a request, and the key of the answer that it corrects


@dataclass(frozen=True)
class Asked:
    """What every answer is stored with. `price`: of requests in batches. `place`: where the requests go, as it may be
    printed. `stopped` raises if the run is to end."""

    ledger: Ledger
    price: Price
    budget: Budget
    rules: AskingRules
    parameters: RequestRules
    plain: str
    tally: JudgeProgress
    stopped: Callable[[], None]
    place: str
    secrets: Secrets


class BatchEngine:
    """Which requests are open, and what their answers mean."""

    def __init__(self, asked: Asked, options: RequestOptions) -> None:
        self.ledger, self.price, self.budget, self.rules = asked.ledger, asked.price, asked.budget, asked.rules
        self.parameters, self.plain, self.tally, self.stopped = (
            asked.parameters,
            asked.plain,
            asked.tally,
            asked.stopped,
        )
        self.place, self.secrets, self.options = asked.place, asked.secrets, options
        self.failures: Counter[bytes] = Counter()
        self.refused: list[tuple[RejectedRequest, dict[str, Any]]] = []  # not settled yet; their rows
        self.unreadable = UnreadableAnswerBreaker(asked.rules.retry.unreadable_in_a_row)
        self.first_read, self.first_unread = 0, 0  # first answers of this run that can be read, and that cannot
        self.collected: set[bytes] = set()  # keys of the answers of this run

    def next_request(self, task: QuestionTask) -> Need | None:
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

    def line(self, request: ChatRequest) -> bytes:
        """A request as a line of a batch's file."""
        body = self.options.body(request, self.plain)
        return (
            msgspec.json.encode({"custom_id": request.key.hex(), "method": "POST", "url": ROUTE, "body": body}) + b"\n"
        )

    # ---------------------------------------------------------------------------------------------------------- answers
    def received(self, answer: "BatchAnswer") -> tuple[HttpResponse, str | None]:
        """The response, and the outcome of a question that is refused for itself alone (else None). Raises
        TransientError and RejectedRequest."""
        headers = {"x-request-id": answer.request_id} if answer.request_id else {}
        try:
            return check_response(answer.status, headers, answer.body, self.rules, self.secrets), None
        except RejectedRequest as rejection:
            finish = self.rules.question_fault_in(rejection.message)
            if finish is None:
                raise
            return HttpResponse(rejection.body, headers, request_id=rejection.request_id), finish

    def kept_rows(self, key: bytes, received: HttpResponse, finish: str | None, row: dict[str, Any]) -> Rows:
        """The row of an answer, and the statement that ends its waiting."""
        limit = self.parameters.max_output_tokens
        stored = stored_answer(key, received, finish, self.price, self.rules, int(row["request_bytes"]), limit)
        answer = answer_row(stored, row, 1, 0.0, str(row["way"]), row["corrects"])
        tokens = stored.prompt_tokens + stored.completion_tokens
        self.tally.count_answer(stored.cost_usd, tokens, stored.cached_tokens, stored.usage_estimated)
        self.collected.add(key)
        return (ADD_ANSWER, answer), (END_BATCHED, (key,))

    async def settle_refused(self, is_well: bool) -> None:
        """Handle the requests that were refused.

        A request that is refused for an unknown reason goes to review, with the endpoint's message as its answer, and
        does not stop later runs. This holds if there are other answers (`is_well`), or if few requests were refused
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
        """Remember the option that the endpoint refuses, so that later batches omit it. Raises EndpointRefused if the
        refusal has another cause."""
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
        await self.ledger.remember(self.place, str(row["model"]), reduced.text)


@dataclass(frozen=True)
class BatchAnswer:
    """A line of a batch's output: the id of its request, and the response."""

    custom_id: str
    status: int
    body: bytes
    request_id: str | None


class LineResponse(msgspec.Struct):
    """The response in a line of a batch's output: status and body; or, in files of older versions of `vllm run-batch`,
    the completion itself."""

    status_code: int = 200
    body: msgspec.Raw = msgspec.Raw(b"null")
    request_id: Any = None
    choices: msgspec.Raw = msgspec.Raw(b"null")


class BatchOutputLine(msgspec.Struct):
    """A line of a batch's output."""

    custom_id: str
    response: msgspec.Raw = msgspec.Raw(b"null")
    error: msgspec.Raw = msgspec.Raw(b"null")


NOTHING = b"null"
NO_RESPONSE = 503  # status of a request that was not carried out: it is asked again


def batch_answer(line: bytes) -> BatchAnswer:
    """A line of a batch's output. OpenAI writes {custom_id, response: {status_code, request_id, body}, error}, with no
    response for a request that was not carried out; `vllm run-batch` the same, with the error of a refused request in
    `error` and no body. Raises ValueError (msgspec's errors are such) if it is not such a line."""
    content = msgspec.json.decode(line, type=BatchOutputLine)
    response = LineResponse(status_code=NO_RESPONSE)
    if bytes(content.response) != NOTHING:
        response = msgspec.json.decode(content.response, type=LineResponse)
    body, status = bytes(response.body), response.status_code
    if bytes(response.choices) != NOTHING:
        body = bytes(content.response)
    elif body == NOTHING:
        body, status = bytes(content.error), NO_RESPONSE if status == 200 else status
    request_id = None if not response.request_id else str(response.request_id)
    return BatchAnswer(content.custom_id, status, body, request_id)


def lines_of(file: BinaryIO, most: int) -> Iterator[tuple[int, int, bytes]]:
    """The lines of a file with their numbers and offsets; a blank one is left out. Of a line that is longer than an
    answer may be, only the beginning is given, which cannot be read."""
    number = offset = 0
    while line := file.readline(2 * most):
        number, begin, offset = number + 1, offset, offset + len(line)
        if not line.endswith(b"\n") and len(line) >= 2 * most:
            while rest := file.readline(2 * most):
                offset += len(rest)
                if rest.endswith(b"\n"):
                    break
        if line.strip():
            yield number, begin, line


def row_of(name: str, options: RequestOptions, task: QuestionTask, need: Need) -> dict[str, Any]:
    """The columns BATCHED of a request: what is stored until its answer arrives."""
    (request, corrects), question = need, task.question
    request_values = (request.model, question.trajectory_id, request.packet_sha256, request.bytes)
    values = (request.key, name, question.stage, *request_values, options.text, corrects)
    return dict(zip(BATCHED, values, strict=True))
