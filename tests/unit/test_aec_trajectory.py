"""aec-bench: trajectories, conversations, and what lies beside them."""

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from normalizing import Normalized, normalized_folder

from openclawbench.records.oracle import OracleRecord
from openclawbench.records.session import RunContext, RunSummary, Step, UserTurn
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.aec_bench.chat_messages import ChatMessages
from openclawbench.sources.aec_bench.conversation import AecConversation
from openclawbench.sources.aec_bench.trajectory import AecTrajectory
from openclawbench.sources.base import MalformedSession, ParsedSession, Source
from openclawbench.tables.schema import from_records

RULES = NormalizeRules.load()
SHARED = Path(os.environ.get("OPENCLAWBENCH_SHARED", Path(__file__).parents[2].parent / "shared"))
SAMPLES = SHARED / "seed_samples" / "aec-bench" / "samples"
DAMAGE = [b"", b"\x00", b"\\ud83d", b"NaN", b"1e999", b"9" * 40, b"null", b"{", b"]", b'"', b"[" * 5000, b"\n", b"\r\n"]
DAMAGE += [b'"content":[],', b'{"a":' * 900 + b"1" + b"}" * 900, b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"true", b"{}{}"]
KEY = {"source_model": "m", "trajectory_id": "t"}
HEADER = {"version": 1, "format": "aec-bench-trajectory", "timestamp": "2026-01-02T03:04:00Z"}
TRAJECTORY, CONVERSATION, CHAT = AecTrajectory(), AecConversation(), ChatMessages()


