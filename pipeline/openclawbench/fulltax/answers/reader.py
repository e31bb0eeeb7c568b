"""AnswerReader: tells the asking room whether an answer can be read, and if not, why."""

import hashlib
import json
from typing import Any

from pydantic import BaseModel

from openclawbench.base.code_digest import code_digest
from openclawbench.fulltax.answers.parsing import read_reply
from openclawbench.judge.protocol import AnswerCheck, AnswerProblem, Question
from openclawbench.records.json_schema import STAGE_RECORDS
from openclawbench.rules.fulltax.repairs import RepairRules

LABEL_FIELDS = {"a": "route_label", "b1": "anomaly_type_l2", "b2": "severity", "c": "verdict"}  # of each stage


class AnswerReader:
    """Reads answers as the stages' decisions do, with the same repairs."""

    def __init__(self, rules: RepairRules | None = None) -> None:
        self.rules = rules or RepairRules.load()
        parts = [self.rules.digest, code_digest("openclawbench.fulltax.answers.parsing")]
        self.digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def read(self, question: Question, finish: str, text: str) -> AnswerCheck:
        """The problem of an answer, if any, and its label: route, subtype (`normal` or `unresolved` where there is
        none), severity or verdict; the failure where the answer cannot be read."""
        b1 = (json.loads(question.previous) if question.previous else {}).get("b1")
        model: type[BaseModel] = STAGE_RECORDS[question.stage]
        reading = read_reply(finish, text, model, question.trajectory_id, self.rules, b1, sent_id=question.sent_id)
        if reading.failure is not None:
            return AnswerCheck(AnswerProblem(reading.failure, reading.detail or reading.failure), reading.failure)
        return AnswerCheck(None, label_of(question.stage, reading.answer))


def label_of(stage: str, answer: Any) -> str:
    """The label in a stage's answer."""
    label = getattr(answer, LABEL_FIELDS[stage])
    if label is None:
        return "normal" if answer.trajectory_is_anomalous is False else "unresolved"
    return str(label)
