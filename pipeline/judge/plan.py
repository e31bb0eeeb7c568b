"""Plan before spending: what a stage would ask, counted without asking; what later stages would, estimated."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from pipeline.errors import UnreadableInput
from pipeline.judge.language_model import LanguageModelJudge
from pipeline.judge.ledger_file import reading
from pipeline.judge.messages import messages_of
from pipeline.judge.protocol import Part, Question, Reply
from pipeline.rules.asking import Estimate
from pipeline.rules.prices import Price

ENOUGH = 20  # answers from which a measured average takes the place of an assumption
STAGES = ("a", "b1", "b2", "c")


@dataclass(frozen=True)
class StagePlan:
    """Calls, tokens and USD of a stage. `estimate`: its questions are not known yet."""

    stage: str
    questions: int
    answered: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float
    estimate: bool


class Planned(Exception):
    """Ends a planning run at the first stage that would have to ask: its questions, and the bytes of their requests."""

    def __init__(self, stage: str, questions: int, answered: int, request_bytes: int) -> None:
        super().__init__(stage)
        self.stage, self.questions, self.answered, self.request_bytes = stage, questions, answered, request_bytes


class Planner:
    """A judge that answers from the ledger and, where an answer is missing, counts instead of asking."""

    reads: Literal["packet", "evidence"] = "packet"
    embedded: bool = False

    def __init__(self, judge: LanguageModelJudge) -> None:
        self.judge = judge
        self.name, self.model, self.digest = judge.name, judge.model, judge.digest

    def prepare(self, stage: str, parts: Iterable[Part], total: int) -> None:
        """Count what has no answer. Raises Planned where there is something."""
        answered = unsent = request_bytes = 0
        letter = ""
        for part in parts:
            rows = part.rows()
            open_rows = [row for row in rows if row["fits"] and not self.judge.has_answer(row["request_sha256"])]
            fitting = sum(row["fits"] for row in rows)
            unsent += len(rows) - fitting
            answered += fitting - len(open_rows)
            for question in part.questions(open_rows) if open_rows else ():
                letter = question.stage
                request_bytes += self.judge.request(question, messages_of(question)).bytes
        if answered + unsent < total:
            raise Planned(letter, total - unsent, answered, request_bytes)

    def ask(self, question: Question) -> Reply:
        """The ledger's answer."""
        return self.judge.ask(question)

    def describe(self) -> dict[str, Any]:
        """As the judge itself."""
        return self.judge.describe()


@dataclass(frozen=True)
class Averages:
    """What a call comes to: measured from the ledger's answers where there are enough, else assumed."""

    bytes_per_token: float
    completion_tokens: dict[str, float]

    @classmethod
    def of(cls, judge: LanguageModelJudge, estimate: Estimate) -> "Averages":
        """Averages of this model's answers."""
        assumed = cls(estimate.bytes_per_token, {name: float(n) for name, n in estimate.completion_tokens.items()})
        try:
            with reading(judge.ledger) as connection:
                return assumed.measured(connection, judge.model)
        except UnreadableInput:
            return assumed

    def measured(self, connection: sqlite3.Connection, model: str) -> "Averages":
        """With what was measured in place of what was assumed."""
        query = (
            "select stage, count(*), total(request_bytes), total(prompt_tokens), avg(completion_tokens) from answers "
            "where model = ? and prompt_tokens > 0 group by stage"
        )
        rows = connection.execute(query, (model,)).fetchall()
        count, size, tokens = (sum(row[place] for row in rows) for place in (1, 2, 3))
        completion = self.completion_tokens | {row[0]: row[4] for row in rows if row[1] >= ENOUGH}
        return Averages(size / tokens if count >= ENOUGH else self.bytes_per_token, completion)


def plan(found: Planned, averages: Averages, estimate: Estimate, price: Price) -> list[StagePlan]:
    """The stage at which a planning run ended, exactly; the later ones by their share of the stage before."""
    calls = float(found.questions - found.answered)
    questions, size = float(found.questions), found.request_bytes / calls
    rows = []
    for stage in STAGES[STAGES.index(found.stage) :]:
        is_later = stage != found.stage
        if is_later:
            calls = questions = questions * estimate.share_of_former_stage[stage]
        prompt = round(calls * size / averages.bytes_per_token)
        completion = round(calls * averages.completion_tokens[stage])
        usd = price.of(prompt, 0, completion)
        answered = 0 if is_later else found.answered
        rows.append(StagePlan(stage, round(questions), answered, round(calls), prompt, completion, usd, is_later))
    return rows