def jsonl(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def line(step: int, role: str, **fields: Any) -> dict[str, Any]:
    return {"step": step, "role": role, **fields}


def call(step: int, name: str | None, **fields: Any) -> dict[str, Any]:
    return line(step, "tool_call", tool_name=name, **({"command": ""} | fields))


def result(step: int, name: str | None, stdout: str | None = "out", **fields: Any) -> dict[str, Any]:
    return line(step, "tool_result", tool_name=name, stdout=stdout, **({"stderr": "", "exit_code": 0} | fields))


def parse(content: bytes, context: dict[str, Any] | None = None, source: Source = TRAJECTORY) -> ParsedSession:
    """The session, its accounts checked and its rows taken by the tables they are for."""
    session = source.parse(content, context or {}, RULES)
    assert session.records_in == sum(session.record_counts.values())
    from_records([KEY | step for step in session.steps], Step)
    from_records([KEY | turn for turn in session.user_turns], UserTurn)
    assert all(set(step) | set(KEY) == set(Step.model_fields) for step in session.steps)
    assert set(session.run) == set(RunSummary.model_fields)
    assert set(session.context) <= set(RunContext.model_fields)
    assert [step["step_id"] for step in session.steps] == list(range(1, len(session.steps) + 1))
    for step in session.steps:
        for raw in step["raw"]:
            json.loads(content[raw["offset"] : raw["offset"] + raw["length"]].decode("utf-8", "replace"))
    return session


def parse_lines(*records: Any, context: dict[str, Any] | None = None) -> ParsedSession:
    return parse(jsonl(HEADER, *records), context)


def shape(session: ParsedSession, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(step[name] for name in names) for step in session.steps]


def refusal(content: bytes, source: Source = TRAJECTORY, context: dict[str, Any] | None = None) -> tuple[str, int]:
    with pytest.raises(MalformedSession) as caught:
        source.parse(content, context or {}, RULES)
    return caught.value.fault.reason, caught.value.fault.line


# ---- detection and identity ------------------------------------------------------------------------------------------
def test_the_first_record_tells_the_format() -> None:
    assert TRAJECTORY.detect(HEADER)
    assert TRAJECTORY.detect({"version": 1, "format": "aec-bench-trajectory"})
    assert TRAJECTORY.detect(line(0, "system", content="x"))
    stated = {"role": "system", "content": "x", "event": "message", "tool_call_id": None, "tool_name": None}
    assert CONVERSATION.detect(stated)
    assert not TRAJECTORY.detect(stated)
    for other in [None, [], 1, {}, {"type": "session"}, {"step": True, "role": "user"}, {"step": 1, "role": "robot"}]:
        assert not TRAJECTORY.detect(other)
        assert not CONVERSATION.detect(other)
    assert not CONVERSATION.detect(line(0, "user", content="x"))


def test_a_header_with_a_time_is_the_identity_however_the_file_grows() -> None:
    short, long = jsonl(HEADER), jsonl(HEADER, line(0, "user", content="a"), line(1, "assistant", content="b"))
    assert TRAJECTORY.identity(HEADER, short) == TRAJECTORY.identity(HEADER, long)
    assert TRAJECTORY.identity(HEADER, short)[0] is None
    later = HEADER | {"timestamp": "2026-01-02T03:04:01Z"}
    assert TRAJECTORY.identity(later, jsonl(later)) != TRAJECTORY.identity(HEADER, short)
    digests = parse(long).record_digests
    assert digests[:1] == parse(short).record_digests
    assert len(digests) == 3


def test_without_a_time_the_first_lines_count() -> None:
    plain = {"version": 1, "format": "aec-bench-trajectory"}
    opening = [plain, line(0, "system", content="s"), line(0, "user", content="u")]
    identity = TRAJECTORY.identity(plain, jsonl(*opening))
    assert identity == TRAJECTORY.identity(plain, jsonl(*opening, line(1, "assistant", content="a")))
    assert identity == TRAJECTORY.identity(plain, jsonl(*opening).replace(b"\n", b"\r\n"))
    assert identity != TRAJECTORY.identity(plain, jsonl(*opening[:2], line(0, "user", content="other")))


# ---- steps -----------------------------------------------------------------------------------------------------------
def test_the_seed_page_example() -> None:
    session = parse(
        jsonl(
            {"version": 1, "format": "aec-bench-trajectory"},
            line(0, "system", content="You are an engineer"),
            line(0, "user", content="Calculate voltage drop"),
            line(1, "assistant", content="I compute R and X"),
            line(1, "tool_call", tool_name="python", command="python calc.py"),
            line(1, "tool_result", tool_name="python", stdout="V = 5.2V", exit_code=0, duration_ms=142),
            line(2, "assistant", content="Writing result"),
        )
    )
    first, second = session.steps
    assert first["action_text"] == 'python {"command": "python calc.py"}'
    assert (first["narration"], first["narration_position"]) == ("I compute R and X", "before")
    assert first["reflection_text"] == "V = 5.2V"
    assert json.loads(first["result_details"]) == {"exitCode": 0, "durationMs": 142}
    assert [raw["part"] for raw in first["raw"]] == ["narration", "call", "result"]
    assert (first["user_turn"], first["message_index"], first["followed"]) == (1, 1, True)
    assert (second["action_kind"], second["action_text"], second["followed"]) == ("reply", "Writing result", False)
    assert session.user_turns[0]["before_step"] == 1
    assert session.record_counts == {
        "metadata:header": 1,
        "system": 1,
        "user_turn": 1,
        "step_narration": 1,
        "step_call": 1,
        "step_result": 1,
        "step_reply": 1,
    }
    assert (session.session_version, session.run["end"]) == ("1", "completed")


def test_calls_and_results_pair_by_order_within_the_step_not_by_neighbourhood() -> None:
    session = parse_lines(
        line(1, "assistant", content="both"), call(1, "a"), call(1, "b"), result(1, "a", "A"), result(1, "b", "B")
    )
    shapes = shape(session, "tool_name_raw", "narration", "reflection_text", "order_ambiguous")
    assert shapes == [("a", "both", "A", False), ("b", None, "B", False)]
    assert [raw["line"] for raw in session.steps[0]["raw"]] == [2, 3, 5]


def test_results_out_of_order_go_to_their_tool() -> None:
    session = parse_lines(call(1, "a"), call(1, "b"), result(1, "b", "B"), result(1, "a", "A"))
    assert shape(session, "tool_name_raw", "reflection_text") == [("a", "A"), ("b", "B")]


def test_a_tool_called_twice_in_a_step_is_ambiguous() -> None:
    session = parse_lines(call(1, "a"), call(1, "a"), result(1, "a", "1st"), result(1, "a", "2nd"), call(2, "a"))
    shapes = shape(session, "reflection_text", "order_ambiguous")
    assert shapes == [("1st", True), ("2nd", True), (None, False)]
    assert session.order_ambiguous


def test_unequal_counts_pair_nothing() -> None:
    session = parse_lines(call(1, "a"), call(1, "a"), result(1, "a", "whose"), line(2, "assistant", content="x"))
    shapes = shape(session, "action_text", "reflection_text", "orphan", "has_result")
    assert shapes == [
        ("a", None, False, False),
        ("a", None, False, False),
        (None, "whose", True, True),
        ("x", None, False, False),
    ]


def test_an_orphan_stands_where_its_line_stands() -> None:
    session = parse_lines(
        line(1, "assistant", content="plan"),
        call(1, "a"),
        result(1, "b", "B"),
        line(1, "assistant", content="more"),
        call(1, "c"),
        result(2, "z", "Z"),
        line(2, "assistant", content="final"),
    )
    shapes = shape(session, "tool_name_raw", "action_text", "orphan")
    assert shapes == [
        ("a", "a", False),
        ("b", None, True),
        ("c", "c", False),
        ("z", None, True),
        (None, "final", False),
    ]


def test_another_tools_result_is_an_orphan() -> None:
    session = parse_lines(call(1, "a"), result(1, "b", "B"))
    assert shape(session, "tool_name_raw", "reflection_text", "orphan") == [("a", None, False), ("b", "B", True)]


def test_results_that_name_no_tool_pair_by_place_if_there_are_as_many() -> None:
    session = parse_lines(call(1, "a"), result(1, None, "A"))
    assert shape(session, "reflection_text", "order_ambiguous") == [("A", False)]
    two = parse_lines(call(1, "a"), call(1, "b"), result(1, None, "A"), result(1, None, "B"))
    assert shape(two, "reflection_text", "order_ambiguous") == [("A", True), ("B", True)]
    short = parse_lines(call(1, "a"), call(1, "b"), result(1, None, "?"))
    assert shape(short, "reflection_text") == [(None,), (None,), ("?",)]


def test_a_late_result_finds_its_step() -> None:
    session = parse_lines(call(1, "a"), call(2, "a"), result(1, "a", "first"), result(2, "a", "second"))
    assert shape(session, "reflection_text", "followed") == [("first", True), ("second", False)]


def test_step_numbers_that_go_back_begin_anew() -> None:
    session = parse_lines(call(1, "a"), result(1, "a", "1"), call(3, "a"), call(1, "a"), result(1, "a", "2"))
    assert shape(session, "reflection_text", "followed") == [("1", True), (None, True), ("2", False)]


def test_text_between_the_calls_of_a_step() -> None:
    session = parse_lines(
        line(1, "assistant", content="one"),
        call(1, "a"),
        line(1, "assistant", content="two"),
        result(1, "a", "A"),
        line(1, "assistant", content="three"),
        call(1, "b"),
        result(1, "b", "B"),
        line(1, "assistant", content="done"),
    )
    shapes = shape(session, "action_kind", "narration", "narration_position", "message_index")
    assert shapes == [
        ("tool_call", "one\ntwo", "both", 1),
        ("tool_call", "three", "before", 2),
        ("reply", None, None, 3),
    ]
    assert session.steps[2]["action_text"] == "done"


def test_blank_text_is_null_and_counted() -> None:
    session = parse_lines(
        line(1, "assistant", content="  "), call(1, "a"), result(1, "a", " \n", exit_code=3), line(2, "assistant")
    )
    step = session.steps[0]
    assert (step["narration"], step["narration_position"], step["reflection_text"]) == (None, None, None)
    assert step["has_result"]
    assert step["result_details"] == '{"exitCode": 3}'
    assert len(session.steps) == 1
    assert session.record_counts["runner:no_step"] == 2
    assert session.run["empty_replies"] == 1


@pytest.mark.parametrize(
    ("fields", "arguments"),
    [
        (b"", None),
        (b'"command":""', None),
        (b'"command":"","arguments":null', None),
        (b'"arguments":{}', "{}"),
        (b'"arguments":{ "a" : 1.50, "b":[12345678901234567890123] }', '{ "a" : 1.50, "b":[12345678901234567890123] }'),
        (b'"command":"ls \\u00e9"', '{"command": "ls \\u00e9"}'),
        (b'"command":"ls","arguments":{"timeout":5}', '{"command": "ls", "timeout":5}'),
        (b'"command":"ls","arguments":{}', '{"command": "ls"}'),
        (b'"command":"ls","arguments":{"command":"ls -a"}', '{"command":"ls -a"}'),
        (b'"command":"ls","arguments":[1]', '{"command": "ls", "arguments": [1]}'),
    ],
)
def test_arguments_are_the_bytes_of_the_line(fields: bytes, arguments: str | None) -> None:
    raw = b'{"step":1,"role":"tool_call","tool_name":"t"' + (b"," + fields if fields else b"") + b"}\n"
    step = parse(jsonl(HEADER) + raw).steps[0]
    assert step["arguments"] == arguments
    assert step["action_text"] == ("t" if arguments is None else f"t {arguments}")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"stdout": "out", "stderr": "err"}, "out\nerr"),
        ({"stdout": "", "stderr": "err"}, "err"),
        ({"stdout": " kept \n", "stderr": None}, " kept \n"),
        ({"stdout": None, "stderr": None, "content": "text"}, "text"),
        ({"stdout": None, "stderr": None, "output_summary": "cut"}, "cut"),
        ({"stdout": "", "stderr": "", "output_summary": "cut"}, None),
        ({"stdout": "o", "stderr": "", "media": ["plot.png"]}, "o\n[media plot.png]"),
        ({"stdout": {"a": 1}, "stderr": ""}, '{"a": 1}'),
    ],
)
def test_the_feedback_of_a_result(fields: dict[str, Any], text: str | None) -> None:
    assert parse_lines(call(1, "a"), result(1, "a", **fields)).steps[0]["reflection_text"] == text


