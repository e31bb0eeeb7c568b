"""What FullTax tells whoever asks a language model: whether an answer can be read, and if not, why."""

import hashlib
import json
from typing import Any

from pydantic import BaseModel

from pipeline.fulltax.answers import Reading, read_reply
from pipeline.judge.protocol import Complaint, Question
from pipeline.rules.repairs import RepairRules
from pipeline.schemas import STAGE_RECORDS
from pipeline.stage import code_digest

DECIDES = {"a": "route_label", "b1": "anomaly_type_l2", "b2": "severity", "c": "verdict"}  # field of each stage


class AnswerReader:
    """Reads answers as the stages' decisions do, with the same repairs."""

    def __init__(self, rules: RepairRules | None = None) -> None:
        self.rules = rules or RepairRules.load()
        parts = [self.rules.digest, code_digest("pipeline.fulltax.answers")]
        self.digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        self.last: tuple[tuple[str, ...], Reading[Any]] | None = None  # what is asked of an answer comes together

    def complaint(self, question: Question, finish: str, text: str) -> Complaint | None:
        """Why the answer cannot be used; null where it can."""
        reading = self.reading(question, finish, text)
        return None if reading.failure is None else Complaint(reading.failure, reading.detail or reading.failure)

    def gist(self, question: Question, finish: str, text: str) -> str:
        """The label that a stage is there for: route, subtype (`normal`, `unresolved` where there is none), severity,
        verdict; the failure where the answer cannot be read."""
        reading = self.reading(question, finish, text)
        if reading.answer is None:
            return str(reading.failure)
        said = getattr(reading.answer, DECIDES[question.stage])
        if said is None:
            return "normal" if reading.answer.trajectory_is_anomalous is False else "unresolved"
        return str(said)

    def reading(self, question: Question, finish: str, text: str) -> Reading[Any]:
        """The answer read."""
        asked = (question.stage, question.trajectory_id, question.previous or "", finish, text)
        if self.last is None or self.last[0] != asked:
            b1 = (json.loads(question.previous) if question.previous else {}).get("b1")
            model: type[BaseModel] = STAGE_RECORDS[question.stage]
            self.last = asked, read_reply(finish, text, model, question.trajectory_id, self.rules, b1)
        return self.last[1]
