"""Whatever calls, results and interruptions a session holds: every executed call is one step, every result in one."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.base import ParsedSession
from openclawbench.sources.openclaw.adapter import OpenClaw
from openclawbench.sources.result_pairing import Called, clean_name, pair

RULES = NormalizeRules.load()
SYNTHETIC = RULES.synthetic_result_prefixes[0]
IDS = st.sampled_from(["a", "b", "c"]) | st.none()
NAMES = st.sampled_from(["exec", "read", " exec"])
TEXTS = st.text(max_size=12)  # lone surrogates have tests of their own
called = st.builds(Called, id=IDS, name=NAMES)


@dataclass
class Drawn:
    """A generated session: its records and what must be found again."""

    records: list[dict[str, Any]]
    calls: dict[str, bool] = field(default_factory=dict)  # marker in the arguments -> its message was executed
    results: dict[str, int] = field(default_factory=dict)  # text of a real result -> its line
    spoken: list[tuple[str, str]] = field(default_factory=list)  # (field, text) that must stand in a step, unchanged
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)  # marker -> (line of its message, line of the next)


def line(message: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "message": message}


@st.composite
def sessions(draw: st.DrawFn) -> Drawn:
    """Stretches of a model's message and what follows it, without ids in the tree: a plain chain."""
    drawn = Drawn([{"type": "session", "id": "s", "timestamp": "2026-01-01T00:00:00Z"}])
    for stretch in range(draw(st.integers(1, 5))):
        stop = draw(st.sampled_from(["toolUse", "stop", "length", "error", "aborted"]))
        calls = draw(st.lists(called, max_size=4))
        stated = draw(TEXTS)
        blocks: list[dict[str, Any]] = [{"type": "text", "text": stated}] if draw(st.booleans()) else []
        markers = [f"call-{stretch}-{number}" for number in range(len(calls))]
        for marker, call in zip(markers, calls, strict=True):
            drawn.calls[marker] = stop not in ("error", "aborted")
            blocks.append({"type": "toolCall", "id": call.id, "name": call.name, "arguments": {"marker": marker}})
        drawn.records.append(line({"role": "assistant", "content": blocks, "stopReason": stop, "model": "m"}))
        opened = len(drawn.records)
        if blocks and blocks[0].get("text", "").strip() and (not calls or drawn.calls[markers[0]]):
            drawn.spoken.append(("narration" if calls else "action_text", stated))
        results = draw(st.permutations([entry for entry in calls if draw(st.booleans())]))
        extra = draw(st.lists(called, max_size=2))
        for number, result in enumerate([*results, *extra]):
            real = draw(st.integers(0, 4)) > 0
            text = f"result-{stretch}-{number} {draw(TEXTS)}." if real else f"{SYNTHETIC}; inserted"
            message = {"role": "toolResult", "toolCallId": result.id, "toolName": result.name, "isError": False}
            drawn.records.append(line(message | {"content": [{"type": "text", "text": text}]}))
            if real:
                drawn.results[text] = len(drawn.records)
        if draw(st.booleans()):
            drawn.records.append(line({"role": "user", "content": "go on"}))
        if draw(st.booleans()):
            drawn.records.append({"type": "custom", "customType": "noise"})
        drawn.spans |= dict.fromkeys(markers, (opened, len(drawn.records)))
    return drawn


def parsed(records: list[dict[str, Any]]) -> ParsedSession:
    content = b"\n".join(json.dumps(record, ensure_ascii=False).encode() for record in records) + b"\n"
    source = OpenClaw()
    return source.parse(content, {}, RULES)


def marker_of(step: dict[str, Any]) -> str | None:
    return json.loads(step["arguments"])["marker"] if step["arguments"] else None


@given(sessions())
def test_every_executed_call_is_exactly_one_step(drawn: Drawn) -> None:
    session = parsed(drawn.records)
    markers = [marker for step in session.steps if (marker := marker_of(step))]
    assert len(markers) == len(set(markers))
    paired = {marker_of(step) for step in session.steps if step["has_result"]}
    assert set(markers) == {marker for marker, executed in drawn.calls.items() if executed or marker in paired}
    assert session.run["unexecuted_calls"] == len(drawn.calls) - len(markers)