def test_media_in_the_line_become_a_placeholder() -> None:
    step = parse_lines(call(1, "a"), result(1, "a", "", media=["data:image/png;base64,AAAA"])).steps[0]
    assert step["reflection_text"].startswith("[media image/png 3 bytes sha256:")


def test_what_is_no_step_is_counted() -> None:
    session = parse_lines(
        {"type": "run_metadata", "x": 1},
        line(0, "system", content="s"),
        line(1, "critic", content="?"),
        line(1, "assistant", content="a"),
    )
    assert session.record_counts == {
        "metadata:header": 1,
        "unknown_record": 1,
        "system": 1,
        "unknown_role:critic": 1,
        "step_reply": 1,
    }


def test_a_header_alone_is_a_session_without_steps() -> None:
    session = parse_lines()
    assert (session.steps, session.run["end"], session.run["started_at"]) == (
        [],
        "no_reply",
        "2026-01-02T03:04:00.000Z",
    )


def test_the_headers_time_counts_for_the_wall_time() -> None:
    end = "2026-01-02T03:05:30.5Z"
    assert parse_lines(line(1, "assistant", content="a", timestamp=end)).run["wall_time_s"] == 90.5


def test_two_headers_are_flagged() -> None:
    assert parse_lines(line(1, "assistant", content="a"), HEADER).several_sessions
    assert not parse_lines().several_sessions


# ---- damage ----------------------------------------------------------------------------------------------------------
def test_a_torn_last_line_is_tolerated() -> None:
    session = parse(jsonl(HEADER, call(1, "a")) + b'{"step": 1, "ro')
    assert (session.truncated, session.record_counts["torn_last_line"], session.records_in) == (True, 1, 3)
    assert shape(session, "has_result", "followed") == [(False, False)]


