"""RulesJudge: the rules judge behind the Judge protocol. Only Evidence and earlier answers can reach it."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from openclawbench.base.code_digest import code_digest
from openclawbench.errors import UsageError
from openclawbench.fulltax.rules_judge.stage_a import answer_a
from openclawbench.fulltax.rules_judge.stage_b1 import answer_b1
from openclawbench.fulltax.rules_judge.stage_b2 import answer_b2
from openclawbench.fulltax.rules_judge.stage_c import answer_c
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.fulltax.rules_judge.trigger import Trigger
from openclawbench.fulltax.rules_judge.triggers import find_triggers
from openclawbench.judge.protocol import Question, QuestionSource, Reply
from openclawbench.records.fulltax import StageA, StageB1, StageB2, StageC, Usage
from openclawbench.records.packet import Evidence
from openclawbench.rules.fulltax.judge import JudgeRules
from openclawbench.rules.fulltax.taxonomy import Taxonomy

KEPT = 4_096  # trajectories whose triggers are kept: more than a shard usually has
FREE = Usage(prompt_tokens=0, completion_tokens=0, cached_tokens=0)


@dataclass(frozen=True)
class Answers:
    """The triggers of a trajectory, and the answers that follow from them and from each other."""

    triggers: list[Trigger]
    b1: StageB1 | None = None
    b2: StageB2 | None = None
    c: str | None = None

    def text(self, stage: str, previous: dict[str, Any]) -> str | None:
        """The answer of a stage as JSON text; None if it is not known, or if it was asked on other earlier answers."""
        own = previous.get("b1")
        if stage == "b1":
            return None if self.b1 is None else self.b1.model_dump_json()
        if stage not in ("b2", "c") or self.b2 is None or (own and StageB1.model_validate(own) != self.b1):
            return None
        if stage == "b2":
            return self.b2.model_dump_json()
        own_b2 = previous.get("b2")
        return self.c if own_b2 and StageB2.model_validate(own_b2) == self.b2 else None


class RulesJudge:
    """Answers by rules, from evidence alone; the same question always gets the same answer, at no cost."""

    name: str = "rules"
    reads: Literal["packet", "evidence"] = "evidence"
    embedded: bool = True

    def __init__(self, rules: JudgeRules | None = None, taxonomy: Taxonomy | None = None) -> None:
        self.rules = rules or JudgeRules.load()
        self.taxonomy = taxonomy or Taxonomy.load()
        self.model: str = self.rules.model
        parts = [self.rules.digest, self.taxonomy.digest, code_digest("openclawbench.fulltax.rules_judge")]
        self.digest: str = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        self.method_digest = self.digest
        self.kept: dict[bytes, Answers] = {}  # digest of the material -> what is answered to it

    def prepare(self, stage: str, parts: Iterable[QuestionSource], total: int) -> None:
        """Nothing to prepare: the rules are here."""

    def describe(self) -> dict[str, Any]:
        """Name and model."""
        return {"name": self.name, "model": self.model}

    def ask(self, question: Question) -> Reply:
        """The answer as JSON text of the stage's schema.

        `question.material` is the JSON of an Evidence record: any other field in it, such as an oracle outcome, is a
        validation error. B2 and C build on `previous`; where it lacks B1, the judge's own B1 stands in for it.
        """
        key = hashlib.sha256(question.material.encode()).digest()
        previous = json.loads(question.previous) if question.previous else {}
        evidence: Evidence | None = None
        if key not in self.kept:
            evidence = Evidence.model_validate_json(question.material)
            if len(self.kept) >= KEPT:
                del self.kept[next(iter(self.kept))]
            self.kept[key] = self.answers(evidence)
        known = self.kept[key]
        text = known.text(question.stage, previous)
        if text is None:
            evidence = evidence or Evidence.model_validate_json(question.material)
            text = self.answer(question.stage, evidence, previous, known.triggers).model_dump_json()
        return Reply(text, FREE, 0.0, None)

    def answers(self, evidence: Evidence) -> Answers:
        """The triggers of a trajectory and, where it has some, what the later stages will be answered, so that its
        evidence is read once."""
        triggers = find_triggers(Trace(evidence, self.rules))
        if not triggers:
            return Answers(triggers)
        b1 = answer_b1(evidence, self.rules, self.taxonomy, triggers)
        if not b1.trajectory_is_anomalous:
            return Answers(triggers, b1)
        b2 = answer_b2(evidence, self.rules, self.taxonomy, b1, triggers)
        c = answer_c(evidence, self.rules, self.taxonomy, b1, b2, triggers)
        return Answers(triggers, b1, b2, c.model_dump_json())

    def answer(
        self, stage: str, evidence: Evidence, previous: dict[str, object], triggers: list[Trigger] | None = None
    ) -> StageA | StageB1 | StageB2 | StageC:
        """The typed answer of a stage; `triggers` are those of the evidence, if they are known already.

        Raises UsageError for a stage that FullTax does not have.
        """
        if stage == "a":
            return answer_a(evidence, self.rules, self.taxonomy, triggers)
        own = previous.get("b1")
        if stage == "b1" or not own:
            b1 = answer_b1(evidence, self.rules, self.taxonomy, triggers)
        else:
            b1 = StageB1.model_validate(own)
        if stage == "b1":
            return b1
        if stage == "b2":
            return answer_b2(evidence, self.rules, self.taxonomy, b1, triggers)
        if stage == "c":
            b2 = StageB2.model_validate(previous["b2"]) if previous.get("b2") else None
            return answer_c(evidence, self.rules, self.taxonomy, b1, b2, triggers)
        raise UsageError(f"FullTax has no stage {stage!r}: a, b1, b2 or c.")
