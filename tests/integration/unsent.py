"""Back from what a language model is sent to the records: as the shared prompt says, and by no code of the program."""

from typing import Any, get_args, get_origin

from pydantic import BaseModel

from openclawbench.records.fulltax import StageA, StageB1, StageB2, StageC
from openclawbench.records.packet import EvidenceStep, Packet, PacketUserTurn
from openclawbench.records.risk import OnsetCandidates, RiskSignals

MODELS: dict[str, type[BaseModel]] = {"a": StageA, "b1": StageB1, "b2": StageB2, "c": StageC}
NOT_SENT = {"source_model": "not sent", "annotation_schema_target": None}


def complete_packet(sent: dict[str, Any]) -> dict[str, Any]:
    """A packet with every field, but for those that are not sent."""
    turns = [filled(PacketUserTurn, {"kinds": ["user"], **turn}) for turn in sent["user_turns"]]
    packet = filled(Packet, {**NOT_SENT, **sent, "steps": [], "user_turns": []} | priors(sent))
    return packet | {"user_turns": turns, "steps": whole_steps(sent["steps"])}


def priors(sent: dict[str, Any]) -> dict[str, Any]:
    """Risk and onset candidates of a packet that has them: one without a bucket is blind."""
    if "risk_bucket" not in sent:
        return {}
    return {
        "risk_score": sent.get("risk_score", 0.0),
        "risk_signals": filled(RiskSignals, sent.get("risk_signals", {})),
        "onset_candidates": filled(OnsetCandidates, sent.get("onset_candidates", {})),
    }


def whole_steps(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Steps with what goes without saying."""
    rows: list[dict[str, Any]] = []
    for step in steps:
        usual: dict[str, Any] = {"action_kind": "reply", "event_type": "reply"}
        if step.get("tool_name") is not None:
            usual = {"action_kind": "tool_call", "tool_status": "ok"}
        usual |= {"user_turn": rows[-1]["user_turn"]} if rows else {}
        usual |= {"tool_name_raw": step.get("tool_name")}
        usual |= {"narration_position": "before"} if step.get("narration") is not None else {}
        rows.append(filled(EvidenceStep, usual | step))
    return rows


def whole_previous(sent: dict[str, Any], trajectory_id: str) -> dict[str, Any]:
    """Earlier answers with every field."""
    return {stage: filled(MODELS[stage], {"trajectory_id": trajectory_id} | entry) for stage, entry in sent.items()}


def filled(record: type[BaseModel], value: dict[str, Any]) -> dict[str, Any]:
    """An object with null, false, 0 or nothing in it for each field that is absent, whichever the field's kind is."""
    result = {}
    for name, field in record.model_fields.items():
        kind: Any = field.annotation
        if name in value:
            nested = isinstance(kind, type) and issubclass(kind, BaseModel) and isinstance(value[name], dict)
            result[name] = filled(kind, value[name]) if nested else value[name]
        else:
            result[name] = empty(kind)
    return result


def empty(kind: Any) -> Any:
    """What stands for absent."""
    if type(None) in get_args(kind):
        return None
    if get_origin(kind) is list:
        return []
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return filled(kind, {})
    if kind in (bool, int, float):
        return kind()
    raise TypeError(f"{kind} has no value for absent")