def test_a_broken_line_before_it_is_not() -> None:
    assert refusal(jsonl(HEADER) + b'{"step": 1, "ro\n' + jsonl(call(1, "a"))) == ("broken_json", 2)
    assert refusal(jsonl(HEADER, [1], call(1, "a"))) == ("unexpected_shape", 2)
    assert refusal(jsonl(HEADER, {"role": "tool_call", "tool_name": "a"})) == ("unexpected_shape", 2)
    assert refusal(jsonl(HEADER, {"role": "assistant", "step": "1"})) == ("unexpected_shape", 2)


def test_lone_surrogates_and_invalid_bytes_are_written_out_and_named() -> None:
    raw = b'{"step":1,"role":"assistant","content":"cut \\ud83d"}\n{"step":2,"role":"tool_call","tool_name":"a"}\n'
    raw += b'{"step":2,"role":"tool_result","tool_name":"a","stdout":"\xff"}\n'
    raw += b'{"step":3,"role":"user","content":"\\udc00"}\n'
    session = parse(raw)
    assert session.steps[0]["action_text"] == "cut \\ud83d"
    assert session.steps[1]["reflection_text"] == "\\xff"
    assert session.escaped_fields == ["user_turns[1].text", "steps[1].action_text", "steps[2].reflection_text"]
    assert [fault.reason for fault in session.warnings] == ["invalid_utf8"]


WHOLE = [
    line(0, "system", content="s"),
    line(0, "user", content="u"),
    line(1, "assistant", content="both of them"),
    call(1, "a", command="first"),
    call(1, "a", command="second"),
    result(1, "a", "1st"),
    result(1, "a", "2nd"),
    line(2, "assistant", content="then this"),
    line(2, "assistant", content="in two lines"),
    call(2, "b", arguments={"x": 1}),
    result(2, "b", "B"),
    line(3, "assistant", content="done, \u00e9 \u4f60"),
    line(4, "user", content="and again"),
    call(5, "b"),
    result(5, "b", "last"),
    line(6, "assistant", content="the end"),
]
OF_THE_ACTION = (
    "action_kind",
    "action_text",
    "narration",
    "narration_position",
    "tool_name_raw",
    "arguments",
    "orphan",
)


def is_prefix(kept: ParsedSession, complete_session: ParsedSession) -> bool:
    """The steps of a cut file are the first of the whole's; those of the last message may lack their feedback."""
    last = kept.steps[-1]["message_index"] if kept.steps else None
    return len(kept.steps) <= len(complete_session.steps) and all(
        [step[name] for name in OF_THE_ACTION] == [their_step[name] for name in OF_THE_ACTION]
        and (
            step["reflection_text"] == their_step["reflection_text"]
            or (step["reflection_text"] is None and step["message_index"] == last)
        )
        for step, their_step in zip(kept.steps, complete_session.steps, strict=False)
    )


def test_a_file_cut_at_any_byte_has_a_prefix_of_the_steps() -> None:
    """A cut between two whole lines cannot be seen: there text may stand for a reply whose call is gone, and a result
    whose fellows are gone is an orphan, as in a file that was written so. Everywhere else the tear is seen."""
    content = jsonl(HEADER, *WHOLE)
    session = parse(content)
    hidden = []
    for size in range(content.index(b"\n"), len(content) + 1):
        kept = parse(content[:size])
        at_end_of_line = content[size - 1 : size + 1].count(b"\n") > 0 or size == len(content)
        assert kept.truncated != at_end_of_line
        if not is_prefix(kept, session):
            assert at_end_of_line, content[:size][-40:]
            hidden.append(content[:size].count(b"\n") + (content[size - 1 : size] != b"\n") - 1)
    assert {WHOLE[number - 1]["role"] for number in hidden} == {"assistant", "tool_result"}
    assert len(set(hidden)) == 4


def test_what_is_left_before_a_tear_is_counted() -> None:
    content = jsonl(HEADER, *WHOLE)
    text = parse(content[: content.index(b'{"step": 2, "role": "tool_call"') + 9])
    assert (len(text.steps), text.record_counts["unfinished_message"]) == (2, 2)
    result_left = parse(content[: content.index(b'"2nd"')])
    assert shape(result_left, "action_text", "has_result") == [
        ('a {"command": "first"}', False),
        ('a {"command": "second"}', False),
    ]
    assert result_left.record_counts["unfinished_result"] == 1
    asked = parse(content[: content.index(b'{"step": 5') + 9])
    assert asked.steps[-1]["action_text"] == "done, \u00e9 \u4f60"


@pytest.mark.parametrize("seed", range(200))
def test_damage_is_a_refusal_or_a_session_never_an_exception(seed: int) -> None:
    random = Random(seed)
    reported = [call(1, "a", arguments={"x": [1]}), call(1, "b"), result(1, "a"), result(1, "b", media=["m"])]
    content = bytearray(jsonl(HEADER, line(0, "user", content="u"), *reported, line(2, "assistant", content="x")))
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(content))
        content[at : at + random.choice([0, 0, 1, 9])] = random.choice(DAMAGE)
    try:
        parse(bytes(content))
    except MalformedSession as error:
        assert error.fault.reason in ("broken_json", "unexpected_shape")


