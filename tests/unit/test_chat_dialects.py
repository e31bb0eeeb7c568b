"""Chat messages of every dialect give the same steps, or their row is refused with what is not read."""

import json
from typing import Any

import pytest

from openclawbench.records.session import Step, UserTurn
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.base import MalformedSession, ParsedSession
from openclawbench.sources.message_list import MessageList
from openclawbench.tables.schema import from_records

RULES = NormalizeRules.load()
KEY = {"source_model": "m", "trajectory_id": "t"}
ASK: dict[str, Any] = {"role": "user", "content": "list"}
DONE: dict[str, Any] = {"role": "assistant", "content": "a.py"}
ARGUMENTS = '{"cmd": "ls"}'
CALL: dict[str, Any] = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": ARGUMENTS}}
ANSWER: dict[str, Any] = {"role": "tool", "tool_call_id": "c", "content": "a.py"}


def spoken(**fields: Any) -> dict[str, Any]:
    """A message of the agent."""
    return {"role": "assistant", "content": None} | fields


def parse(*messages: Any) -> ParsedSession:
    """The session, with every message accounted for and its rows taken by the tables they are for."""
    content = json.dumps(messages).encode()
    assert MessageList().detect(list(messages))
    session = MessageList().parse(content, {}, RULES)
    assert session.records_in == len(messages) == sum(session.record_counts.values())
    from_records([KEY | step for step in session.steps], Step)
    from_records([KEY | turn for turn in session.user_turns], UserTurn)
    return session


def refusal(*messages: Any) -> str:
    """The reason and the sentence of a refused list."""
    with pytest.raises(MalformedSession) as caught:
        MessageList().parse(json.dumps(messages).encode(), {}, RULES)
    return f"{caught.value.fault.reason}: {caught.value.fault.message}"


