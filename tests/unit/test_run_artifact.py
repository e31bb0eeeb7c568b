"""RunArtifact documents -> steps: both spellings, every status, repeated results, attempts, files beside the run."""

import pytest
from run_artifact_builders import (
    call,
    documented,
    echo,
    failed,
    final,
    message,
    parse,
    result,
    runner,
    shape,
    stored,
    turn,
)

from openclawbench.records.session import RunSummary, Step, UserTurn
from openclawbench.tables.record import Keyed

ATTEMPT = runner("provider_attempt")
OUTPUT = {"command": "ls", "returncode": 2, "stdout": "é", "stderr": ""}
TURN = [message("assistant", None, "I look."), call("c1", "exec_shell", '{"command": "ls"}'), result("c1", OUTPUT)]
DONE = message("assistant", "Done.", "All good.")


def test_stored_spelling() -> None:
    trace = [
        message("system", "Be good."),
        message("user", "Look."),
        ATTEMPT,
        *TURN,
        echo("c1", "exec_shell", OUTPUT),
        DONE,
    ]
    session = parse(stored(*trace, final("Done.")))
    assert shape(session) == [
        (
            "tool_call",
            "I look.",
            None,
            'exec_shell {"command": "ls"}',
            '{"command": "ls", "returncode": 2, "stdout": "é", "stderr": ""}',
        ),
        ("reply", "All good.", None, "Done.", None),
    ]
    first, last = session.steps
    assert (first["tool_name_raw"], first["arguments"], first["result_details"]) == (
        "exec_shell",
        '{"command": "ls"}',
        '{"exitCode": 2}',
    )
    assert (first["result_is_error"], first["message_index"], first["followed"], first["user_turn"]) == (
        False,
        1,
        True,
        1,
    )
    assert (last["message_index"], last["followed"], last["has_result"]) == (2, False, False)
    assert [(t["raw_text"], t["kinds"], t["before_step"]) for t in session.user_turns] == [("Look.", ["user"], 1)]
    assert session.record_counts == {
        "metadata:document": 1,
        "metadata:system": 1,
        "user_turn": 1,
        "runner:provider_attempt": 1,
        "step_message": 1,
        "step_call": 1,
        "step_result": 1,
        "repeated_result": 1,
        "step_reply": 1,
        "repeated_final_output": 1,
    }
    assert (session.session_id, session.session_version, session.models) == ("run_7", "1", ["lab/answered"])
    assert session.run == dict.fromkeys(RunSummary.model_fields) | {
        "provider_errors": 0,
        "run_errors": 0,
        "runner_texts": 0,
        "mirrored_replies": 0,
        "unreported_usage": 0,
        "unpriced_usage": 0,
        "impossible_usage": 0,
        "unexecuted_calls": 0,
        "empty_replies": 0,
        "silent_replies": 0,
        "end": "completed",
        "stop_reason": "stop",
        "input_tokens": 10,
        "output_tokens": 4,
        "reasoning_tokens": 1,
        "total_tokens": 14,
        "cost_usd": 0.25,
        "wall_time_s": 2.5,
        "started_at": "2026-01-02T03:04:05.000Z",
        "ended_at": "2026-01-02T03:04:08.000Z",
    }
    assert (session.outcome, session.warnings, session.abandoned_steps) == (None, [], [])


def test_documented_spelling() -> None:
    session = parse(
        documented(
            {"kind": "message", "role": "user", "content": "Use real tools."},
            {"kind": "tool_call", "tool_name": "exec_shell", "arguments": {"command": "printf 'a\\n'"}},
            {"kind": "tool_result", "tool_name": "exec_shell", "content": "a\n", "status": "success"},
            {"kind": "tool_call", "tool_name": "exec_shell", "arguments": {"n": 1e2}},
            {"kind": "tool_result", "tool_name": "exec_shell", "content": "no", "status": "error"},
            {"kind": "runner_trace", "name": "retry"},
            {"kind": "final_output", "content": "Created it."},
        )
    )
    compact = [text.replace("\n", "").replace(" ", "") for text in (s["action_text"] for s in session.steps)]
    assert compact == ['exec_shell{"command":"printf\'a\\\\n\'"}', 'exec_shell{"n":100.0}', "Createdit."]
    assert [s["reflection_text"] for s in session.steps] == ["a\n", "no", None]
    assert [s["result_is_error"] for s in session.steps] == [False, True, None]
    assert [s["message_index"] for s in session.steps] == [1, 2, 3]
    assert not session.order_ambiguous
    assert (session.run["input_tokens"], session.run["cost_usd"], session.run["wall_time_s"]) == (580, 0.5, 3.0)
    assert session.record_counts["runner:retry"] == 1