# ---- what lies beside ------------------------------------------------------------------------------------------------
V1 = {
    "trial_id": "trial-1",
    "experiment_id": "exp",
    "timestamp": "2026-01-02T04:00:00Z",
    "task": {"task_id": "drop", "task_revision": "abc"},
    "agent": {"adapter": "tool_loop", "model": "some-model", "adapter_revision": "1.4"},
    "environment": {"tool_versions": {"python": "3.12"}},
    "inputs": {"instruction": "drop", "input_files": []},
    "outputs": {"trajectory_path": "trajectory.jsonl"},
    "evaluation": {"reward": 0.5, "validity": {"output_parseable": True, "errors": ["late"]}},
    "timing": {"total_seconds": 12.5},
    "cost": {"tokens_in": 100, "tokens_out": 20, "estimated_cost_usd": 0.25, "advisor_calls": None},
    "completeness": "complete",
}
V2 = {
    "schema_version": 2,
    "trial_id": "trial-2",
    "run_id": "run",
    "task_id": "drop",
    "attempt": 3,
    "execution_status": "completed",
    "evaluation_status": "completed",
    "evidence_status": "not_required",
    "started_at": "2026-01-02T04:00:00Z",
    "completed_at": "2026-01-02T05:00:00Z",
    "evaluation": {"reward": 1.0, "validity": {}, "passed": True},
    "timing": {"total_seconds": 3600.0},
    "cost": None,
}
RESULT = {
    "adapter_name": "tool_loop",
    "status": "failed",
    "failure_kind": "token_budget_reached",
    "provider_error": None,
    "input_tokens": 7,
    "output_tokens": 8,
    "resolved_model": "resolved",
}


def beside(
    files: dict[str, Any], path: str = "m/trial-1/trajectory.jsonl", source: Source = TRAJECTORY
) -> dict[str, Any]:
    """The context that the adapter makes of a folder of files."""
    wanted = source.find_sidecars(path, frozenset({*files, path}))
    return source.read_context(HEADER, path, {name: files.get(entry) for name, entry in wanted.items()})


def test_nothing_beside_is_no_context() -> None:
    assert beside({}) == {}
    session = parse_lines()
    assert (session.completeness, session.outcome, session.session_id, session.models) == (None, None, None, [])


def test_the_agents_result() -> None:
    session = parse_lines(context=beside({"m/trial-1/agent-result.json": RESULT}))
    assert session.models == ["resolved"]
    assert session.context == {"status": "failed"}
    run = session.run
    assert (run["input_tokens"], run["output_tokens"], run["total_tokens"]) == (7, 8, 15)
    assert (run["end"], run["stop_reason"], run["provider_errors"]) == ("error", "token_budget_reached", 0)


@pytest.mark.parametrize(
    ("fields", "end", "errors"),
    [
        ({"failure_kind": "provider_error", "provider_error": "403"}, "error", 1),
        ({"failure_kind": "timeout", "provider_error": None}, "timeout", 0),
        ({"status": "completed", "failure_kind": None}, "no_reply", 0),
    ],
)
def test_how_a_run_is_said_to_have_ended(fields: dict[str, Any], end: str, errors: int) -> None:
    run = parse_lines(context=beside({"m/trial-1/agent-result.json": RESULT | fields})).run
    assert (run["end"], run["provider_errors"]) == (end, errors)
    assert run["first_provider_error"] == fields.get("provider_error")


def test_a_trial_record_of_version_1() -> None:
    session = parse_lines(context=beside({"m/trial-1/record.json": V1, "m/trial-1/agent-result.json": RESULT}))
    assert (session.session_id, session.completeness, session.models) == ("trial-1", "complete", ["resolved"])
    assert (session.run["input_tokens"], session.run["cost_usd"]) == (100, 0.25)
    assert session.context == {"status": "failed", "estimated_cost_usd": 0.25}
    outcome = session.outcome
    assert outcome is not None
    assert (outcome["status"], outcome["success"], outcome["score"]) == ("not_scored", None, 0.5)
    assert (outcome["task_id"], outcome["session_id"], outcome["error_message"]) == ("drop", "trial-1", "late")
    OracleRecord.model_validate(outcome | {"source_model": "m", "native_session_basename": None})


def test_a_record_names_the_task_whatever_came_of_it() -> None:
    task = {"subset": None, "task_id": "drop", "attempt": 3}
    for record in (V2, V2 | {"evaluation": None, "evaluation_status": "not_requested"}):
        assert parse_lines(context=beside({"m/trial-1/trial.json": record})).task == task
    named = parse_lines(context=beside({"m/trial-1/x.json": V1 | {"dataset_id": "d"}})).task
    assert named == {"subset": "d", "task_id": "drop", "attempt": None}
    assert parse_lines().task == {}