BLOCK = {"type": "tool_use", "id": "c", "name": "bash", "input": {"cmd": "ls"}}
THOUGHT = [{"role": "assistant", "content": [{"type": "thinking", "thinking": "I list."}, BLOCK]}]
RESULT = {"type": "tool_result", "tool_use_id": "c", "content": "a.py"}
ITEM = {"type": "function_call", "call_id": "c", "name": "bash", "arguments": ARGUMENTS}
SUMMARY = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "I list."}]}
CODER = "<think>I list.</think><tool_call>\n"
DIALECTS: dict[str, list[dict[str, Any]]] = {
    "openai": [spoken(tool_calls=[CALL], reasoning_content="I list."), ANSWER],
    "reasoning": [spoken(tool_calls=[CALL], reasoning="I list."), ANSWER],
    "thinking": [spoken(tool_calls=[CALL], thinking="I list."), ANSWER],
    "reasoning details": [spoken(tool_calls=[CALL], reasoning_details=[{"type": "x", "text": "I list."}]), ANSWER],
    "a tag": [spoken(tool_calls=[CALL], content="<think>\nI list.\n</think>\n\n"), ANSWER],
    "a tag that the template opened": [spoken(tool_calls=[CALL], content="I list.</think>"), ANSWER],
    "the thought twice": [spoken(tool_calls=[CALL], content="<think>I list.</think>", reasoning="I list."), ANSWER],
    "flat calls": [
        spoken(tool_calls=[{"id": "c", "name": "bash", "arguments": {"cmd": "ls"}}], reasoning="I list."),
        ANSWER,
    ],
    "langchain": [
        {
            "type": "ai",
            "content": "<think>I list.</think>",
            "tool_calls": [{"name": "bash", "args": {"cmd": "ls"}, "id": "c"}],
        },
        {"type": "tool", "content": "a.py", "tool_call_id": "c"},
    ],
    "inspect": [
        spoken(tool_calls=[{"id": "c", "function": "bash", "arguments": {"cmd": "ls"}}], reasoning="I list."),
        ANSWER,
    ],
    "calls as text": [spoken(tool_calls=json.dumps([CALL]), reasoning="I list."), ANSWER],
    "a number for an id": [spoken(tool_calls=[CALL | {"id": 7}], reasoning="I list."), ANSWER | {"tool_call_id": 7}],
    "no id at all": [
        spoken(tool_calls=[{"function": CALL["function"]}], reasoning="I list."),
        {"role": "tool", "content": "a.py"},
    ],
    "function_call": [
        spoken(function_call=CALL["function"], reasoning="I list."),
        {"role": "function", "name": "bash", "content": "a.py"},
    ],
    "anthropic": [*THOUGHT, {"role": "user", "content": [RESULT]}],
    "anthropic, blocks in the result": [
        *THOUGHT,
        {"role": "user", "content": [RESULT | {"content": [{"type": "text", "text": "a.py"}]}]},
    ],
    "ai sdk": [
        spoken(
            content=[
                {"type": "reasoning", "text": "I list."},
                {"type": "tool-call", "toolCallId": "c", "toolName": "bash", "input": {"cmd": "ls"}},
            ]
        ),
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c", "toolName": "bash", "output": "a.py"}]},
    ],
    "opentelemetry": [
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "I list."},
                {"type": "tool_call", "id": "c", "name": "bash", "arguments": {"cmd": "ls"}},
            ],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "a.py"}]},
    ],
    "gemini": [
        {
            "role": "model",
            "parts": [{"text": "I list.", "thought": True}, {"functionCall": {"name": "bash", "args": {"cmd": "ls"}}}],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "bash", "response": "a.py"}}]},
    ],
    "responses": [
        SUMMARY,
        ITEM,
        {"type": "function_call_output", "call_id": "c", "output": "a.py", "status": "completed"},
    ],
    "custom tool": [
        SUMMARY,
        {"type": "custom_tool_call", "call_id": "c", "name": "bash", "input": ARGUMENTS},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "a.py"},
    ],
    "hermes": [
        spoken(
            content=f'<think>I list.</think><tool_call>\n{{"name": "bash", "arguments": {ARGUMENTS}}}\n</tool_call>'
        ),
        {"role": "tool", "content": "<tool_response>\na.py\n</tool_response>"},
    ],
    "qwen": [
        spoken(content=f'<think>I list.</think><tool_call>{{"name": "bash", "arguments": {ARGUMENTS}}}</tool_call>'),
        {"role": "user", "content": "<tool_response>\na.py\n</tool_response>"},
    ],
    "qwen coder": [
        spoken(content=CODER + "<function=bash>\n<parameter=cmd>\nls\n</parameter>\n</function>\n</tool_call>"),
        {"role": "tool", "content": "a.py"},
    ],
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_gives_the_same_steps(dialect: str) -> None:
    session = parse(ASK, *DIALECTS[dialect], DONE)
    call, reply = session.steps
    assert (call["tool_name_raw"], json.loads(call["arguments"])) == ("bash", {"cmd": "ls"})
    assert (call["reflection_text"], call["thinking"], call["narration"]) == ("a.py", "I list.", None)
    assert (call["result_is_error"], call["order_ambiguous"], call["orphan"]) == (None, False, False)
    assert (reply["action_kind"], reply["action_text"]) == ("reply", "a.py")
    assert [turn["text"] for turn in session.user_turns] == ["list"]
    assert session.run["end"] == "completed"


def test_sharegpt_is_read() -> None:
    session = parse(
        {"from": "human", "value": "list"},
        {"from": "function_call", "value": '{"name": "bash", "arguments": {"cmd": "ls"}}'},
        {"from": "observation", "value": "a.py"},
        {"from": "gpt", "value": "done"},
    )
    assert [(step["action_kind"], step["reflection_text"]) for step in session.steps] == [
        ("tool_call", "a.py"),
        ("reply", None),
    ]


