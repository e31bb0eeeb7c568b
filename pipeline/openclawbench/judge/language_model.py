"""A language model as judge: `prepare` asks over the network into the ledger, `ask` reads the ledger alone."""

import asyncio
import hashlib
import itertools
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from openclawbench.base.canonical_json import canonical_json
from openclawbench.base.gc_control import gc_reduced
from openclawbench.base.terminal import pluralize
from openclawbench.errors import EndpointFailing, MissingAnswer, NotJudged, OpenClawBenchError
from openclawbench.judge.client.batch_engine import Asked
from openclawbench.judge.client.batch_files import PLACE, BatchFilesRun
from openclawbench.judge.client.batch_run import BatchRun, open_requests
from openclawbench.judge.client.budget import Budget
from openclawbench.judge.client.client_options import ClientOptions
from openclawbench.judge.client.engine import REFUSED, QuestionRunner, QuestionTask
from openclawbench.judge.client.interrupt import InterruptHandler
from openclawbench.judge.client.progress import JudgeProgress
from openclawbench.judge.client.rate_limit import RateLimits
from openclawbench.judge.ledger.ledger import Ledger
from openclawbench.judge.ledger.merge_shards import copy_known_answers, spent_before
from openclawbench.judge.ledger.sqlite_file import NAME, connect_to_read, has_table, reading
from openclawbench.judge.ledger.stored_answer import StoredAnswer, answer_to, read_stored_answer, was_cut_off_sooner
from openclawbench.judge.prompts import Prompt, read_prompt
from openclawbench.judge.protocol import (
    AnswerCheck,
    AnswerProblem,
    FormerReply,
    Question,
    QuestionSource,
    Reader,
    Reply,
)
from openclawbench.judge.transport.batch_api import BatchClient
from openclawbench.judge.transport.chat_request import ChatRequest, chat_request, corrective, messages_of
from openclawbench.judge.transport.completion import parse_completion
from openclawbench.judge.transport.endpoint import printable_url
from openclawbench.judge.transport.request_options import RequestOptions
from openclawbench.judge.transport.secrets import NONE as NO_SECRETS
from openclawbench.records.fulltax import Usage
from openclawbench.rules.judge.asking import AskingRules
from openclawbench.rules.judge.prices import Price
from openclawbench.rules.judge.request import RequestRules

CHUNK = 32  # questions made at a time
NO_SECOND = ("too_long", "content_filter", REFUSED)  # asking once more would end the same way
NO_TOKENS = Usage(prompt_tokens=0, completion_tokens=0, cached_tokens=0)