@pytest.mark.parametrize(
    ("group", "value", "missing"),
    [
        ("agent", {"adapter": "tool_loop"}, "agent.adapter_revision"),
        ("environment", {"runtime_image": "x", "tool_versions": None}, "environment.tool_versions"),
        ("inputs", None, "inputs.input_files"),
    ],
)
def test_a_complete_record_without_its_provenance_is_partial(group: str, value: Any, missing: str) -> None:
    """The format: complete records must include the three, and partial ones back no leaderboard."""
    session = parse_lines(context=beside({"m/trial-1/x.json": V1 | {group: value}}))
    assert session.completeness == "partial"
    (fault,) = [fault for fault in session.warnings if fault.reason == "provenance_missing"]
    assert missing in fault.message
    complete = parse_lines(context=beside({"m/trial-1/x.json": V1}))
    assert (complete.completeness, complete.harness) == ("complete", {"name": "tool_loop", "version": "1.4"})


def test_what_lines_say_beside_their_fields_is_kept() -> None:
    session = parse_lines(
        {"step": 1, "role": "assistant", "content": "I look.", "metadata": {"temperature": 0.5}},
        {"step": 1, "role": "tool_call", "tool_name": "ls", "metadata": {"sandbox": "a"}},
        {"step": 1, "role": "tool_result", "tool_name": "ls", "stdout": "x", "metadata": {"cpu_ms": 3}},
        {"step": 2, "role": "assistant", "content": "Done.", "metadata": {}},
    )
    metadata = [step["metadata"] and json.loads(step["metadata"]) for step in session.steps]
    expected = {"assistant": {"temperature": 0.5}, "tool_call": {"sandbox": "a"}, "tool_result": {"cpu_ms": 3}}
    assert metadata == [expected, None]


def test_a_partial_record_is_marked() -> None:
    assert parse_lines(context=beside({"m/trial-1/x.json": V1 | {"completeness": "partial"}})).completeness == "partial"


@pytest.mark.parametrize(
    ("fields", "completeness"),
    [
        ({}, "complete"),
        ({"evaluation_status": "not_requested", "evaluation": None}, "complete"),
        ({"evaluation_status": "pending", "evaluation": None}, "partial"),
        ({"execution_status": "failed"}, "complete"),
        ({"execution_status": "cancelled"}, "complete"),
        ({"execution_status": "running"}, "partial"),
        ({"execution_status": "invalid"}, "partial"),
        ({"evidence_status": "complete"}, "complete"),
        ({"evidence_status": "pending"}, "partial"),
        ({"evaluation_status": None}, "partial"),
    ],
)
def test_a_trial_record_of_version_2(fields: dict[str, Any], completeness: str) -> None:
    session = parse_lines(context=beside({"m/trial-1/trial.json": V2 | fields}))
    assert session.completeness == completeness
    assert session.run["wall_time_s"] == 3600.0


def test_only_a_records_own_words_are_a_verdict() -> None:
    def outcome(**fields: Any) -> tuple[Any, Any, Any]:
        actual_outcome = parse_lines(context=beside({"m/trial-1/trial.json": V2 | fields})).outcome
        assert actual_outcome is not None
        return actual_outcome["status"], actual_outcome["success"], actual_outcome["score"]

    assert outcome() == ("scored", True, 1.0)
    assert outcome(evaluation={"score": 1, "verdict": "Fail"}) == ("scored", False, 1.0)
    assert outcome(evaluation={"reward": 1.0, "threshold": 0.5}) == ("not_scored", None, 1.0)
    assert outcome(evaluation={"verdict": "defer"}) == ("not_scored", None, None)
    assert outcome(evaluation_status="failed", evaluation=None) == ("not_scored", None, None)


@pytest.mark.parametrize("errors", [5, True, {"a": "b"}, "late", [None, 1, "late"]])
def test_errors_of_an_evaluation_that_are_no_list_stop_nothing(errors: Any) -> None:
    record = V2 | {"evaluation": {"passed": False, "validity": {"errors": errors}}}
    outcome = parse_lines(context=beside({"m/trial-1/trial.json": record})).outcome
    assert outcome is not None
    assert (outcome["success"], outcome["error_message"]) == (False, "late" if isinstance(errors, list) else None)


def test_which_record_means_the_session() -> None:
    assert "trial" not in beside({"m/trial-1/other.json": {"trial_id": "x"}, "m/trial-1/broken.json": None})
    two = {"m/trial-1/a.json": V2, "m/trial-1/b.json": V2 | {"trial_id": "trial-9"}}
    assert "trial" not in beside(two)
    assert beside(two | {"m/trial-1/c.json": V1})["trial"]["file"] == "c.json"
    above = {"m/x.json": V2, "m/trial-9/trajectory.jsonl": None}
    assert "trial" not in beside(above)
    assert beside({"m/x.json": V2})["trial"]["trial_id"] == "trial-2"
    assert beside(above | {"m/trial-1.json": V1})["trial"]["trial_id"] == "trial-1"
    reported = V2 | {"outputs": {"trajectory_path": "/home/me/m/trial-1/trajectory.jsonl"}}
    assert beside({"m/trial-9/trajectory.jsonl": None, "m/t.json": reported})["trial"]["trial_id"] == "trial-2"


def test_a_ledger_is_not_read_whole() -> None:
    ledger = {f"m/{number}.json": V2 for number in range(100)} | {"m/trial-1.json": V1}
    wanted = TRAJECTORY.find_sidecars("m/trial-1/trajectory.jsonl", frozenset({*ledger, "m/trial-1/trajectory.jsonl"}))
    assert list(wanted.values()) == ["m/trial-1.json"]
    assert TRAJECTORY.find_sidecars("m/trajectory.jsonl", frozenset({"x.json", "m/trajectory.jsonl"})) == {}


