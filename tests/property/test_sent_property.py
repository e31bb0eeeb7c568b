"""What a language model is sent holds what the packet holds: read as the shared prompt says, nothing is lost."""

import json
import sys
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))

from unsent import NOT_SENT, complete_packet, filled, priors, whole_previous

from openclawbench.base.canonical_json import canonical_json
from openclawbench.judge.sent_packet import opaque_id, sent_packet, sent_previous
from openclawbench.records.fulltax import StageA, StageB1, StageB2
from openclawbench.records.packet import PRIORS, EvidenceStep, Packet, PacketUserTurn

TEXT = st.none() | st.sampled_from(["", "0", "false", "null", "a text", "[]"])
NUMBER = st.none() | st.integers(1, 3)  # steps and user turns are numbered from 1
WORD = st.none() | st.sampled_from(["ok", "error", "reply", "tool_call", "read", "before", "after", "exec"])
STEP = st.fixed_dictionaries(
    {
        "step_id": st.integers(1, 9),
        "user_turn": NUMBER,
        "action_kind": st.sampled_from(["tool_call", "reply"]),
        **dict.fromkeys(("thinking", "narration", "action_text", "reflection_text", "artifact_target"), TEXT),
        **dict.fromkeys(("narration_position", "tool_name", "tool_name_raw", "tool_status"), WORD),
        "event_type": st.sampled_from(["reply", "read", "external_write"]),
        **dict.fromkeys(("side_effect", "partial", "orphan"), st.booleans()),
        **dict.fromkeys(("state_write_target", "silent_token", "resolved_status"), TEXT),
        "auto_flags": st.lists(st.sampled_from(["hedge", "error_signal"]), max_size=2),
        **dict.fromkeys(("resolved_by_step", "resolved_by_user_turn"), NUMBER),
    }
)
TURN = st.fixed_dictionaries(
    {
        "user_turn": st.integers(0, 3),
        "kinds": st.lists(st.sampled_from(["user", "heartbeat"]), max_size=2),
        "text": st.sampled_from(["", "do it"]),
    }
)


def packet(**values: Any) -> dict[str, Any]:
    """A packet with these values, everything else empty."""
    named = {"source_model": "m", "trajectory_id": "2026-a-deletion", "risk_bucket": "low"}
    empty = filled(Packet, {**named, **priors(named), "annotation_schema_target": None, "steps": [], "user_turns": []})
    return empty | {"annotation_schema_target": {"a": {"sha256": "f"}}} | values


@given(
    st.lists(STEP, max_size=5),
    st.lists(TURN, max_size=3),
    st.booleans(),
    st.sampled_from([0.0, 1e-9, 68.25, 1e16]),
)
def test_nothing_is_lost(steps: list[Any], turns: list[Any], cut: bool, score: float) -> None:
    given_ = packet(steps=steps, user_turns=turns, compacted=cut, risk_score=score, num_steps=len(steps))
    assert all(step.keys() == EvidenceStep.model_fields.keys() for step in steps)
    assert all(turn.keys() == PacketUserTurn.model_fields.keys() for turn in turns)
    text = sent_packet(canonical_json(given_), "t-1")
    assert complete_packet(json.loads(text)) == given_ | NOT_SENT | {"trajectory_id": "t-1"}
    assert "sha256" not in text and "deletion" not in text


def test_a_blind_packet_says_neither_outcome_nor_risk() -> None:
    blind = packet(**dict.fromkeys(PRIORS))
    sent = json.loads(sent_packet(canonical_json(blind), "t-1"))
    assert not set(PRIORS) & set(sent)
    assert complete_packet(sent) == blind | NOT_SENT | {"trajectory_id": "t-1"}


def test_an_empty_step_says_next_to_nothing() -> None:
    usual = dict.fromkeys(EvidenceStep.model_fields) | {"auto_flags": [], "side_effect": False, "user_turn": 1}
    call = usual | {
        "step_id": 2,
        "tool_name": "exec",
        "tool_name_raw": "exec",
        "tool_status": "ok",
        "event_type": "read",
    }
    reply = usual | {"step_id": 3, "action_kind": "reply", "event_type": "reply", "action_text": "Done."}
    first = usual | {"step_id": 1, "action_kind": "reply", "event_type": "reply"}
    steps = [first, call | {"action_kind": "tool_call"}, reply]
    sent = json.loads(sent_packet(canonical_json(packet(steps=steps)), "t-1"))
    assert sent["steps"] == [
        {"step_id": 1, "user_turn": 1},
        {"step_id": 2, "tool_name": "exec", "event_type": "read"},
        {"step_id": 3, "action_text": "Done."},
    ]


def test_what_a_packet_may_not_be_taken_for_is_said() -> None:
    """A call of which nothing came back is none that went well, and a turn that ends is no turn that goes on."""
    usual = dict.fromkeys(EvidenceStep.model_fields) | {"auto_flags": [], "event_type": "read", "tool_name": "exec"}
    steps = [usual | {"step_id": 1, "user_turn": 2}, usual | {"step_id": 2, "user_turn": None}]
    first, second = json.loads(sent_packet(canonical_json(packet(steps=steps)), "t-1"))["steps"]
    assert first["tool_status"] is None and second["user_turn"] is None


def test_earlier_answers_lose_their_id_and_what_is_empty_and_nothing_else() -> None:
    quote = {"step_id": 1, "field": "thinking", "quote": ""}
    a = StageA(
        trajectory_id="2026-a-deletion",
        route_label="structured_annotation",
        candidate_subtypes=[],
        subtype_evidence_triggers=[],
        reasoning_summary="",
        evidence_steps=[quote],
        routing_confidence="low",
    ).model_dump()
    b1 = filled(
        StageB1, {"trajectory_id": "2026-a-deletion", "trajectory_is_anomalous": True, "annotator_rationale": "x"}
    )
    b2 = {"recoverability": "recoverable", "severity": "low", "annotator_rationale_refined": "y"}
    b2 = filled(StageB2, {"trajectory_id": "2026-a-deletion", **b2})
    for previous in ({"a": a}, {"b1": b1}, {"b1": b1, "b2": b2}):
        sent = sent_previous(canonical_json(previous))
        assert "deletion" not in sent and "null" not in sent and "[]" not in sent
        assert whole_previous(json.loads(sent), "2026-a-deletion") == previous


def test_an_opaque_id_is_one_of_the_joint_key_and_says_nothing() -> None:
    ids = {opaque_id(model, name) for model in ("m", "n") for name in ("2026-innocent", "2026-error")}
    assert len(ids) == 4 and all(len(row_id) == 14 and row_id.startswith("t-") for row_id in ids)
    assert opaque_id("a\0b", "c") != "" and opaque_id("m", "2026-innocent") == opaque_id("m", "2026-innocent")
