"""What is read from a recorded session: BFCL's calls, what was masked, and signs that the agent lacked its tools."""

import json
from typing import Any

import pytest
from planned import LATE, found_task

from openclawbench.collect.plan import planned_task
from openclawbench.collect.recorded_session import bfcl_result, is_masked_form, read_session

TASK = planned_task(found_task("t_0", held_back={"1": [LATE]}), None)
MULTI_TURN = planned_task(
    found_task("t_0", simulator={"initial_config": {}, "involved_classes": [], "long_context": False}), None
)


def session(*messages: dict[str, Any]) -> bytes:
    lines = [
        json.dumps({"type": "message", "timestamp": f"2026-11-24T10:00:{n:02}.000Z", "message": message})
        for n, message in enumerate(messages)
    ]
    return "\n".join(["not json", '{"type": "session"}', *lines]).encode()


def user() -> dict[str, Any]:
    return {"role": "user", "content": "Add."}


def says(text: str = "", *calls: tuple[str, Any], **more: Any) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    content += [
        {"type": "toolCall", "id": f"{name}{n}", "name": name, "arguments": call}
        for n, (name, call) in enumerate(calls)
    ]
    usage = {"input": 5, "cacheRead": 3, "output": 2}
    return {"role": "assistant", "content": content, "stopReason": "stop", "usage": usage} | more


def result(name: str, text: str, call_id: str, is_error: bool = False) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"role": "toolResult", "toolCallId": call_id, "toolName": name, "content": content, "isError": is_error}


def test_calls_one_after_the_other_are_one_answer_of_a_single_turn_task() -> None:
    content = session(user(), says("", ("b__add", {"a": 1})), says("", ("b__add", {"a": 2})), says("Done."))
    read = read_session(content, TASK)
    assert bfcl_result(read, TASK) == [{"add": '{"a": 1}'}, {"add": '{"a": 2}'}]
    assert (read.tokens_in, read.tokens_cached, read.tokens_out, read.seconds) == (24, 9, 6, 3.0)


def test_words_are_the_answer_where_no_call_was_made() -> None:
    read = read_session(session(user(), says("First."), says("No function fits.")), TASK)
    assert bfcl_result(read, TASK) == "No function fits."
    assert bfcl_result(read_session(b"", TASK), TASK) == ""


def test_a_multi_turn_answer_has_a_list_a_turn() -> None:
    content = session(user(), says("", ("b__add", {"a": 1})), says("Done."), user(), says("Nothing."))
    assert bfcl_result(read_session(content, MULTI_TURN), MULTI_TURN) == [
        [[{"add": '{"a": 1}'}], "Done."],
        ["Nothing."],
    ]


def test_openclaws_own_tools_are_no_bfcl_calls() -> None:
    content = session(user(), says("", ("exec", {"command": "ls"})), result("exec", "a", "exec0"), says("Done."))
    read = read_session(content, TASK)
    assert bfcl_result(read, TASK) == "Done."
    assert read.other_tools == {"exec"}
    assert read.tool_calls == 1


def test_an_error_of_the_endpoint_counts_only_if_it_ended_the_session() -> None:
    failed = says("", stopReason="error", errorMessage="overloaded")
    assert read_session(session(user(), failed, says("Done.")), TASK).error is None
    read = read_session(session(user(), says("Done."), failed), TASK)
    assert bfcl_result(read, TASK) == "Error during inference: overloaded"


def test_the_call_of_a_tool_that_does_not_exist_is_kept_without_arguments() -> None:
    content = session(user(), result("b__divide", "Tool b__divide not found", "gone", is_error=True), says("Oh."))
    read = read_session(content, TASK)
    assert bfcl_result(read, TASK) == [{"divide": "{}"}]
    assert read.lost_arguments == ["b__divide"]
    assert read.not_offered == []


