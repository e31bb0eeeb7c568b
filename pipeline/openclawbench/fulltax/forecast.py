"""What a run would ask after an answer, for plans alone: no label comes from here.

The next question is made as the stages make it. Where there is no answer yet, the rules judge answers instead.
"""

import json
from typing import Any

from openclawbench.fulltax.answers.parsing import read_reply
from openclawbench.fulltax.requests import LABEL, request
from openclawbench.fulltax.rules_judge import RulesJudge
from openclawbench.fulltax.stage_b1 import purpose_of
from openclawbench.judge.ask import question as as_question
from openclawbench.judge.prompts import PromptB1, PromptB2, PromptC, StagePrompt
from openclawbench.judge.protocol import Question, Reply
from openclawbench.records.json_schema import STAGE_RECORDS
from openclawbench.records.packet import Evidence, LanguageCounts
from openclawbench.rules.fulltax.control import ControlRules
from openclawbench.rules.fulltax.repairs import RepairRules

# Evidence has these fields and a packet does not.
NO_LANGUAGES: dict[str, Any] = {"languages": [], "language_counts": dict.fromkeys(LanguageCounts.model_fields, 0)}


class FollowUpForecaster:
    """Continues from a question, one trajectory after the other."""

    def __init__(self) -> None:
        self.judge = RulesJudge()
        self.control, self.repairs = ControlRules.load(), RepairRules.load()
        self.b1, self.b2, self.c = PromptB1.load(), PromptB2.load(), PromptC.load()

    def reply(self, question: Question) -> Reply:
        """The answer of the rules judge to the packet, which does not tell it the language of a text."""
        packet = json.loads(question.material) | NO_LANGUAGES
        evidence = json.dumps({name: packet[name] for name in Evidence.model_fields})
        return self.judge.ask(
            Question(
                question.stage,
                evidence,
                question.previous,
                question.schema_id,
                question.prompt_version,
                "",
                question.trajectory_id,
            )
        )

    def following(self, question: Question, reply: Reply) -> Question | None:
        """The question that follows a reply; None if the reply is the last of its trajectory."""
        previous: dict[str, Any] = json.loads(question.previous) if question.previous else {}
        reading = read_reply(
            reply.finish,
            reply.text,
            STAGE_RECORDS[question.stage],
            question.trajectory_id,
            self.repairs,
            previous.get("b1"),
            sent_id=question.sent_id,
        )
        if reading.answer is None:
            return None
        packet = {
            "source_model": str(json.loads(question.material)["source_model"]),
            "trajectory_id": question.trajectory_id,
            "packet_sha256": question.packet_sha256,
            "fits": question.fits,
        }
        following = self.following_request(question.stage, packet, previous, reading.answer.model_dump())
        return None if following is None else as_question(following[1], question.material, following[0])

    def following_request(
        self, stage: str, packet: dict[str, Any], previous: dict[str, Any], answer: dict[str, Any]
    ) -> tuple[StagePrompt, dict[str, Any]] | None:
        """Prompt and JudgeRequest row of the stage that follows an answer; None if none does."""
        if stage == "a":
            purpose = purpose_of(packet | {"answer": answer}, self.control)
            return None if purpose is None else (self.b1, request(packet, self.b1, {"a": answer}, purpose))
        if stage == "b1":
            is_label = purpose_of(packet | {"answer": previous["a"]}, self.control) == LABEL
            if is_label and answer["trajectory_is_anomalous"] and answer["anomaly_type_l2"] is not None:
                return self.b2, request(packet, self.b2, {"b1": answer})
        if stage == "b2":
            return self.c, request(packet, self.c, {"b1": previous["b1"], "b2": answer})
        return None