def test_items_of_one_response_are_one_message() -> None:
    second = ITEM | {"call_id": "d", "arguments": "{}"}
    text = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}]}
    outputs = [{"type": "function_call_output", "call_id": name, "output": name} for name in ("d", "c")]
    session = parse(ASK, SUMMARY, text, ITEM, second, *outputs, SUMMARY, DONE)
    first, other, reply = session.steps
    assert first["message_index"] == other["message_index"] != reply["message_index"]
    assert (first["narration"], first["thinking"]) == ("Looking.", "I list.")
    assert (first["reflection_text"], other["reflection_text"]) == ("c", "d")
    assert reply["thinking"] == "I list."


def test_what_a_user_says_beside_a_result_is_the_users() -> None:
    blocks = [RESULT | {"is_error": True}, {"type": "text", "text": "And b?"}]
    session = parse(ASK, *THOUGHT, {"role": "user", "content": blocks}, DONE)
    assert [turn["text"] for turn in session.user_turns] == ["list", "And b?"]
    assert (session.steps[0]["reflection_text"], session.steps[0]["result_is_error"]) == ("a.py", True)


def test_results_without_ids_go_by_their_order_and_are_ambiguous() -> None:
    two = spoken(tool_calls=[{"function": {"name": "a"}}, {"function": {"name": "b"}}])
    results = [{"role": "tool", "content": text} for text in ("1", "2")]
    assert [(step["reflection_text"], step["order_ambiguous"]) for step in parse(ASK, two, *results).steps] == [
        ("1", True),
        ("2", True),
    ]
    lost = parse(ASK, two, results[0])  # whose it is nobody knows
    assert [(step["tool_name_raw"], step["reflection_text"]) for step in lost.steps] == [
        ("a", None),
        ("b", None),
        (None, "1"),
    ]


def test_calls_of_a_simulated_user_are_not_the_agents() -> None:
    call = {"id": "u", "name": "toggle_wifi", "arguments": {}, "requestor": "user"}
    session = parse(
        ASK,
        {"role": "user", "content": None, "tool_calls": [call]},
        {"role": "tool", "id": "u", "content": "on", "requestor": "user"},
        {"role": "user", "content": "It is on."},
        DONE,
    )
    assert [step["action_kind"] for step in session.steps] == ["reply"]
    assert [turn["text"] for turn in session.user_turns] == ["list", "It is on."]
    assert session.record_counts["simulated_user_tool"] == 2


@pytest.mark.parametrize(
    ("message", "named"),
    [
        (spoken(content=[{"type": "sparkle", "text": "x"}]), "a content block of the type 'sparkle'"),
        (spoken(content=[{"sparkle": 1}]), "a content block of the type 'sparkle'"),
        ({"type": "compaction", "summary": "x"}, "an item of the type 'compaction'"),
        ({"role": "narrator", "content": "x"}, "a message of the role 'narrator'"),
        ({"role": "ai", "text": "ls"}, "a message of the role 'ai'"),
        (spoken(content="<tool_call>ls</tool_call>"), "a <tool_call> whose call cannot be read"),
        ({"note": "x"}, "a message with neither role nor type, of the fields note"),
    ],
)
def test_what_is_not_read_is_refused_by_its_name(message: dict[str, Any], named: str) -> None:
    assert f"unexpected_shape: line 1: {named} is not read" in refusal(ASK, DONE, message)


@pytest.mark.parametrize(
    "messages",
    [
        [
            {"role": "assistant", "name": "Planner"},
            {"role": "user", "name": "Coder"},
            {"role": "user", "name": "Terminal"},
        ],
        [{"role": "user"}, {"role": "assistant", "name": "Coder"}, {"role": "assistant", "name": "Critic"}],
        [{"role": "assistant", "name": "Planner"}, {"role": "user", "name": "Coder"}],
    ],
)
def test_a_conversation_of_several_agents_is_refused(messages: list[dict[str, Any]]) -> None:
    assert refusal(*(message | {"content": "x"} for message in messages)).startswith(
        "several_speakers: a conversation of several agents ("
    )


def test_a_user_and_an_agent_may_have_names() -> None:
    session = parse(ASK | {"name": "jane"}, DONE | {"name": "helper"}, ASK | {"name": "jane"})
    assert len(session.user_turns) == 2
