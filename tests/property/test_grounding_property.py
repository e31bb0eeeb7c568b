"""A quote is grounded where it stands in the field, escaped or not, and nowhere else."""

import json
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from openclawbench.fulltax.annotation.quote_grounding import is_grounded
from openclawbench.records.fulltax import EvidenceQuote
from openclawbench.records.packet import Evidence, EvidenceStep, PacketUserTurn

# No combining marks: a quote that cuts a letter from its accent is another letter after normalization.
LETTERS = st.sampled_from("abcXYZ 0129.,;:'\"/\\{}[]\n\t\u2028\u00a0éßﬁＡ你好🌍Ж")
TEXTS = st.text(LETTERS, min_size=1, max_size=40)
NOWHERE = "☃"  # stands in no text above
FIELDS = ("thinking", "narration", "action_text", "reflection_text")


def evidence(**texts: str | None) -> Evidence:
    """Evidence of two steps: the first has the texts, the second none."""
    fields: dict[str, Any] = dict.fromkeys(EvidenceStep.model_fields)
    fields |= {"user_turn": 1, "action_kind": "tool_call", "event_type": "read", "tool_status": "ok"}
    fields |= {"side_effect": False, "auto_flags": ["hedge"], "partial": False, "orphan": False}
    steps = [EvidenceStep(**fields | {"step_id": 1} | texts), EvidenceStep(**fields | {"step_id": 2})]
    turns = [PacketUserTurn(user_turn=1, kinds=["user"], text=texts.get("thinking") or "hello")]
    given_fields: dict[str, Any] = dict.fromkeys(Evidence.model_fields)
    given_fields |= {"source_model": "m", "trajectory_id": "t", "num_steps": 2, "order_ambiguous": False}
    given_fields |= {"truncated": False, "compacted": False, "user_turns": turns, "steps": steps}
    return Evidence.model_construct(**given_fields)


def quote(field: str, text: str, step_id: int = 1) -> EvidenceQuote:
    return EvidenceQuote.model_construct(step_id=step_id, field=field, quote=text)


@st.composite
def parts(draw: st.DrawFn) -> tuple[str, str]:
    """A text and a part of it that is not blank."""
    text = draw(TEXTS)
    start = draw(st.integers(0, len(text) - 1))
    part = text[start : draw(st.integers(start + 1, len(text)))]
    assume(part.strip())
    return text, part


@given(parts(), st.sampled_from(FIELDS))
def test_any_part_of_a_field_is_grounded_there_alone(drawn: tuple[str, str], field: str) -> None:
    text, part = drawn
    evidence_row = evidence(**{field: text})
    assert is_grounded(evidence_row, quote(field, part))
    assert not is_grounded(evidence_row, quote(field, part, step_id=2))
    assert not is_grounded(evidence_row, quote(field, part, step_id=3))
    for other in FIELDS:
        assert is_grounded(evidence_row, quote(other, part)) == (other == field)


@given(parts(), st.booleans())
def test_a_part_is_grounded_when_json_escaped(drawn: tuple[str, str], ascii_only: bool) -> None:
    text, part = drawn
    escaped = json.dumps(part, ensure_ascii=ascii_only)[1:-1]
    assert is_grounded(evidence(reflection_text=text), quote("reflection_text", escaped))


@given(parts())
def test_a_decoded_part_is_grounded_in_escaped_text(drawn: tuple[str, str]) -> None:
    text, part = drawn
    call = "exec " + json.dumps({"command": text}, ensure_ascii=False)
    assert is_grounded(evidence(action_text=call), quote("action_text", part))
    assert is_grounded(evidence(action_text=call), quote("action_text", json.dumps(part, ensure_ascii=False)[1:-1]))


@given(parts(), st.sampled_from([" ", "\n", "\t  \n"]))
def test_whitespace_does_not_count(drawn: tuple[str, str], blank: str) -> None:
    text, part = drawn
    spread = blank + blank.join(part.split()) + blank
    assert is_grounded(evidence(narration=text), quote("narration", spread))


@given(parts(), st.integers(0, 40))
def test_another_string_is_not_grounded(drawn: tuple[str, str], at: int) -> None:
    text, part = drawn
    other = part[: at % len(part)] + NOWHERE + part[at % len(part) :]
    evidence_row = evidence(thinking=text, action_text=text)
    for field in (*FIELDS, "user_turn"):
        assert not is_grounded(evidence_row, quote(field, other))
    assert is_grounded(evidence_row, quote("user_turn", part))


@given(st.text(" \n\t\u2028", max_size=5), st.sampled_from([*FIELDS, "user_turn", "descriptor"]))
def test_a_blank_quote_stands_nowhere(blank: str, field: str) -> None:
    assert not is_grounded(evidence(thinking="a b", action_text="a b"), quote(field, blank))


@given(st.sampled_from(["error", "OK", "", "null", "true"]))
def test_a_descriptor_is_grounded_only_with_its_value(value: str) -> None:
    evidence_row = evidence()
    assert is_grounded(evidence_row, quote("descriptor", "tool_status=ok"))
    assert is_grounded(evidence_row, quote("descriptor", "auto_flags=hedge"))
    assert is_grounded(evidence_row, quote("descriptor", "side_effect=false"))
    assert not is_grounded(evidence_row, quote("descriptor", f"tool_status={value}"))
    assert not is_grounded(evidence_row, quote("descriptor", f"side_effect={value}"))
    assert not is_grounded(evidence_row, quote("descriptor", f"auto_flags={value}"))