def test_calls_without_ids_pair_by_order_and_equal_name() -> None:
    calls = [{"kind": "tool_call", "tool_name": name, "arguments": {"n": n}} for n, name in enumerate(("a", "b", "a"))]
    results = [
        {"kind": "tool_result", "tool_name": name, "content": f"of {name}{n}"} for n, name in enumerate(("a", "a", "b"))
    ]
    session = parse(documented(*calls, *results))
    assert [s["reflection_text"] for s in session.steps] == ["of a0", "of b2", "of a1"]
    assert [s["order_ambiguous"] for s in session.steps] == [True, False, True]
    assert [s["message_index"] for s in session.steps] == [1, 1, 1]
    lone = parse(documented(*calls[:1], {"kind": "tool_result", "tool_name": "other", "content": "x"}))
    assert [(s["orphan"], s["tool_name_raw"], s["reflection_text"]) for s in lone.steps] == [
        (False, "a", None),
        (True, "other", "x"),
    ]


def test_parallel_calls_keep_thinking_and_narration_on_the_first() -> None:
    parallel = [
        message("assistant", "Two at once.", "hm"),
        call("x", "a", "{}"),
        call("y", "b", ""),
        result("y", "second"),
        echo("y", "b", "second"),
        result("x", "first"),
        echo("x", "a", "first"),
    ]
    session = parse(stored(*parallel, DONE))
    assert shape(session)[:2] == [
        ("tool_call", "hm", "Two at once.", "a {}", "first"),
        ("tool_call", None, None, "b", "second"),
    ]
    assert session.steps[0]["narration_position"] == "before"
    assert session.steps[1]["arguments"] is None
    assert session.record_counts["repeated_result"] == 2


def test_a_result_is_written_as_it_stands() -> None:
    calls = b'{"event_type":"tool_call","call_id":"1","tool_name":" t ","raw_arguments":{"n":12345678901234567890.50}}'
    results = b'{"event_type":"tool_result","call_id":"1","status":null,"output":{ "big":1e400, "u":"\\u00e9" }}'
    head = b'{"identity":{"run_id":"r","case_id":"c"},"status":"success"'
    session = parse(head + b',"trace":[' + calls + b"," + results + b"]}")
    (step,) = session.steps
    assert (step["action_text"], step["tool_name_raw"]) == ('t {"n":12345678901234567890.50}', "t")
    assert (step["reflection_text"], step["result_is_error"]) == ('{ "big":1e400, "u":"\\u00e9" }', None)


def test_a_tool_message_is_the_result_where_no_event_has_it() -> None:
    session = parse(stored(TURN[0], TURN[1], message("tool", "plain", metadata={"tool_call_id": "c1"}), DONE))
    assert session.steps[0]["reflection_text"] == "plain"
    assert session.record_counts["step_result"] == 1
    other = parse(stored(*TURN, message("tool", "something else", metadata={"tool_call_id": "c1"}), DONE))
    assert len(other.steps) == 2
    assert [warning.reason for warning in other.warnings] == ["differing_result_message"]


def test_a_result_without_a_call_is_an_orphan_step() -> None:
    session = parse(stored(message("user", "hi"), result("gone", "late"), echo("gone", "ls", "late"), DONE))
    assert [(s["orphan"], s["action_text"], s["tool_name_raw"], s["user_turn"]) for s in session.steps[:1]] == [
        (True, None, "ls", 1)
    ]


def test_a_call_without_a_result() -> None:
    session = parse(stored(*TURN[:2], **failed("timed_out")))
    assert [(s["has_result"], s["followed"]) for s in session.steps] == [(False, False)]
    assert session.run["end"] == "timeout"
    toolless = {"runner_metadata": {"tool_capable": False}}
    never = parse(stored(*TURN[:2], **failed("invalid", "tool_calls_not_supported"), **toolless))
    assert (never.steps, never.run["unexecuted_calls"], never.run["empty_replies"]) == ([], 1, 0)
    assert (never.record_counts["unexecuted_call"], never.record_counts["runner:no_step"]) == (1, 1)
    spoken = parse(stored(message("assistant", "I would call."), TURN[1], final("I would call."), **toolless))
    assert shape(spoken) == [("reply", None, None, "I would call.", None)]


