"""The one interface that every judge stands behind: a question in, JSON text out."""

from dataclasses import dataclass
from typing import Literal, Protocol

from pipeline.records.fulltax import Usage


@dataclass(frozen=True)
class Question:
    """What a judge is given. `material` is the JSON text of the record that the judge says it reads."""

    stage: str  # a | b1 | b2 | c
    material: str
    previous: str | None  # JSON text of earlier stages' answers
    schema_id: str
    prompt_version: str
    prompt: str  # instructions; a judge that is no language model ignores them


@dataclass(frozen=True)
class Reply:
    """What came back, verbatim."""

    text: str
    usage: Usage
    cost_usd: float
    request_id: str | None


class Judge(Protocol):
    """A judge. `reads` decides what `Question.material` holds: the Packet, or the Evidence without oracle and risk."""

    name: str
    model: str
    reads: Literal["packet", "evidence"]
    digest: str  # stands in the key of every answer
    embedded: bool  # answers within this program: may be asked in several processes at once

    def ask(self, question: Question) -> Reply:
        """Answer one question."""
        ...
