"""What FullTax tells whoever asks a language model: whether an answer can be read, and if not, why."""

import hashlib
import json

from pipeline.fulltax.answers import read_reply
from pipeline.judge.protocol import Complaint, Question
from pipeline.rules.repairs import RepairRules
from pipeline.schemas import STAGE_RECORDS
from pipeline.stage import code_digest


class AnswerReader:
    """Reads answers as the stages' decisions do, with the same repairs."""

    def __init__(self, rules: RepairRules | None = None) -> None:
        self.rules = rules or RepairRules.load()
        parts = [self.rules.digest, code_digest("pipeline.fulltax.answers")]
        self.digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def complaint(self, question: Question, finish: str, text: str) -> Complaint | None:
        """Why the answer cannot be used; null where it can."""
        b1 = (json.loads(question.previous) if question.previous else {}).get("b1")
        model = STAGE_RECORDS[question.stage]
        reading = read_reply(finish, text, model, question.trajectory_id, self.rules, b1)
        return None if reading.failure is None else Complaint(reading.failure, reading.detail or reading.failure)
