"""ATIF documents of several harnesses: steps, pairing, what is left out, places of the raw bytes."""

import json
from random import Random
from typing import Any

import pytest

from openclawbench.records.session import RunSummary, Step, UserTurn
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.atif.adapter import Atif
from openclawbench.sources.base import MalformedSession, ParsedSession
from openclawbench.tables.schema import from_records

RULES = NormalizeRules.load()
ATIF = Atif()
DAMAGE = [b"", b"\x00", b"\xff", b"\\ud83d", b"NaN", b"1e999", b"9" * 40, b"null", b"{", b"]", b'"', b"[" * 5000]
DAMAGE += [b'"extra":[],', b'{"a":' * 900 + b"1" + b"}" * 900, b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"true", b"\r\n"]
KEY = {"source_model": "m", "trajectory_id": "t"}
AGENT = {"name": "harness", "version": "1", "model_name": "default-model"}


def document(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    numbered = [{"step_id": number} | step for number, step in enumerate(steps, start=1)]
    return {"schema_version": "ATIF-v1.7", "session_id": "s", "agent": AGENT, "steps": numbered} | fields


def agent(message: Any = "", **fields: Any) -> dict[str, Any]:
    return {"source": "agent", "message": message, **fields}


def call(call_id: str, name: str = "f", arguments: Any = None) -> dict[str, Any]:
    return {"tool_call_id": call_id, "function_name": name, "arguments": {} if arguments is None else arguments}


def seen(*results: Any) -> dict[str, Any]:
    """An observation of (call id, content) pairs or of whole results."""
    built = [
        result if isinstance(result, dict) else {"source_call_id": result[0], "content": result[1]}
        for result in results
    ]
    return {"results": built}


def parse(content: bytes) -> ParsedSession:
    """The session, its accounts checked and its rows taken by the tables they are for."""
    session = ATIF.parse(content, {}, RULES)
    assert session.records_in == sum(session.record_counts.values())
    from_records([KEY | step for step in session.steps], Step)
    from_records([KEY | turn for turn in session.user_turns], UserTurn)
    assert all(set(step) | set(KEY) == set(Step.model_fields) for step in session.steps)
    assert set(session.run) == set(RunSummary.model_fields)
    assert [step["step_id"] for step in session.steps] == list(range(1, len(session.steps) + 1))
    return session


def parse_steps(*steps: dict[str, Any], **fields: Any) -> ParsedSession:
    return parse(json.dumps(document(*steps, **fields)).encode())


def shape(session: ParsedSession, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(step[name] for name in names) for step in session.steps]


def refusal(content: bytes) -> tuple[str, int]:
    with pytest.raises(MalformedSession) as caught:
        ATIF.parse(content, {}, RULES)
    return caught.value.fault.reason, caught.value.fault.line


# ---- detection and identity ------------------------------------------------------------------------------------------
def test_the_schema_version_tells_the_format() -> None:
    assert ATIF.detect(document())
    assert ATIF.detect({"schema_version": "ATIF-v1.0"})
    for other in [None, [], {}, {"schema_version": 1}, {"schema_version": "1.4"}, {"type": "session"}]:
        assert not ATIF.detect(other)


def test_ids_are_the_identity() -> None:
    assert ATIF.identity(document(), b"") == ("s", '["s", null, "harness"]')
    assert ATIF.identity(document(trajectory_id="t"), b"") == ("s", '["s", "t", "harness"]')
    assert ATIF.identity(document(session_id=None, trajectory_id="t"), b"")[0] == "t"
    nameless = document(agent(), session_id=None)
    session_id, digest = ATIF.identity(nameless, json.dumps(nameless).encode())
    assert session_id is None
    assert digest == ATIF.identity(nameless, json.dumps(nameless, indent=2).encode())[1]
    assert digest != ATIF.identity(document(agent("x"), session_id=None), b"")[1]


def test_our_own_labels_are_never_read() -> None:
    labels = {"openclawbench": {"anomaly_type_l2": "SECRET", "status": "error", "isError": True}}
    result = {"source_call_id": "a", "content": "A"}
    plain = document(agent("m", tool_calls=[call("a")], observation=seen(result)), session_id=None)
    labelled = document(
        agent(
            "m", tool_calls=[call("a") | {"extra": labels}], observation=seen(result | {"extra": labels}), extra=labels
        ),
        session_id=None,
        extra=labels,
    )
    session, their_session = parse(json.dumps(labelled).encode()), parse(json.dumps(plain).encode())
    assert "SECRET" not in repr(session)
    assert session.record_digests == their_session.record_digests
    assert shape(session, "result_details", "result_is_error") == [(None, None)]
    assert [step | {"raw": []} for step in session.steps] == [step | {"raw": []} for step in their_session.steps]
    unlabelled_results = document(agent("m", extra=labels), session_id=None, extra=labels)
    assert ATIF.identity(unlabelled_results, b"") == ATIF.identity(document(agent("m"), session_id=None), b"")


# ---- steps -----------------------------------------------------------------------------------------------------------
def test_a_turn_with_calls_and_their_results() -> None:
    session = parse_steps(
        {"source": "system", "message": "prompt"},
        {"source": "user", "message": "do it", "timestamp": "2026-01-02T03:04:05Z"},
        agent(
            "I look",
            reasoning_content="think",
            timestamp="2026-01-02T03:04:06Z",
            tool_calls=[call("a", "ls", {"path": "/tmp"}), call("b", "cat")],
            observation=seen(("b", "B"), ("a", "A")),
        ),
        agent("done", timestamp="2026-01-02T03:04:10Z"),
    )
    first, second, third = session.steps
    assert (first["thinking"], first["narration"], first["narration_position"]) == ("think", "I look", "before")
    assert (first["action_text"], first["reflection_text"]) == ('ls {"path": "/tmp"}', "A")
    assert (second["thinking"], second["narration"], second["reflection_text"]) == (None, None, "B")
    assert (second["message_index"], second["followed"], second["user_turn"]) == (1, True, 1)
    assert (third["action_kind"], third["action_text"], third["followed"]) == ("reply", "done", False)
    assert session.user_turns[0]["before_step"] == 1
    assert session.record_counts == {
        "metadata:document": 1,
        "system": 1,
        "user_turn": 1,
        "step_call": 1,
        "step_reply": 1,
    }
    assert (session.session_id, session.session_version, session.models) == ("s", "1.7", ["default-model"])
    assert (session.run["end"], session.run["wall_time_s"]) == ("completed", 5.0)


@pytest.mark.parametrize(
    ("ids", "results", "expected"),
    [
        (["a", "b"], [(None, "1"), (None, "2")], [("1", True), ("2", True)]),
        (["a"], [(None, "1")], [("1", False)]),
        (["a", "b"], [("b", "2"), (None, "1")], [("1", False), ("2", False)]),
        (["a", "b"], [(None, "?")], [(None, False), (None, False), ("?", False)]),
        (["a"], [("z", "?")], [(None, False), ("?", False)]),
        (["a"], [("a", "1"), ("a", "2")], [("1\n2", False)]),
        (["a", "a"], [("a", "1"), ("a", "2")], [("1", True), ("2", True)]),
        (["a", "a"], [("a", "1")], [("1", True), (None, True)]),
        ([None], [("", "1")], [("1", False)]),
    ],
)
def test_pairing(ids: list[str], results: list[Any], expected: list[tuple[Any, bool]]) -> None:
    session = parse_steps(agent("m", tool_calls=[call(row_id) for row_id in ids], observation=seen(*results)))
    assert shape(session, "reflection_text", "order_ambiguous") == expected
    assert [step["orphan"] for step in session.steps] == [index >= len(ids) for index in range(len(session.steps))]


def test_results_in_steps_of_their_own_are_no_replies() -> None:
    """The shape of Harbor's OpenClaw converter: a result's text is also the message of an agent step."""

    def result(text: str, call_id: str | None, **extra: Any) -> dict[str, Any]:
        known = {"openclaw_role": "toolResult", "tool_call_id": call_id, **extra}
        entry = {"source_call_id": None, "content": text, "extra": {"isError": False}}
        return agent(text, observation=seen(entry), llm_call_count=0, extra=known)

    session = parse_steps(
        {"source": "user", "message": "go"},
        agent(
            "both",
            tool_calls=[call("a", "exec"), call("b", "read")],
            llm_call_count=1,
            extra={"stop_reason": "toolUse"},
        ),
        result("B", "b"),
        result("A", "a", exec_exit_code=1, exec_status="failed", exec_duration_ms=5),
        agent("done", llm_call_count=1, extra={"stop_reason": "stop"}),
    )
    shapes = shape(session, "tool_name_raw", "reflection_text", "result_is_error", "followed", "message_index")
    assert shapes == [("exec", "A", False, True, 1), ("read", "B", False, True, 1), (None, None, None, False, 2)]
    details = json.loads(session.steps[0]["result_details"])
    assert details == {"isError": False, "exitCode": 1, "status": "failed", "durationMs": 5}
    assert [raw["part"] for raw in session.steps[0]["raw"]] == ["call", "result"]
    assert session.record_counts["step_result"] == 2
    assert (session.run["end"], session.run["stop_reason"]) == ("completed", "stop")
    by_place = parse_steps(agent("", tool_calls=[call("a")]), agent("A", observation=seen((None, "A"))))
    assert shape(by_place, "reflection_text", "orphan") == [("A", False)]


def test_results_in_system_steps_go_to_the_call_that_they_name() -> None:
    session = parse_steps(
        agent("", tool_calls=[call("a")]),
        {"source": "system", "message": "", "observation": seen(("a", "A"))},
        {"source": "system", "message": "compacted", "observation": seen((None, "summary"), ("z", "other"))},
    )
    assert shape(session, "reflection_text", "followed") == [("A", False)]
    assert session.record_counts == {"metadata:document": 1, "step_call": 1, "step_result": 1, "system_observation": 1}


def test_what_no_model_wrote_is_no_reply() -> None:
    session = parse_steps(agent("dispatching", llm_call_count=0), agent("", tool_calls=[call("a")], llm_call_count=0))
    assert shape(session, "action_text") == [("f {}",)]
    assert session.record_counts["injected:no_model_call"] == 1


def test_copied_context_is_left_out() -> None:
    session = parse_steps(
        {"source": "user", "message": "old", "is_copied_context": True},
        agent("old", is_copied_context=True, metrics={"prompt_tokens": 9}),
        agent("new", metrics={"prompt_tokens": 1}),
        agent("copied", is_copied_context=True),
    )
    assert (shape(session, "action_text", "followed"), session.user_turns) == ([("new", False)], [])
    assert session.record_counts["copied_context"] == 3
    assert session.run["input_tokens"] == 1


def test_a_message_that_failed() -> None:
    failed = {"extra": {"stop_reason": "error"}}
    session = parse_steps(agent("", **failed), agent("half", **failed), agent("", tool_calls=[call("a")], **failed))
    assert shape(session, "action_text", "partial") == [("half", True)]
    run = session.run
    assert (run["end"], run["provider_errors"], run["unexecuted_calls"]) == ("error", 3, 1)
    assert session.record_counts["runner:no_step"] == 2


def test_a_result_that_the_runner_made_up() -> None:
    text = f"{RULES.synthetic_result_prefixes[0]}; inserted"
    session = parse_steps(agent("", tool_calls=[call("a")], observation=seen(("a", text), ("z", text))))
    assert shape(session, "reflection_text", "result_synthetic", "has_result") == [(None, True, True)]


def test_blank_is_null_and_an_empty_message_no_step() -> None:
    session = parse_steps(agent(" ", reasoning_content="only thinking"), agent(" \n", tool_calls=[call("a", " f ")]))
    assert shape(session, "narration", "narration_position", "tool_name_raw") == [(None, None, "f")]
    assert (session.run["empty_replies"], session.run["end"]) == (1, "dangling_call")


def test_content_parts() -> None:
    parts = [
        {"type": "text", "text": "look"},
        {"type": "image", "source": {"media_type": "image/png", "path": "images/1.png"}},
        {"type": "image", "source": {"media_type": "image/png", "data": "AAAA"}},
        {"type": "audio", "source": {}},
    ]
    text = parse_steps(agent(parts)).steps[0]["action_text"].split("\n")
    assert text[:2] == ["look", "[image image/png images/1.png]"]
    assert text[2].startswith("[image image/png 3 bytes sha256:")
    assert json.loads(text[3]) == parts[3]
    user = parse_steps({"source": "user", "message": parts[:1]}).user_turns[0]
    assert (user["raw_text"], user["kinds"], user["text"]) == ("look", ["user"], "look")


@pytest.mark.parametrize(
    ("arguments", "arguments_text"), [(b'{ "x" : 1.0 }', 'f { "x" : 1.0 }'), (b'"text"', 'f "text"'), (b"null", "f")]
)
def test_arguments_as_written(arguments: bytes, arguments_text: str) -> None:
    content = (
        b'{"schema_version":"ATIF-v1.2","steps":[{"source":"agent","message":"","tool_calls":[{"tool_call_id":"a",'
    )
    step = parse(content + b'"function_name":"f","arguments":' + arguments + b"}]}]}").steps[0]
    assert step["action_text"] == arguments_text
    assert step["arguments"] == (arguments.decode() if arguments != b"null" else None)


def test_subagents_are_noted_and_counted() -> None:
    reference = [{"trajectory_id": "child", "session_id": None, "trajectory_path": "child.json", "extra": {"x": 1}}]
    result = {"source_call_id": "a", "content": None, "subagent_trajectory_ref": reference}
    session = parse_steps(
        agent("", tool_calls=[call("a")], observation=seen(result)),
        subagent_trajectories=[document(agent("inner"), trajectory_id="child")],
        continued_trajectory_ref="next.json",
        notes="free text",
    )
    details = json.loads(session.steps[0]["result_details"])
    assert details == {"subagentTrajectory": [{"trajectory_id": "child", "trajectory_path": "child.json"}]}
    assert (session.steps[0]["has_result"], session.steps[0]["reflection_text"]) == (True, None)
    assert session.record_counts["subagent_trajectory"] == 1
    assert [fault.reason for fault in session.warnings] == ["continued_elsewhere"]


def test_tokens_and_cost() -> None:
    steps = [agent("a", metrics={"prompt_tokens": 10, "completion_tokens": 2, "cost_usd": 0.1}, model_name="other")] * 3
    run = parse_steps(*steps).run
    assert (run["input_tokens"], run["output_tokens"], run["total_tokens"], run["cost_usd"]) == (30, 6, 36, 0.3)
    stated = parse_steps(*steps, final_metrics={"total_prompt_tokens": 99, "total_cost_usd": 1})
    assert (stated.run["input_tokens"], stated.run["output_tokens"], stated.run["cost_usd"]) == (99, 6, 1.0)
    assert stated.models == ["other"]
    assert parse_steps(agent("a")).run["cost_usd"] is None


def test_unknown_sources_and_odd_shapes_are_kept_count_of() -> None:
    session = parse_steps({"source": "critic", "message": "?"}, {}, agent("a", extra="text", metrics=[1]))
    assert session.record_counts["unknown_role:critic"] == session.record_counts["unknown_record"] == 1
    assert shape(session, "action_text") == [("a",)]


# ---- places and damage -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("indent", [None, 2])
def test_a_pointer_names_the_bytes_of_its_step(indent: int | None) -> None:
    actual_document = document(
        {"source": "user", "message": '{[" é'}, agent("x", tool_calls=[call("a"), call("b")]), agent("y")
    )
    content = b"\xef\xbb\xbf" + json.dumps(actual_document, indent=indent, ensure_ascii=False).encode()
    session = parse(content)
    result = [[content[raw["offset"] : raw["offset"] + raw["length"]] for raw in step["raw"]] for step in session.steps]
    assert [json.loads(entry[0])["step_id"] for entry in result] == [2, 2, 3]
    for step in session.steps:
        assert content[: step["raw"][0]["offset"]].count(b"\n") + 1 == step["raw"][0]["line"]


def test_layout_is_no_difference_between_copies_and_a_shorter_one_is_a_prefix() -> None:
    actual_document = document(agent("a", tool_calls=[call("a", "f", {"x": [1, 2]})]), agent("b"))
    compact, pretty = parse(json.dumps(actual_document).encode()), parse(json.dumps(actual_document, indent=4).encode())
    assert compact.record_digests == pretty.record_digests
    assert parse_steps(*actual_document["steps"][:1]).record_digests == compact.record_digests[:1]


def test_lone_surrogates_and_invalid_bytes_are_written_out_and_named() -> None:
    content = json.dumps(document(agent("cut \ud83d"), agent("MARK"), {"source": "user", "message": "\udc00"})).encode()
    session = parse(content.replace(b"MARK", b"\xff"))
    assert shape(session, "action_text") == [("cut \\ud83d",), ("\\xff",)]
    assert session.escaped_fields == ["steps[1].action_text", "user_turns[1].text", "steps[2].action_text"]
    assert [fault.reason for fault in session.warnings] == ["invalid_utf8"]


def test_a_document_that_cannot_be_read_is_refused() -> None:
    content = json.dumps(document(agent("a"), agent("b")), indent=1).encode()
    assert refusal(content[:-9]) == ("broken_json", 1)
    assert refusal(content + content) == ("broken_json", 1)
    assert refusal(b'{"schema_version": "ATIF-v1.7"}') == ("unexpected_shape", 1)
    broken = content.replace(b'"b"', b'"b", "tool_calls": [7]')
    assert refusal(broken) == ("unexpected_shape", content[: content.index(b'"step_id": 2')].count(b"\n"))
    assert parse_steps().steps == []


@pytest.mark.parametrize("seed", range(200))
def test_damage_is_a_refusal_or_a_session_never_an_exception(seed: int) -> None:
    random = Random(seed)
    actual_document = document(
        agent("x", tool_calls=[call("a", "f", {"x": [1]})], observation=seen(("a", "A"))), agent("y")
    )
    content = bytearray(json.dumps(actual_document, indent=random.choice([None, 1])).encode())
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(content))
        content[at : at + random.choice([0, 0, 1, 9])] = random.choice(DAMAGE)
    try:
        session = parse(bytes(content))
    except MalformedSession as error:
        assert error.fault.reason in ("broken_json", "unexpected_shape")
    else:
        places = [raw for step in session.steps for raw in step["raw"]]
        assert all(0 <= raw["offset"] < raw["offset"] + raw["length"] <= len(content) for raw in places)