def test_a_function_that_openclaw_does_not_know_was_not_offered() -> None:
    missing = [result(f"b__{name}", f"Tool b__{name} not found", name, is_error=True) for name in ("add", "multiply")]
    assert read_session(session(user(), *missing), TASK).not_offered == ["b__add"]
    assert read_session(session(user(), user(), *missing), TASK).not_offered == ["b__add", "b__multiply"]


def test_what_openclaw_masked_is_taken_from_the_calls_that_were_made() -> None:
    content = session(
        user(),
        says("", ("b__add", {"a": "***", "b": ["sk-abc…7890"]}), ("b__add", {"a": "***", "b": 1})),
        says("", ("b__add", {"a": "refused by the schema: ***"})),
    )
    calls = [
        {"turn": 0, "name": "add", "arguments": {"a": "secret", "b": 1}},
        {"turn": 0, "name": "add", "arguments": {"a": "hunter2", "b": ["sk-abcdefgh567890"]}},
    ]
    journal = "\n".join(map(json.dumps, calls)).encode()
    assert bfcl_result(read_session(content, TASK, journal), TASK) == [
        {"add": '{"a": "hunter2", "b": ["sk-abcdefgh567890"]}'},
        {"add": '{"a": "secret", "b": 1}'},
        {"add": '{"a": "refused by the schema: ***"}'},
    ]


@pytest.mark.parametrize(
    ("recorded", "called", "same"),
    [
        ("***", "anything", True),
        ("acc…123", "access_token_abc123", True),
        ("acc…124", "access_token_abc123", False),
        ({"a": 2}, {"a": 2.0}, True),
        ({"a": 2}, {"a": 2, "b": 1}, False),
        (["***"], ["x", "y"], False),
        ("plain", "other", False),
    ],
)
def test_a_masked_value_is_known_by_what_it_leaves(recorded: Any, called: Any, same: bool) -> None:
    assert is_masked_form(recorded, called) is same


def asks(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


THREE_TURNS = planned_task(
    found_task(
        "t_0",
        turns=[[{"role": "user", "content": text}] for text in ("Add.", "Again.", "Again.")],
        simulator={"initial_config": {}, "involved_classes": [], "long_context": False},
    ),
    None,
)


def test_what_openclaw_asks_again_after_an_empty_reply_is_no_new_turn() -> None:
    again = asks("Add.\n\nThe previous attempt did not produce a user-visible answer. Continue.")
    content = session(asks("Add."), says(), again, says("Three."), asks("Again."), says("Six."))
    assert read_session(content, THREE_TURNS).turns == [["", "Three."], ["Six."]]


def test_two_turns_of_the_same_words_are_two() -> None:
    content = session(asks("Add."), says("3"), asks("Again."), says("6"), asks("Again."), says("9"))
    assert read_session(content, THREE_TURNS).turns == [["3"], ["6"], ["9"]]


def test_an_error_stays_where_openclaw_words_the_reply_itself() -> None:
    failed = says("", stopReason="error", errorMessage="400 maximum context length")
    own = says("Context overflow: prompt too large for the model.", api="cli")
    content = session(asks("Add."), failed, asks("Add."), failed, own)
    read = read_session(content, THREE_TURNS)
    assert (read.error, len(read.turns)) == ("400 maximum context length", 1)
    assert read_session(session(asks("Add."), failed, asks("Add."), says("3")), THREE_TURNS).error is None


def test_damaged_records_and_calls_are_passed_over() -> None:
    """An agent with tools of its own may write anything into its files."""
    damaged = [
        b'{"type": "message", "timestamp": "soon", "message": {"role": "assistant", "content": "Three.", "usage": 5}}',
        b'{"type": "message", "message": {"role": "assistant", "content": [5, {"type": "toolCall"}]}}',
        b'{"type": "message", "message": {"role": "user", "content": ' + b"[" * 100_000 + b"}}",
    ]
    content = b"\n".join([session(asks("Add.")), *damaged])
    read = read_session(content, THREE_TURNS, b'{"name": "add", "argum')
    assert read.turns == [["Three.", ""]]