class LanguageModelJudge:
    """Any OpenAI-compatible endpoint."""

    name: str = "openai"
    reads: Literal["packet", "evidence"] = "packet"
    embedded: bool = False

    def __init__(
        self,
        model: str,
        ledger: Path,
        schemas: Mapping[str, str],
        reader: Reader,
        parameters: RequestRules,
        rules: AskingRules,
        asking: ClientOptions | None,
        former: Path | None = None,
        repeats: bool = False,
    ) -> None:
        """`schemas`: JSON text of a schema by its id. Without `asking` the judge only looks answers up. `former`:
        folder of the main ledger, if `ledger` belongs to a share. `repeats`: asks what the same model was asked in the
        first pass, for answers of its own."""
        self.former, self.repeats = former, repeats
        self.model, self.ledger, self.schemas, self.reader = model, ledger, schemas, reader
        self.parameters, self.rules, self.asking = parameters, rules, asking
        self.again: Prompt = read_prompt("again")
        self.plain: Prompt = read_prompt("plain")
        parts = [model, canonical_json(parameters.parameters()), reader.digest, self.again.sha256, self.plain.sha256]
        parts += ["repeated"] if repeats else []
        sha256 = hashlib.sha256(canonical_json(parts).encode())
        self.reads_as: bytes = sha256.digest()  # digest under which answers are settled
        self.method_digest: str = sha256.hexdigest()
        self.digest: str = digest_with_rounds(former or ledger, model, self.method_digest)
        self.connection: sqlite3.Connection | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The state without connections and asking: a copy in another process only looks answers up."""
        return self.__dict__ | {"connection": None, "asking": None}

    # ------------------------------------------------------------------------------------------------------ looking up
    def ask(self, question: Question) -> Reply:
        """The final answer to a question from the ledger; `too_long` if its packet is too long and was not sent. Raises
        MissingAnswer if the ledger does not have it."""
        if not question.fits:
            return Reply("", NO_TOKENS, 0.0, None, "too_long")
        answer = self.final_answers(question)
        if answer is None:
            raise MissingAnswer(
                f"{question.trajectory_id}: the ledger {self.ledger} has no answer of {self.model} for it."
            )
        first, last = answer
        reply = reply_of(last)
        if first.key == last.key:
            return reply
        former = reply_of(first)
        why = self.read(question, first).complaint
        return replace(
            reply,
            usage=total(former.usage, reply.usage),
            cost_usd=former.cost_usd + reply.cost_usd,
            former=FormerReply(former.text, why.outcome if why else "read", former.request_id),
        )

    def final_answers(self, question: Question) -> tuple[StoredAnswer, StoredAnswer] | None:
        """The first and the last answer to a question: as settled, or, if this judge has not settled it, as the
        ledger's answers are read now. Null if one is missing or was cut off at a lower limit than the present one."""
        query = "select first, last from settled where question = ?"
        row = self.ledger_reader().execute(query, (self.question_id(question.request_sha256),)).fetchone()
        if row is not None:
            return self.answer_with_key(row[0]), self.answer_with_key(row[1])
        task = self.task(question)
        if has_table(self.ledger_reader(), "rounds"):
            query = "select round from rounds where base = ?"
            row = self.ledger_reader().execute(query, (task.first.base,)).fetchone()
            task = task.in_round(row[0]) if row else task
        first = answer_to(self.ledger_reader(), task.first)
        if first is None:
            return None
        complaint = task.read(first).complaint
        second = None if complaint is None else task.second(first, complaint)
        last = first if second is None else answer_to(self.ledger_reader(), second)
        if last is None or was_cut_off_sooner(task.read(last), last, task.first):
            return None
        return first, last

    def has_answer(self, question: Question) -> bool:
        """True if the ledger has the final answer to a question."""
        return (self.ledger / NAME).exists() and self.final_answers(question) is not None

    def ledger_reader(self) -> sqlite3.Connection:
        """The ledger, open for reading."""
        if self.connection is None:
            self.connection = connect_to_read(self.ledger)
        return self.connection

    def answer_with_key(self, key: bytes) -> StoredAnswer:
        """An answer that a settled question names."""
        stored_answer = read_stored_answer(self.ledger_reader(), key)
        if stored_answer is None:
            raise MissingAnswer(f"{self.ledger}: answer {key.hex()} is missing. Run `openclawbench ledger verify`.")
        return stored_answer

    def question_id(self, request_sha256: str) -> bytes:
        """The key under which a question's answer is settled: a digest of this judge and the question."""
        return hashlib.sha256(f"{self.reads_as.hex()}\n{request_sha256}".encode()).digest()

    def describe(self) -> dict[str, Any]:
        """Name, model, parameters, and the request options that each endpoint accepted."""
        description: dict[str, Any] = {
            "name": self.name,
            "model": self.model,
            "parameters": self.parameters.parameters(),
        }
        if not (self.ledger / NAME).exists():
            return description
        query = "select base_url, accepts from endpoints where model = ? order by base_url"
        return description | {"asked_at": dict(self.ledger_reader().execute(query, (self.model,)).fetchall())}

    # ---------------------------------------------------------------------------------------------------------- asking
    def prepare(self, stage: str, parts: Iterable[QuestionSource], total: int) -> None:
        """Ask the questions that the ledger has no answer to. Raises what ended the run early, or NotJudged."""
        sources = list(parts)
        if self.asking is None:
            self.refuse_unanswered(sources)
            return
        with gc_reduced():
            if self.former is not None:
                requests = (row["request_sha256"] for part in sources for row in part.rows())
                copy_known_answers(self.former, self.ledger, map(self.question_id, requests))
            asyncio.run(self.ask_all(stage, sources, total, self.asking))

    def refuse_unanswered(self, parts: list[QuestionSource]) -> None:
        """Raise NotJudged with the number of questions, one a session, that the ledger has no answer to."""
        rows = ((part, [row for row in part.rows() if row["fits"]]) for part in parts)
        unanswered = sum(len(asked) - sum(map(self.has_answer, part.questions(asked))) for part, asked in rows)
        if unanswered:
            are = f"{pluralize(unanswered, 'session')} {'is' if unanswered == 1 else 'are'}"
            raise NotJudged(f"{are} not judged yet by {self.model}.")

    async def ask_all(self, stage: str, parts: list[QuestionSource], total: int, asking: ClientOptions) -> None:
        """Open the ledger and look for missing answers; open the endpoint only if there are any."""
        tally = JudgeProgress(stage, total)
        with Ledger(self.ledger, self.rules.commit) as ledger:
            waiting = open_requests(ledger)
            if waiting and not asking.batch:
                raise EndpointFailing(
                    f"{waiting} requests are in batches at the endpoint. Run with --batch to collect their answers."
                )
            batches = self.tasks(parts, ledger, tally)
            first = next(batches, None)
            if first is None and not waiting:
                return
            ticking = asyncio.create_task(report_every_second(tally, asking.report))
            try:
                if asking.batch or (asking.files is not None and first is not None):
                    await self.ask_in_batches(parts, ledger, tally, asking)
                elif first is not None:
                    await self.ask_online(itertools.chain([first], batches), ledger, tally, asking)
            finally:
                ticking.cancel()
                asking.report(tally)

    async def ask_online(
        self, batches: Iterator[list[QuestionTask]], ledger: Ledger, tally: JudgeProgress, asking: ClientOptions
    ) -> None:
        """Ask question by question."""
        endpoint = asking.endpoint()
        endpoint.check_key()
        price = asking.price()
        tally.endpoint = printable_url(endpoint.base_url)
        budget = self.budget(asking, price, ledger)
        longest = self.rules.retry.longest_retry_after_s
        limits = RateLimits(asking.rpm, asking.tpm, self.rules.limits, longest, runs=asking.runs)
        slots = asking.concurrency
        async with asking.transport(endpoint, slots, self.rules) as transport:
            engine = QuestionRunner(
                ledger, transport, endpoint, price, budget, limits, slots, self.rules, self.plain.text, tally
            )
            with InterruptHandler(engine.halt):
                await engine.run(batches)

    async def ask_in_batches(
        self, parts: list[QuestionSource], ledger: Ledger, tally: JudgeProgress, asking: ClientOptions
    ) -> None:
        """Ask in batches of the endpoint, or in files. The request options are those found by earlier requests, else
        those of OpenAI."""
        stopped: list[OpenClawBenchError] = []

        def stop() -> None:
            if stopped:
                raise stopped[0]

        def tasks() -> Iterator[list[QuestionTask]]:
            tally.done = tally.too_long = 0
            return self.tasks(parts, ledger, tally)

        price, tally.endpoint = asking.price(), asking.place()
        what = (self.budget(asking, price, ledger), self.rules, self.parameters, self.plain.text, tally, stop)
        with InterruptHandler(stopped.append):
            if asking.files is not None:
                asked = Asked(ledger, price, *what, PLACE, NO_SECRETS)
                options = asking.files.options(self.model) or RequestOptions()
                options = accepted_options(ledger, PLACE, self.model) or options
                await BatchFilesRun(asked, options, asking.files).run(tasks)
                return
            endpoint = asking.endpoint()
            endpoint.check_key()
            asked = Asked(ledger, price, *what, tally.endpoint, endpoint.secrets(self.rules))
            options = accepted_options(ledger, tally.endpoint, self.model) or RequestOptions()
            async with BatchClient(endpoint, self.rules) as client:
                await BatchRun(asked, options, client).run(tasks)

    def budget(self, asking: ClientOptions, price: Price, ledger: Ledger) -> Budget:
        """The budget, with what the ledger says was spent."""
        caps = (asking.budget_usd, asking.budget_tokens)
        usd, tokens = ledger.spent()
        usd_before, tokens_before = spent_before(self.former, self.ledger) if self.former else (0.0, 0)
        spent = (usd - usd_before, tokens - tokens_before)
        budget = Budget(*caps, price, spent, self.rules.estimate, self.parameters)
        for size in ledger.lost_bytes():
            budget.add_lost_call(size)
        return budget

    def tasks(
        self, parts: Iterable[QuestionSource], ledger: Ledger, tally: JudgeProgress
    ) -> Iterator[list[QuestionTask]]:
        """Unanswered questions in chunks; material is read for these questions only."""
        for part in parts:
            rows = part.rows()
            tally.too_long += sum(not row["fits"] for row in rows)
            tally.done += sum(not row["fits"] for row in rows)
            rows = [row for row in rows if row["fits"]]
            ids = [self.question_id(row["request_sha256"]) for row in rows]
            known = ledger.settled(ids)
            tally.done += len(known)
            open_rows = [row for row, id_ in zip(rows, ids, strict=True) if id_ not in known]
            questions = part.questions(open_rows) if open_rows else iter(())
            while batch := [self.task(question) for question in islice(questions, CHUNK)]:
                rounds = ledger.rounds([task.first.base for task in batch])
                batch = [
                    task.in_round(rounds[task.first.base]) if task.first.base in rounds else task for task in batch
                ]
                known = ledger.answered([key for task in batch for key in (task.first.key, task.first.former_key)])
                yield [
                    replace(task, is_new=known.isdisjoint((task.first.key, task.first.former_key))) for task in batch
                ]

    def task(self, question: Question) -> QuestionTask:
        """The task that asks a question."""
        messages = self.messages(question)
        ask = partial(self.request, question)
        return QuestionTask(
            question=question,
            id=self.question_id(question.request_sha256),
            first=ask(messages),
            judge=self.reads_as,
            read=lambda answer: self.read(question, answer),
            second=lambda answer, complaint: self.second(question, messages, answer, complaint),
            is_new=True,
        )

    def messages(self, question: Question) -> list[dict[str, str]]:
        """The messages of a question."""
        return messages_of(question)

    def request(self, question: Question, messages: list[dict[str, str]]) -> ChatRequest:
        """A request about a question."""
        schema = self.schemas[question.schema_id]
        digest = question.packet_sha256
        request = chat_request(self.model, self.parameters, messages, question.schema_id, schema, digest)
        return request.repeated() if self.repeats else request

    def read(self, question: Question, answer: StoredAnswer) -> AnswerCheck:
        """The reading of an answer, with the complaint if it cannot be used."""
        reply = reply_of(answer)
        return self.reader.read(question, reply.finish, reply.text)

    def second(
        self, question: Question, messages: list[dict[str, str]], answer: StoredAnswer, complaint: AnswerProblem
    ) -> ChatRequest | None:
        """The corrective request; None if asking again is of no use."""
        if answer.finish in NO_SECOND:
            return None
        reply = reply_of(answer)
        first_text = reply.text if reply.finish == "complete" else None
        return self.request(question, corrective(messages, first_text, complaint.detail, self.again.text))


