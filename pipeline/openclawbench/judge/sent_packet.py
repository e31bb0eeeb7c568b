"""Packets and earlier answers as a language model receives them: the same content under an opaque id, without values
that are usual (rules/judge/sent.toml; prompts/shared explains this to the judge)."""

from functools import cache
from typing import Any

import msgspec

from openclawbench.base.canonical_json import canonical_json, sha256_text
from openclawbench.rules.judge.sent import SentRules

ID = "trajectory_id"


@cache
def sent_rules() -> SentRules:
    """How packets are written, read once."""
    return SentRules.load()


def opaque_id(source_model: str, trajectory_id: str) -> str:
    """The id under which a trajectory is sent: a digest of its joint key. The key itself may contain a file name, which
    may reveal the content."""
    digits = sha256_text(f"{source_model}\0{trajectory_id}")[: sent_rules().id_digits]
    return f"t-{digits}"


def sent_packet(material: str, sent_id: str) -> str:
    """A packet's JSON as it is sent."""
    rules, packet = sent_rules(), msgspec.json.decode(material)
    packet = {name: value for name, value in packet.items() if name not in rules.leave_out}
    former: dict[str, Any] = {}
    steps = []
    for step in packet.get("steps") or ():
        steps.append(sent_step(step, former, rules))
        former = step
    turns = [unusual(turn, rules.usual_user_turn) for turn in packet.get("user_turns") or ()]
    others = {name: value for name, value in packet.items() if name not in (ID, "steps", "user_turns")}
    return canonical_json({ID: sent_id, **without_empty_fields(others), "user_turns": turns, "steps": steps})


def sent_step(step: dict[str, Any], former: dict[str, Any], rules: SentRules) -> dict[str, Any]:
    """The fields of a step that differ from the usual values and from the step before."""
    usual: dict[str, Any] = {}
    for rule in rules.usual:
        usual |= rule.of(step)
    usual |= {name: former[name] for name in rules.carried if name in former}
    usual |= {name: step.get(source) for name, source in rules.same_as.items()}
    return unusual(step, usual)


def unusual(value: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    """The fields that differ from `usual`; by default null, false, 0 and empty values are usual."""
    return {
        name: without_empty_fields(field)
        for name, field in value.items()
        if (field != usual[name] if name in usual else is_filled(without_empty_fields(field)))
    }


def sent_previous(previous: str) -> str:
    """Earlier stages' answers as they are sent: without nulls, and without their id, which the packet has."""
    answers = msgspec.json.decode(previous)
    without_ids = {
        stage: {name: value for name, value in (answer or {}).items() if name != ID}
        for stage, answer in answers.items()
    }
    return canonical_json({stage: without_empty_fields(answer) for stage, answer in without_ids.items()})


def without_empty_fields(value: Any) -> Any:
    """A value without the empty fields of its objects."""
    if isinstance(value, dict):
        return {name: inner for name, field in value.items() if is_filled(inner := without_empty_fields(field))}
    if isinstance(value, list):
        return [without_empty_fields(item) for item in value]
    return value


def is_filled(value: Any) -> bool:
    """False for null, false, 0 and empty lists and objects. An empty text counts, because it was recorded."""
    return bool(value) or isinstance(value, str)
