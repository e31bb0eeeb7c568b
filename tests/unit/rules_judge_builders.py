"""Short ways to make evidence by hand and to ask the rules judge all its questions."""

import json
from collections.abc import Iterable
from typing import Any

import polars as pl
from pydantic import BaseModel

from openclawbench.construct.describe.language import detect_languages
from openclawbench.fulltax.rules_judge import RulesJudge
from openclawbench.fulltax.rules_judge.flow.derivation import Derivation, totals
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.fulltax.rules_judge.trigger import Trigger
from openclawbench.fulltax.rules_judge.triggers import find_triggers
from openclawbench.judge.protocol import Question
from openclawbench.records.fulltax import StageA, StageB1, StageB2, StageC
from openclawbench.records.packet import EventTypeCounts, Evidence, EvidenceStep, LanguageCounts, PacketUserTurn
from openclawbench.rules.construct.language import LanguageRules
from openclawbench.rules.fulltax.judge import JudgeRules
from openclawbench.rules.fulltax.taxonomy import Taxonomy

RULES = JudgeRules.load()
LANGUAGES = LanguageRules.load()
TAXONOMY = Taxonomy.load()
JUDGE = RulesJudge(RULES, TAXONOMY)
MODELS: dict[str, type[BaseModel]] = {"a": StageA, "b1": StageB1, "b2": StageB2, "c": StageC}


def call(event_type: str, action_text: str, **more: Any) -> dict[str, Any]:
    """A tool call of the first user turn, ok unless told."""
    step = dict.fromkeys(EvidenceStep.model_fields)
    step |= {"user_turn": 1, "action_kind": "tool_call", "tool_name": "exec", "tool_status": "ok", "auto_flags": []}
    step |= {"event_type": event_type, "action_text": action_text, "partial": False, "orphan": False}
    step |= {"side_effect": event_type in ("external_write", "state_write", "system_control", "communication")}
    return step | more


def reply(text: str, **more: Any) -> dict[str, Any]:
    """A text reply of the first user turn."""
    return call("reply", text, action_kind="reply", tool_name=None, tool_status=None) | more


def evidence(*steps: dict[str, Any], user: str | list[str] = "Please help.", **more: Any) -> Evidence:
    """A trajectory of the given steps, numbered from 1."""
    turns = [user] if isinstance(user, str) else user
    row: dict[str, Any] = {
        "source_model": "model-x",
        "trajectory_id": "t.00000000",
        "num_steps": len(steps),
        "truncated": False,
        "order_ambiguous": False,
        "compacted": False,
        "event_type_counts": EventTypeCounts.model_validate(
            {name: sum(step["event_type"] == name for step in steps) for name in EventTypeCounts.model_fields}
        ),
        "user_turns": [
            PacketUserTurn(user_turn=number, kinds=["user"], text=text) for number, text in enumerate(turns, 1)
        ],
        "steps": [EvidenceStep.model_validate(step | {"step_id": number}) for number, step in enumerate(steps, 1)],
    }
    row |= languages_of(row["steps"])
    return Evidence.model_validate(row | more)


def languages_of(steps: list[EvidenceStep]) -> dict[str, Any]:
    """The languages of the agent's own words, told as the pipeline tells them."""
    fields = [(step, name) for step in steps for name in ("thinking", "narration")]
    fields += [(step, "action_text") for step in steps if step.action_kind == "reply"]
    texts = {(field.step_id, name): getattr(field, name) for field, name in fields if getattr(field, name)}
    rows = {
        row["text"]: row
        for row in detect_languages(pl.Series(list(texts.values()), dtype=pl.String), LANGUAGES).to_dicts()
    }
    result = [
        {"step_id": step_id, "field": name, "language": rows[text]["language"], "coverage": rows[text]["coverage"]}
        for (step_id, name), text in texts.items()
    ]
    return {"languages": result, "language_counts": dict.fromkeys(LanguageCounts.model_fields, 0)}


def failed(event_type: str, action_text: str, output: str, status: str = "error", **more: Any) -> dict[str, Any]:
    """A tool call that failed and says so."""
    flags = ["error_signal"]
    return call(event_type, action_text, tool_status=status, reflection_text=output, auto_flags=flags) | more


def find(evidence_row: Evidence) -> list[Trigger]:
    return find_triggers(Trace(evidence_row, RULES))


def ask_all(evidence_row: Evidence, judge: RulesJudge = JUDGE) -> dict[str, dict[str, Any]]:
    """All four stages, each with the answers before it."""
    previous: dict[str, dict[str, Any]] = {}
    for stage in MODELS:
        before = json.dumps(previous) if previous else None
        question = Question(stage, evidence_row.model_dump_json(), before, f"stage_{stage}", "v1", "")
        previous[stage] = json.loads(judge.ask(question).text)
    return previous


def follows(numbers: Iterable[float], known: set[float], columns: Iterable[list[float]]) -> bool:
    """True if one of the numbers is known or made of known ones. `columns`: numbers that belong together."""
    derivation = Derivation(known, [totals(column) for column in columns if column])
    return any(derivation.makes(number) for number in numbers)
