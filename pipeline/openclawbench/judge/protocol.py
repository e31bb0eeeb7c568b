"""The one interface that every judge stands behind: a question in, JSON text out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from openclawbench.records.fulltax import Usage


@dataclass(frozen=True)
class Question:
    """What a judge is given. `material` is the JSON text of the record that the judge says it reads."""

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
    shared: str = ""  # instructions that are the same for every stage; empty where `prompt` says everything
    sent_id: str = ""  # the id under which a language model is sent the trajectory


@dataclass(frozen=True)
class FormerReply:
    """A reply that could not be used and was asked for once more."""

    text: str
    outcome: str  # what was wrong with it
    request_id: str | None


@dataclass(frozen=True)
class Reply:
    """What came back, verbatim. `usage` and `cost_usd` hold those of a former reply too; `text_from` is the field that
    the text stood in, `reasoning` what the model thought, as far as the endpoint gives it apart from the text."""

    text: str
    usage: Usage
    cost_usd: float
    request_id: str | None
    finish: str = "complete"  # complete | truncated | refusal | empty | too_long | content_filter | refused
    former: FormerReply | None = None
    text_from: str = "content"  # content | tool_calls | reasoning
    reasoning: str | None = None


class QuestionSource(Protocol):
    """The questions of one shard: their rows first, which are cheap, the questions themselves on demand."""

    def rows(self) -> list[dict[str, Any]]:
        """The rows of JudgeRequest."""
        ...

    def questions(self, rows: list[dict[str, Any]]) -> Iterator[Question]:
        """The questions of these rows, in their order."""
        ...


@dataclass(frozen=True)
class AnswerProblem:
    """Why an answer cannot be used: its outcome, and what to tell the judge."""

    outcome: str
    detail: str


@dataclass(frozen=True)
class AnswerCheck:
    """An answer as its reader has it: `complaint` where it cannot be used, and a word for what it says, to be counted
    while a stage is asked (where it cannot be used, its outcome)."""

    complaint: AnswerProblem | None
    gist: str

    @property
    def outcome(self) -> str:
        """As it is settled with: `read`, or what the complaint is."""
        return self.complaint.outcome if self.complaint else "read"


class Reader(Protocol):
    """Whoever knows what an answer means. `digest` stands in the key of every answer's part."""

    digest: str

    def read(self, question: Question, finish: str, text: str) -> AnswerCheck:
        """What is wrong with the answer, and a word for what it says."""
        ...


class Judge(Protocol):
    """A judge. `reads` decides what `Question.material` holds: the Packet, or the Evidence without oracle and risk."""

    name: str
    model: str
    reads: Literal["packet", "evidence"]
    digest: str  # stands in the key of every answer
    embedded: bool  # answers within this program: may be asked in several processes at once

    def prepare(self, stage: str, parts: Iterable[QuestionSource], total: int) -> None:
        """Make sure that every question of these parts (`total` of them) can be answered by `ask`; where a judge has
        to be asked over the network, this is when. Returns at once where there is nothing to prepare."""
        ...

    def ask(self, question: Question) -> Reply:
        """Answer one question. Pure after `prepare`: the same question, the same answer."""
        ...

    def describe(self) -> dict[str, Any]:
        """What a manifest says of the judge; never a key."""
        ...