@given(sessions())
def test_every_result_is_the_feedback_of_exactly_one_step(drawn: Drawn) -> None:
    session = parsed(drawn.records)
    feedback = [step["reflection_text"] for step in session.steps if step["reflection_text"] is not None]
    assert Counter(feedback) == Counter(drawn.results.keys())
    for step in session.steps:
        lines = {pointer["part"]: pointer["line"] for pointer in step["raw"]}
        if step["reflection_text"] is not None:
            assert lines["result"] == drawn.results[step["reflection_text"]]
        if marker := marker_of(step):
            opened, closed = drawn.spans[marker]
            assert opened == lines["call"] < lines.get("result", closed + 1) <= closed + 1


@given(sessions())
def test_steps_are_numbered_and_in_the_order_of_the_file(drawn: Drawn) -> None:
    session = parsed(drawn.records)
    assert [step["step_id"] for step in session.steps] == list(range(1, len(session.steps) + 1))
    agent = [min(p["line"] for p in step["raw"]) for step in session.steps if not step["orphan"]]
    assert agent == sorted(agent)
    markers = [marker for step in session.steps if (marker := marker_of(step))]
    assert markers == [marker for marker in drawn.calls if marker in markers]
    messages = [step["message_index"] for step in session.steps]
    assert messages == sorted(messages)
    turns = [step["user_turn"] or 0 for step in session.steps if not step["orphan"]]
    assert turns == sorted(turns)


@given(sessions())
def test_text_is_never_changed_and_never_copied(drawn: Drawn) -> None:
    session = parsed(drawn.records)
    for name, text in drawn.spoken:
        assert any(step[name] == text for step in session.steps)
    for index in {step["message_index"] for step in session.steps}:
        steps = [step for step in session.steps if step["message_index"] == index and not step["orphan"]]
        assert all(step["narration"] is None and step["thinking"] is None for step in steps[1:])


@given(sessions())
def test_every_record_is_counted_once(drawn: Drawn) -> None:
    session = parsed(drawn.records)
    assert sum(session.record_counts.values()) == len(drawn.records)


@given(sessions(), st.integers(1, 10))
def test_a_torn_last_line_loses_nothing_before_it(drawn: Drawn, cut: int) -> None:
    rows = [json.dumps(record).encode() for record in drawn.records]
    source = OpenClaw()
    session = source.parse(b"\n".join([*rows, rows[-1][:-cut]]), {}, RULES)
    assert session.truncated
    complete_session = parsed(drawn.records)
    assert [step["action_text"] for step in session.steps] == [step["action_text"] for step in complete_session.steps]
    assert sum(session.record_counts.values()) == len(drawn.records) + 1


@given(st.lists(called, max_size=6), st.lists(called, max_size=6))
def test_pairing_uses_each_result_once_and_invents_none(calls: list[Called], results: list[Called]) -> None:
    pairing = pair(calls, results)
    used = list(pairing.result_of.values())
    assert len(used) == len(set(used))
    assert sorted([*used, *pairing.orphans]) == list(range(len(results)))
    for call, result in pairing.result_of.items():
        same_id = calls[call].id is not None and calls[call].id == results[result].id
        assert same_id or clean_name(calls[call].name) == clean_name(results[result].name)


@given(st.lists(st.tuples(st.integers(), NAMES), unique_by=lambda entry: entry[0], max_size=6), st.randoms())
def test_unique_ids_pair_whatever_the_order_of_results(ids: list[tuple[int, str]], random: Any) -> None:
    calls = [Called(str(number), name) for number, name in ids]
    order = list(range(len(calls)))
    random.shuffle(order)
    pairing = pair(calls, [calls[index] for index in order])
    assert {call: order[result] for call, result in pairing.result_of.items()} == {i: i for i in range(len(calls))}
    assert not pairing.orphans
    assert not pairing.ambiguous


@given(st.integers(1, 4), st.integers(1, 4))
def test_leftovers_pair_by_position_only_where_the_counts_are_equal(calls: int, results: int) -> None:
    pairing = pair([Called(None, "exec")] * calls, [Called("other", "exec")] * results)
    assert pairing.result_of == ({i: i for i in range(calls)} if calls == results else {})
    assert pairing.ambiguous == (set(range(calls)) if calls == results > 1 else set())