# ---- conversation ----------------------------------------------------------------------------------------------------
def conversation_line(role: str, content: str | None) -> dict[str, Any]:
    return {"role": role, "content": content, "event": "message", "tool_call_id": None, "tool_name": None}


TALK = jsonl(
    conversation_line("system", "s"),
    conversation_line("user", "u"),
    conversation_line("tool", "t"),
    conversation_line("assistant", " "),
    conversation_line("assistant", "a"),
)


def test_a_conversation_gives_turns_and_replies() -> None:
    session = parse(TALK, source=CONVERSATION)
    assert (session.source_format, session.session_version) == ("aec_trajectory", "conversation")
    assert shape(session, "action_kind", "action_text", "user_turn", "followed") == [("reply", "a", 1, False)]
    assert session.user_turns[0]["before_step"] == 1
    assert session.record_counts == {
        "system": 1,
        "user_turn": 1,
        "tool_message": 1,
        "runner:no_step": 1,
        "step_reply": 1,
    }


def test_beside_a_trajectory_it_gives_nothing() -> None:
    path = "m/trial-1/conversation.jsonl"
    for text in [jsonl(HEADER, call(1, "a")).decode(), call(1, "a"), None]:
        new_beside = beside({"m/trial-1/trajectory.jsonl": text}, path, CONVERSATION)
        assert new_beside == {"trajectory_beside": True}
        assert refusal(TALK, CONVERSATION, new_beside) == ("beside_trajectory", 1)
    for text in ["", "no json", '{"traceSchema": "openclaw-trajectory"}']:
        assert beside({"m/trial-1/trajectory.jsonl": text}, path, CONVERSATION) == {}


def test_trials_of_one_task_differ_by_their_first_answer() -> None:
    other = TALK.replace(b'"t"', b'"T"')
    assert CONVERSATION.identity(None, TALK) != CONVERSATION.identity(None, other)


# ---- the real files --------------------------------------------------------------------------------------------------
def real(name: str, source: Source = TRAJECTORY) -> ParsedSession:
    """A real file by the beginning of its folder, with what lies beside it."""
    if not SAMPLES.is_dir():
        pytest.skip(f"{SAMPLES}: the seed samples are not there")
    folder = next(SAMPLES.glob(f"{name}*"))
    path = folder / ("trajectory.jsonl" if source is TRAJECTORY else "conversation.jsonl")
    result = json.loads((folder / "agent-result.json").read_text(encoding="utf-8"))
    content = path.read_bytes()
    assert source.detect(json.loads(content.split(b"\n")[0]))
    session = parse(content, {"agent_result": result}, source)
    assert session.records_in == content.count(b"\n") == len(session.record_digests)
    return session


@pytest.mark.parametrize(
    ("name", "calls", "lines"),
    [("2101b866", 4, 15), ("3e1e91a7", 14, 45), ("5d562cf1", 4, 15), ("b8cb05b9", 2, 10), ("e7bc2ed9", 0, 1)],
)
def test_real_trajectories(name: str, calls: int, lines: int) -> None:
    session = real(name)
    steps = [step for step in session.steps if step["action_kind"] == "tool_call"]
    assert (len(steps), session.records_in, len(session.steps)) == (calls, lines, calls + bool(calls))
    assert all(step["has_result"] and step["result_details"] == '{"exitCode": 0}' for step in steps)
    assert not session.order_ambiguous
    assert session.run["end"] == ("completed" if calls else "error")
    talk = real(name, CONVERSATION)
    assert [step["action_text"] for step in talk.steps] == [step["action_text"] for step in session.steps[calls:]]


def test_pairings_checked_by_eye() -> None:
    """Lines of each step's narration, call and result, read off the files."""
    places = [[raw["line"] for raw in step["raw"]] for step in real("2101b866").steps]
    assert places == [[4, 5, 7], [6, 8], [9, 10, 11], [12, 13, 14], [15]]
    session = real("5d562cf1")
    assert [[raw["line"] for raw in step["raw"]] for step in session.steps] == places
    names = ["observe_pump_station", "snapshot_pump_station", *["request_post_maintenance_verification"] * 2, None]
    assert [step["tool_name_raw"] for step in session.steps] == names
    assert session.steps[0]["action_text"] == "observe_pump_station"
    assert session.steps[2]["action_text"].startswith('request_post_maintenance_verification {"proposal_id": "')
    assert session.steps[2]["reflection_text"].startswith('{"detail": "relied-on evidence was not s')
    assert session.steps[1]["reflection_text"].startswith('{"schema_version":"aecbench.stewardship-')


def test_real_failures() -> None:
    budget, refused = real("eeeded8b").run, real("e7bc2ed9").run
    assert (budget["stop_reason"], budget["provider_errors"], budget["input_tokens"]) == (
        "token_budget_reached",
        0,
        44223,
    )
    assert (refused["stop_reason"], refused["provider_errors"]) == ("provider_error", 1)
    assert refused["first_provider_error"].startswith("status_code: 403")


UNTIMED = jsonl(
    {"version": 1, "format": "aec-bench-trajectory"},
    line(1, "user", content="Look."),
    line(2, "assistant", content="I looked."),
)