# ---- how a call ended, by the fields of its writer -------------------------------------------------------------------
CLAUDE = {"tool_use_result": {"stdout": "", "stderr": "x" * 400, "exitCode": 2, "interrupted": False}}


@pytest.mark.parametrize(
    "fields, is_error, details",
    [
        ({}, None, None),
        ({"extra": {"is_error": True}}, True, {"is_error": True}),
        ({"extra": {"tool_result_is_error": False}}, False, {"tool_result_is_error": False}),
        ({"extra": {"tool_result_metadata": CLAUDE | {"is_error": True}}}, True, {"exitCode": 2}),
        ({"extra": {"error": "no such file"}}, True, {"error": "no such file"}),
        ({"extra": {"success": True}}, False, {"success": True}),
        ({"extra": {"status": "error", "error": None}}, None, {"status": "error", "error": None}),
    ],
)
def test_how_a_call_ended_is_read_from_the_result(
    fields: dict[str, Any], is_error: bool | None, details: dict[str, Any] | None
) -> None:
    session = parse_steps(agent(tool_calls=[call("c")], observation=seen({"source_call_id": "c"} | fields)))
    (step,) = session.steps
    assert step["result_is_error"] is is_error
    assert details is None or details.items() <= json.loads(step["result_details"]).items()


def test_how_a_call_ended_is_read_from_the_step_around_its_only_result() -> None:
    first, second = (call("c"), call("d"))
    alone = parse_steps(
        agent(tool_calls=[first], observation=seen(("c", "a")), extra={"tool_metadata": {"exit_code": 3}}),
        agent(tool_calls=[first], observation=seen(("c", "a")), extra={"tool_result_is_error": True}),
        agent(tool_calls=[first], observation=seen(("c", "a")), extra={"is_error": False, "exit_code": 0}),
        agent(
            tool_calls=[first, second],
            observation=seen(("c", "a"), ("d", "b")),
            extra={"tool_metadata": {"exit_code": 3}},
        ),
        agent(
            tool_calls=[first, second],
            observation=seen(("c", "a"), ("d", "b")),
            extra={"tool_call_details": {"d": {"status": "completed", "metadata": {"exit_code": 4}}}},
        ),
    )
    assert shape(alone, "result_is_error", "result_details") == [
        (None, '{"exitCode": 3}'),
        (True, None),
        (False, '{"exitCode": 0}'),
        (None, None),
        (None, None),
        (None, None),
        (None, '{"exitCode": 4}'),
    ]


