"""The interface of every judge: a question in, JSON text out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from openclawbench.records.fulltax import Usage


@dataclass(frozen=True)
class Question:
    """The input of a judge. `material` is the JSON text of the record that the judge's `reads` names."""

    stage: str  # a | b1 | b2 | c
    material: str
    previous: str | None  # JSON text of earlier stages' answers
    schema_id: str
    prompt_version: str
    prompt: str  # instructions; a judge that is not a language model ignores them
    trajectory_id: str = ""
    packet_sha256: str = ""
    request_sha256: str = ""  # digest of everything that decides the answer, but for the judge
    fits: bool = True  # false: the packet is longer than what may be sent
    shared: str = ""  # instructions that are the same for every stage; empty if `prompt` says everything
    sent_id: str = ""  # the id under which a language model is sent the trajectory


@dataclass(frozen=True)
class FormerReply:
    """A reply that could not be used and was asked for once more."""

    text: str
    outcome: str  # what was wrong with it
    request_id: str | None


@dataclass(frozen=True)
class Reply:
    """The answer of a judge, verbatim. `usage` and `cost_usd` include those of a former reply; `text_from` is the field
    that held the text; `reasoning` is the model's reasoning, if the endpoint gives it apart from the text."""

    text: str
    usage: Usage
    cost_usd: float
    request_id: str | None
    finish: str = "complete"  # complete | truncated | refusal | empty | too_long | content_filter | refused
    former: FormerReply | None = None
    text_from: str = "content"  # content | tool_calls | reasoning
    reasoning: str | None = None


class QuestionSource(Protocol):
    """The questions of one shard: rows, which are cheap, first; the questions themselves on demand."""

    def rows(self) -> list[dict[str, Any]]:
        """The rows of JudgeRequest."""
        ...

    def questions(self, rows: list[dict[str, Any]]) -> Iterator[Question]:
        """The questions of these rows, in their order."""
        ...


@dataclass(frozen=True)
class AnswerProblem:
    """Why an answer cannot be used: its outcome, and the words for the judge."""

    outcome: str
    detail: str


@dataclass(frozen=True)
class AnswerCheck:
    """An answer as its reader understands it: `complaint` if it cannot be used, and a word for its content, which the
    progress of a stage counts (the outcome, if it cannot be used)."""

    complaint: AnswerProblem | None
    gist: str

    @property
    def settled_as(self) -> str:
        """The outcome that the ledger stores for the question: `read`, or the outcome of the complaint."""
        return self.complaint.outcome if self.complaint else "read"


class Reader(Protocol):
    """Knows what an answer means. `digest` is part of the key of every part of answers."""

    digest: str

    def read(self, question: Question, finish: str, text: str) -> AnswerCheck:
        """The complaint about the answer, if any, and a word for its content."""
        ...


class Judge(Protocol):
    """A judge. `reads` decides what `Question.material` holds: the Packet, or the Evidence without oracle and risk."""

    name: str
    model: str
    reads: Literal["packet", "evidence"]
    digest: str  # part of the key of every answer
    method_digest: str  # the digest without what was asked again: a certificate is of this way of answering
    embedded: bool  # answers within this program: may be asked in several processes at once

    def prepare(self, stage: str, parts: Iterable[QuestionSource], total: int) -> None:
        """Make sure that `ask` can answer every question of these parts (`total` of them). A judge behind a network is
        asked here. Returns at once if there is nothing to prepare."""
        ...

    def ask(self, question: Question) -> Reply:
        """Answer one question. Pure after `prepare`: the same question, the same answer."""
        ...

    def describe(self) -> dict[str, Any]:
        """The judge's entry in a manifest; never a key."""
        ...