def trial(name: str, **more: Any) -> dict[str, Any]:
    return {"trial_id": name, "experiment_id": "x", "completeness": "complete", "task": {"task_id": "look"}} | more


def folder(root: Path, files: dict[str, bytes]) -> Normalized:
    for name, content in files.items():
        path = root / "raw" / "m" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return normalized_folder(root / "raw", root / "data")[1]


def test_trials_of_equal_words_are_told_apart_by_their_records(tmp_path: Path) -> None:
    """Without a time the lines of two trials are the same; the trial's id is its identity, whoever else is there."""
    files = {}
    for name in ("t1", "t2", "t3"):
        files |= {f"{name}/trajectory.jsonl": UNTIMED, f"{name}/trial.json": json.dumps(trial(name)).encode()}
    both = folder(tmp_path / "all", files)
    assert sorted(row["session_id"] for row in both.trajectories) == ["t1", "t2", "t3"]
    assert not any(row["divergent"] for row in both.trajectories)
    fewer = folder(tmp_path / "two", {name: content for name, content in files.items() if not name.startswith("t1/")})
    ids = {row["session_id"]: row["trajectory_id"] for row in both.trajectories}
    assert {row["session_id"]: row["trajectory_id"] for row in fewer.trajectories} == {
        name: ids[name] for name in ("t2", "t3")
    }


def test_a_header_with_a_time_keeps_its_identity(tmp_path: Path) -> None:
    timed = jsonl(HEADER, line(1, "user", content="Look."), line(2, "assistant", content="I looked."))
    alone = folder(tmp_path / "alone", {"t1/trajectory.jsonl": timed})
    record = json.dumps(trial("t1")).encode()
    beside = folder(tmp_path / "beside", {"t1/trajectory.jsonl": timed, "t1/trial.json": record})
    assert [row["trajectory_id"] for row in alone.trajectories] == [row["trajectory_id"] for row in beside.trajectories]


PRIME = jsonl(
    {"role": "system", "content": "Be good."},
    {"role": "user", "content": [{"type": "text", "text": "Find the beam."}]},
    {
        "role": "assistant",
        "content": "I look first.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "beam.txt"}'}},
            {"id": "c2", "type": "function", "function": {"name": "submit_answer", "arguments": {"value": 3}}},
        ],
    },
    {"role": "tool", "tool_call_id": "c2", "content": "ok"},
    {"role": "tool", "tool_call_id": "c1", "content": "HEB 200"},
    {"role": "assistant", "content": "It is a HEB 200.", "reasoning_content": "As the file says."},
)


def test_a_prime_rollout_is_a_partial_trial_with_its_steps(tmp_path: Path) -> None:
    record = trial("p1", completeness="partial", evaluation={"reward": 0.75})
    files = {"p1/conversation.jsonl": PRIME, "p1/prime_sample.json": json.dumps({"reward": 0.75, "id": 4}).encode()}
    normalized = folder(tmp_path, files | {"p1/trial.json": json.dumps(record).encode()})
    (row,) = normalized.trajectories
    assert (row["source_format"], row["session_version"], row["completeness"]) == ("aec_trajectory", "chat", "partial")
    assert (row["session_id"], row["task_id"]) == ("p1", "look")
    steps = normalized.steps_of(row)
    assert [(step["tool_name_raw"], step["arguments"], step["reflection_text"]) for step in steps] == [
        ("read", '{"path": "beam.txt"}', "HEB 200"),
        ("submit_answer", '{"value": 3}', "ok"),
        (None, None, None),
    ]
    assert [step["narration"] for step in steps] == ["I look first.", None, None]
    assert (steps[2]["action_text"], steps[2]["thinking"]) == ("It is a HEB 200.", "As the file says.")
    assert [turn["text"] for turn in normalized.turns] == ["Find the beam."]


def test_a_sample_without_a_record_is_partial_and_its_reward_no_verdict(tmp_path: Path) -> None:
    row = CHAT.read_context({}, "m/p1/conversation.jsonl", {"sample": {"reward": 1.0}})
    session = parse(PRIME, row, CHAT)
    assert session.completeness == "partial"
    assert session.outcome is not None
    assert (session.outcome["status"], session.outcome["success"], session.outcome["score"]) == (
        "not_scored",
        None,
        1.0,
    )


def test_a_result_that_fits_no_call_of_a_chat_is_an_orphan() -> None:
    session = parse(
        jsonl(
            {"role": "user", "content": "go"},
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "ls", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "z", "name": "rm", "content": "gone"},
            {"role": "assistant", "content": ""},
        ),
        {},
        CHAT,
    )
    assert [(step["tool_name_raw"], step["orphan"], step["reflection_text"]) for step in session.steps] == [
        ("ls", False, None),
        ("rm", True, "gone"),
    ]
    assert session.run["empty_replies"] == 1


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_chats_are_refused_or_read(damage: bytes) -> None:
    for at in range(0, len(PRIME), 97):
        try:
            parse(PRIME[:at] + damage + PRIME[at:], {}, CHAT)
        except MalformedSession as error:
            assert error.fault.message


def test_chats_without_an_assistant_are_no_session() -> None:
    with pytest.raises(MalformedSession, match="none of them an assistant"):
        parse(jsonl({"role": "user", "content": "go"}), {}, CHAT)
