"""Plan before spending: count the questions of a stage without asking them, and estimate those of later stages."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal, Protocol

from openclawbench.errors import UnreadableInput
from openclawbench.judge.language_model import LanguageModelJudge
from openclawbench.judge.ledger.sqlite_file import reading
from openclawbench.judge.protocol import Question, QuestionSource, Reply
from openclawbench.judge.transport.chat_request import messages_of
from openclawbench.rules.judge.asking import Estimate
from openclawbench.rules.judge.prices import Price

ENOUGH = 20  # answers from which a measured average takes the place of an assumption
STAGES = ("a", "b1", "b2", "c")


@dataclass(frozen=True)
class CostEstimate:
    """Calls, tokens and USD of a stage. `estimate`: its questions are not known yet.

    `most_calls` and `most_usd` are upper bounds: they assume that every trajectory goes on, every question is asked
    once more, and every answer has the maximum length. Only failed calls that are sent again add to them.
    """

    stage: str
    questions: int
    answered: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int  # of the completion tokens those that are assumed; 0 where they were measured
    usd: float
    estimate: bool
    most_calls: int
    most_usd: float


@dataclass
class CallCount:
    """Questions of a stage that would be asked, and the bytes of their requests."""

    calls: float = 0.0
    request_bytes: float = 0.0


class AnswerForecast(Protocol):
    """Knows which question follows an answer."""

    def reply(self, question: Question) -> Reply:
        """A stand-in for an answer that does not exist yet."""
        ...

    def following(self, question: Question, reply: Reply) -> Question | None:
        """The question that follows an answer."""
        ...


class EstimateReached(Exception):
    """Ends a planning run at the first stage with unanswered questions. Holds the number of its questions, how many are
    answered, and the calls that this stage and, by forecast, the later ones need."""

    def __init__(self, stage: str, questions: int, answered: int, counted: dict[str, CallCount]) -> None:
        super().__init__(stage)
        self.stage, self.questions, self.answered, self.counted = stage, questions, answered, counted


class EstimatingJudge:
    """A judge that answers from the ledger and, where an answer is missing, counts instead of asking."""

    reads: Literal["packet", "evidence"] = "packet"
    embedded: bool = False

    def __init__(self, judge: LanguageModelJudge, forecast: AnswerForecast) -> None:
        self.judge, self.forecast = judge, forecast
        self.name, self.model = judge.name, judge.model
        self.digest, self.method_digest = judge.digest, judge.method_digest

    def prepare(self, stage: str, parts: Iterable[QuestionSource], total: int) -> None:
        """Count unanswered questions. Raises EstimateReached if there are any."""
        answered = unsent = visited = 0
        counted = {name: CallCount() for name in STAGES}
        every = max(1, ceil(total / self.judge.rules.estimate.followed_at_most))
        letter = ""
        for part in parts:
            rows = part.rows()
            fitting = [row for row in rows if row["fits"]]
            unsent += len(rows) - len(fitting)
            for question in part.questions(fitting) if fitting else ():
                letter, is_known = question.stage, self.is_answered(question)
                answered += is_known
                if not is_known:
                    self.count(question, counted, 1.0)
                if visited % every == 0:
                    self.follow(question, is_known, counted, every)
                visited += 1
        if answered + unsent < total:
            raise EstimateReached(letter, total - unsent, answered, counted)

    def follow(self, question: Question, is_known: bool, counted: dict[str, CallCount], weight: int) -> None:
        """Count the later questions of a trajectory, by its answers or by expected ones."""
        following: Question | None = question
        while following is not None:
            reply = self.judge.ask(following) if is_known else self.forecast.reply(following)
            following = self.forecast.following(following, reply)
            if following is not None:
                is_known = self.is_answered(following)
                if not is_known:
                    self.count(following, counted, float(weight))

    def count(self, question: Question, counted: dict[str, CallCount], weight: float) -> None:
        """Count a question `weight` times."""
        stage = counted[question.stage]
        stage.calls += weight
        stage.request_bytes += weight * self.judge.request(question, messages_of(question)).bytes

    def is_answered(self, question: Question) -> bool:
        """True if the ledger has the final answer to a question."""
        return self.judge.has_answer(question)

    def ask(self, question: Question) -> Reply:
        """The ledger's answer."""
        return self.judge.ask(question)

    def describe(self) -> dict[str, Any]:
        """Describes the judge itself."""
        return self.judge.describe()


@dataclass(frozen=True)
class CallAverages:
    """Tokens of an average call: measured from the ledger's answers if there are enough, else assumed. Measured values
    include reasoning; `reasoning_tokens` are assumed."""

    bytes_per_token: float
    completion_tokens: dict[str, float]
    reasoning_tokens: dict[str, float]

    @classmethod
    def of(cls, judge: LanguageModelJudge, estimate: Estimate) -> "CallAverages":
        """Averages of this model's answers."""
        completion, reasoning = estimate.completion_tokens, estimate.reasoning_tokens
        assumed = cls(estimate.bytes_per_token, dict(completion), dict(reasoning))
        try:
            with reading(judge.ledger) as connection:
                return assumed.measured(connection, judge.model)
        except UnreadableInput:
            return assumed

    def measured(self, connection: sqlite3.Connection, model: str) -> "CallAverages":
        """These averages, with measured values in place of assumed ones."""
        query = (
            "select stage, count(*), total(request_bytes), total(prompt_tokens), avg(completion_tokens) from answers "
            "where model = ? and prompt_tokens > 0 group by stage"
        )
        rows = connection.execute(query, (model,)).fetchall()
        count, size, tokens = (sum(row[place] for row in rows) for place in (1, 2, 3))
        enough = {row[0]: row[4] for row in rows if row[1] >= ENOUGH}
        reasoning = {
            stage: 0.0 if stage in enough else reasoning_token
            for stage, reasoning_token in self.reasoning_tokens.items()
        }
        ratio = size / tokens if count >= ENOUGH else self.bytes_per_token
        return CallAverages(ratio, self.completion_tokens | enough, reasoning)


def plan(
    reached: EstimateReached, averages: CallAverages, judge: LanguageModelJudge, price: Price
) -> list[CostEstimate]:
    """Costs of the stage where a planning run ended, exactly, and of later stages, as forecast; with upper bounds."""
    rows: list[CostEstimate] = []
    open_questions = reached.questions - reached.answered
    longest, reserved = judge.parameters.max_output_tokens, judge.rules.estimate.bytes_per_token_reserved
    blocking = reached.counted[reached.stage]
    for stage in STAGES[STAGES.index(reached.stage) :]:
        counted, is_later = reached.counted[stage], stage != reached.stage
        calls = round(counted.calls)
        prompt = round(counted.request_bytes / averages.bytes_per_token)
        completion = round(counted.calls * averages.completion_tokens[stage])
        most_calls = 2 * (reached.questions if is_later else open_questions)
        size = (
            max(counts.request_bytes / counts.calls for counts in (blocking, counted) if counts.calls) / reserved
            + 2 * longest
        )
        rows.append(
            CostEstimate(
                stage=stage,
                questions=calls if is_later else reached.questions,
                answered=0 if is_later else reached.answered,
                calls=calls,
                prompt_tokens=prompt,
                completion_tokens=completion,
                reasoning_tokens=round(counted.calls * averages.reasoning_tokens[stage]),
                usd=price.of(prompt, 0, completion),
                estimate=is_later,
                most_calls=most_calls,
                most_usd=price.of(round(most_calls * size), 0, most_calls * longest),
            )
        )
    return rows