def test_an_action_in_the_text_has_its_observation() -> None:
    """terminus-2 with raw content, OpenHands: there is no tool call, and what came back names none."""
    raw = '{"commands": [{"keystrokes": "ls\\n"}]}'
    steps = [agent(raw, reasoning_content="look", observation=seen({"content": "a.txt"})), agent("There is one file.")]
    session = parse_steps(*steps)
    action, reply = session.steps
    assert (action["action_kind"], action["tool_name_raw"], action["arguments"]) == ("tool_call", None, None)
    assert (action["action_text"], action["reflection_text"], action["thinking"]) == (raw, "a.txt", "look")
    assert (action["orphan"], action["has_result"], reply["action_kind"]) == (False, True, "reply")
    assert session.record_counts["step_call"] == 1


def test_what_comes_back_in_a_step_of_its_own_belongs_to_the_action_before_it() -> None:
    """OpenHands writes an action and its observation as two events."""
    session = parse_steps(agent("Running command: ls"), agent("", observation=seen({"content": "a.txt"})))
    (action,) = session.steps
    assert (action["action_text"], action["reflection_text"]) == ("Running command: ls", "a.txt")


def test_a_result_that_names_a_call_is_no_action_in_the_text() -> None:
    session = parse_steps(agent("Done."), agent("", observation=seen({"source_call_id": "lost", "content": "x"})))
    assert [(step["action_kind"], step["orphan"]) for step in session.steps] == [("reply", False), ("tool_call", True)]