def accepted_options(ledger: Ledger, place: str, model: str) -> RequestOptions | None:
    """The request options that are known to be accepted there; None if none are."""
    remembered = ledger.accepts(place, model)
    return RequestOptions.from_text(remembered) if remembered else None


def reply_of(answer: StoredAnswer) -> Reply:
    """A kept answer as a reply. Text and finish come from the verbatim response, so that this version reads what a
    former version could not. For a refused question, the text is the endpoint's message."""
    usage = Usage(
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        cached_tokens=answer.cached_tokens,
    )
    no_tokens = not (answer.prompt_tokens or answer.completion_tokens or answer.cached_tokens)
    if answer.parsed is None and answer.finish in NO_SECOND and no_tokens:
        text = answer.response.decode("utf-8", "backslashreplace")
        return Reply(text, usage, answer.cost_usd, answer.request_id, answer.finish)
    parsed_answer = answer.parsed or parse_completion(answer.response)
    return Reply(
        text=parsed_answer.text,
        usage=usage,
        cost_usd=answer.cost_usd,
        request_id=answer.request_id,
        finish=parsed_answer.finish,
        text_from=parsed_answer.text_from,
        reasoning=parsed_answer.reasoning,
    )


def digest_with_rounds(ledger: Path, model: str, digest: str) -> str:
    """The digest of a judge and of its rounds of --ask-again, because these change its answers."""
    if not (ledger / NAME).exists():
        return digest
    with reading(ledger) as connection:
        if not has_table(connection, "rounds"):
            return digest
        query = "select hex(base), asked from rounds where asked > 0 and model = ? order by base"
        rows = connection.execute(query, (model,)).fetchall()
    return hashlib.sha256(canonical_json([digest, *map(list, rows)]).encode()).hexdigest() if rows else digest


def total(usage: Usage, second: Usage) -> Usage:
    """The sum of two usages."""
    return Usage(
        prompt_tokens=usage.prompt_tokens + second.prompt_tokens,
        completion_tokens=usage.completion_tokens + second.completion_tokens,
        cached_tokens=usage.cached_tokens + second.cached_tokens,
    )


async def report_every_second(tally: JudgeProgress, report: Callable[[JudgeProgress], None]) -> None:
    """Report the progress every second."""
    while True:
        await asyncio.sleep(1.0)
        report(tally)
