"""What a run would ask after an answer: the next stage's question, as the stages make it, and where there is no answer
yet, the rules judge's in its place. For plans alone: no label comes from here."""

import json
from typing import Any

from openclawbench.fulltax.answers.parsing import read_reply
from openclawbench.fulltax.requests import LABEL, request
from openclawbench.fulltax.rules_judge import RulesJudge
from openclawbench.fulltax.stage_b1 import why_asked
from openclawbench.judge.ask import question as as_question
from openclawbench.judge.prompts import PromptB1, PromptB2, PromptC, StagePrompt
from openclawbench.judge.protocol import Question, Reply
from openclawbench.records.json_schema import STAGE_RECORDS
from openclawbench.records.packet import Evidence, LanguageCounts
from openclawbench.rules.control import ControlRules
from openclawbench.rules.repairs import RepairRules

# Languages stand in evidence and not in packets.
NO_LANGUAGES: dict[str, Any] = {"languages": [], "language_counts": dict.fromkeys(LanguageCounts.model_fields, 0)}


class Forecast:
    """Goes on from a question, one trajectory after the other."""

    def __init__(self) -> None:
        self.judge = RulesJudge()
        self.control, self.repairs = ControlRules.load(), RepairRules.load()
        self.b1, self.b2, self.c = PromptB1.load(), PromptB2.load(), PromptC.load()

    def reply(self, question: Question) -> Reply:
        """What the rules judge would answer, of words other than English what it sees without their language."""
        packet = json.loads(question.material) | NO_LANGUAGES
        evidence = json.dumps({name: packet[name] for name in Evidence.model_fields})
        asked = Question(
            question.stage,
            evidence,
            question.previous,
            question.schema_id,
            question.prompt_version,
            "",
            question.trajectory_id,
        )
        return self.judge.ask(asked)

    def following(self, question: Question, reply: Reply) -> Question | None:
        """The question that a reply leads to; null where it ends the trajectory's way."""
        source_model = str(json.loads(question.material)["source_model"])
        previous: dict[str, Any] = json.loads(question.previous) if question.previous else {}
        model = STAGE_RECORDS[question.stage]
        reading = read_reply(
            reply.finish,
            reply.text,
            model,
            question.trajectory_id,
            self.repairs,
            previous.get("b1"),
            sent_id=question.sent_id,
        )
        if reading.answer is None:
            return None
        answer = reading.answer.model_dump()
        packet = {
            "source_model": source_model,
            "trajectory_id": question.trajectory_id,
            "packet_sha256": question.packet_sha256,
            "fits": question.fits,
        }
        made: tuple[StagePrompt, dict[str, Any]] | None = None
        if question.stage == "a":
            purpose = why_asked(packet | {"answer": answer}, self.control)
            if purpose is not None:
                made = (self.b1, request(packet, self.b1, {"a": answer}, purpose))
        elif question.stage == "b1":
            is_label = why_asked(packet | {"answer": previous["a"]}, self.control) == LABEL
            goes_on = is_label and answer["trajectory_is_anomalous"] and answer["anomaly_type_l2"] is not None
            if goes_on:
                made = (self.b2, request(packet, self.b2, {"b1": answer}))
        elif question.stage == "b2":
            made = (self.c, request(packet, self.c, {"b1": previous["b1"], "b2": answer}))
        return None if made is None else as_question(made[1], question.material, made[0])
