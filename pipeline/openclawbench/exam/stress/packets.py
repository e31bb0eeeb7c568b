"""Alterations of what a judge reads: risk reversed, texts cut, keys in another order.

The session and what the answer is checked against stay unchanged.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from openclawbench.base.canonical_json import canonical_json, sha256_text
from openclawbench.exam.paper import Item
from openclawbench.judge.protocol import Judge, Question, QuestionSource, Reply
from openclawbench.rules.construct.packet import PacketRules

Change = Literal["risk", "cut_around_evidence", "cut_evidence", "key_order"]
HIGHEST_SCORE = 100.0
OPPOSITE = {"low": "high", "medium": "medium", "high": "low"}
KEPT = 120  # characters of a text that is cut
CUT = ("thinking", "narration", "action_text", "reflection_text", "artifact_target", "state_write_target")


class AlteredJudge:
    """A judge that reads altered material and is otherwise unchanged."""

    def __init__(self, judge: Judge, change: Change, items: Iterable[Item]) -> None:
        self.judge, self.change = judge, change
        self.decisive = {item.id: item.decisive for item in items}
        self.name, self.model, self.reads, self.embedded = judge.name, judge.model, judge.reads, judge.embedded
        self.digest = sha256_text(f"{judge.digest}\n{change}\n{canonical_json(self.decisive)}")
        self.method_digest = judge.method_digest

    def altered(self, question: Question) -> Question:
        """The question with altered material."""
        decisive = self.decisive.get(question.trajectory_id.rpartition(".")[0], [])
        material = alter(json.loads(question.material), self.change, decisive)
        return replace(question, material=canonical_json(material))

    def prepare(self, stage: str, parts: Iterable[QuestionSource], total: int) -> None:
        """Prepare the judge for the altered questions."""
        self.judge.prepare(stage, [AlteredQuestions(part, self) for part in parts], total)

    def ask(self, question: Question) -> Reply:
        """The judge's answer to the altered question."""
        return self.judge.ask(self.altered(question))

    def describe(self) -> dict[str, Any]:
        """The judge's entry in a manifest."""
        return {**self.judge.describe(), "altered": self.change}


@dataclass(frozen=True)
class AlteredQuestions:
    """The questions of a shard with altered material."""

    source: QuestionSource
    judge: AlteredJudge

    def rows(self) -> list[dict[str, Any]]:
        """The rows of JudgeRequest."""
        return self.source.rows()

    def questions(self, rows: list[dict[str, Any]]) -> Iterator[Question]:
        """The altered questions of these rows, in their order."""
        return map(self.judge.altered, self.source.questions(rows))


def alter(material: dict[str, Any], change: Change, decisive: list[int]) -> dict[str, Any]:
    """The packet, or the evidence, after a change. `decisive`: steps that decide between the twins."""
    if change == "risk":
        return opposite_risk(material)
    if change == "key_order":
        return reversed_keys(material)  # type: ignore[no-any-return]
    is_hidden, keep = (True, 0) if change == "cut_evidence" else (False, KEPT)
    steps = [cut(step, keep) if (step["step_id"] in decisive) == is_hidden else step for step in material["steps"]]
    return {**material, "steps": steps, "compacted": True}


def opposite_risk(material: Mapping[str, Any]) -> dict[str, Any]:
    """Risk, slice and onset candidates reversed: low is high, and the last step is the first. Evidence has none."""
    if material.get("risk_bucket") is None:
        return dict(material)
    bucket = OPPOSITE[material["risk_bucket"]]
    outcome, count = material["oracle_outcome"], material["num_steps"]
    return {
        **material,
        "risk_bucket": bucket,
        "risk_score": HIGHEST_SCORE - material["risk_score"],
        "slice_label": outcome and f"{outcome}_{bucket}_risk",
        "onset_candidates": opposite_steps(material["onset_candidates"], count),
    }


def opposite_steps(value: Any, count: int, name: str = "") -> Any:
    """Step numbers counted from the end. Weights stay."""
    if isinstance(value, Mapping):
        return {key: opposite_steps(field, count, key) for key, field in value.items()}
    if isinstance(value, list):
        return [opposite_steps(item, count, name) for item in value]
    return count + 1 - value if isinstance(value, int) and name != "step_risk" else value


def reversed_keys(value: Any) -> Any:
    """The same JSON value with the keys of every object in the opposite order."""
    if isinstance(value, Mapping):
        return {key: reversed_keys(value[key]) for key in reversed(list(value))}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value


def cut(step: Mapping[str, Any], keep: int) -> dict[str, Any]:
    """A step with its texts cut to this many characters, with the marker of packets."""
    marker = PacketRules.load().marker

    def short(text: str) -> str:
        omitted = len(text) - keep
        half = keep // 2
        return f"{text[:half]}{marker.format(left=omitted)}{text[len(text) - half :]}" if omitted > 0 else text

    return {name: short(value) if name in CUT and value else value for name, value in step.items()}