@pytest.mark.parametrize(
    ("status", "end", "errors"),
    [("failed", "error", 0), ("timed_out", "timeout", 0), ("invalid", "error", 0), ("provider_error", "error", 1)],
)
def test_a_run_that_did_not_complete(status: str, end: str, errors: int) -> None:
    session = parse(stored(message("user", "hi"), **failed(status)), repetition=3)
    assert (session.steps, session.models) == ([], [])
    assert (session.run["end"], session.run["provider_errors"]) == (end, errors)
    assert session.run["first_provider_error"] == "it broke"
    assert session.outcome is not None
    assert (session.outcome["status"], session.outcome["success"], session.outcome["error_type"]) == (
        "infra_error",
        None,
        "boom",
    )
    assert (session.outcome["attempt"], session.outcome["task_id"], session.outcome["flags"]) == (
        3,
        "case_1",
        [f"run_{status}"],
    )


def test_a_status_never_seen_before_is_a_warning() -> None:
    assert [warning.reason for warning in parse(stored(DONE, status="paused")).warnings] == ["unknown_status"]
    assert [warning.reason for warning in parse(stored(DONE, status=["x"])).warnings] == ["unknown_status"]


def test_a_retry_starts_over_and_what_was_done_before_is_abandoned() -> None:
    lost = [ATTEMPT, *turn(1), runner("provider_error", "HTTP 500"), runner("retry_scheduled")]
    session = parse(stored(message("user", "hi"), *lost, ATTEMPT, *turn(2), DONE))
    assert [s["action_text"] for s in session.steps] == ['read_file {"path":"2"}', "Done."]
    assert [
        (abandoned_step["tool_name_raw"], abandoned_step["reflection_text"])
        for abandoned_step in session.abandoned_steps
    ] == [("read_file", '{"n": 1}')]
    assert session.record_counts["off_branch"] == 4
    assert (session.run["provider_errors"], session.run["first_provider_error"]) == (1, "HTTP 500")
    again = parse(
        stored(message("user", "hi"), *lost, ATTEMPT, runner("provider_error", "x"), **failed("provider_error"))
    )
    assert [s["action_text"] for s in again.steps] == ['read_file {"path":"1"}']
    assert (again.run["provider_errors"], again.abandoned_steps) == (2, [])


def test_messages_given_to_the_run_are_not_the_agents() -> None:
    messages = [message("user", "2+2?"), message("assistant", "4"), message("tool", "x"), message("user", "3+3?")]
    session = parse(stored(*messages, ATTEMPT, message("assistant", "6"), final("6")))
    assert [s["action_text"] for s in session.steps] == ["6"]
    assert [t["before_step"] for t in session.user_turns] == [1, 1]
    assert (session.record_counts["input:assistant"], session.record_counts["input:tool"]) == (1, 1)


def test_replies() -> None:
    refused = parse(stored(message("assistant", None, metadata={"refusal": "I can't."})))
    assert shape(refused) == [("reply", None, None, "I can't.", None)]
    empty = parse(stored(message("assistant", " ", "only thoughts"), final(None)))
    assert (empty.steps, empty.run["empty_replies"], empty.run["end"]) == ([], 1, "no_reply")
    two = parse(stored(DONE, final("Done, and more."), message("assistant", "Again."), final(" Again.\n")))
    assert [s["action_text"] for s in two.steps] == ["Done.", "Done, and more.", "Again."]
    parts = message("assistant", "x", metadata={"reasoning_details": [{"text": "a"}, {"text": "b"}, {}]})
    assert parse(stored(parts)).steps[0]["thinking"] == "a\nb"


def test_what_is_unknown_is_counted() -> None:
    session = parse(stored({"event_type": "telemetry"}, message("robot", "beep"), {"x": 1}, runner("odd"), DONE))
    for name in ("unknown_type:telemetry", "unknown_role:robot", "unknown_type:no_kind", "runner:odd"):
        assert session.record_counts[name] == 1
    strange = stored(DONE)
    strange["trace"] += [None, 3, ["x"]]
    assert parse(strange).record_counts["unknown_type:not_an_object"] == 3


def test_lost_numbers_are_a_warning() -> None:
    document = stored(message("user", "hi"), DONE)
    document["trace"][1]["sequence"] = 5
    assert [(warning.reason, warning.line > 1) for warning in parse(document).warnings] == [("sequence_broken", True)]


def test_every_step_has_every_column() -> None:
    session = parse(stored(message("user", "hi"), *turn(1), result("gone", "x"), DONE))
    keys = set(Keyed.model_fields)
    assert [set(step) for step in session.steps] == [set(Step.model_fields) - keys] * 3
    assert [set(user_turn) for user_turn in session.user_turns] == [set(UserTurn.model_fields) - keys]
    assert set(session.run) == set(RunSummary.model_fields)
