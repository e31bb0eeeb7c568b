"""What a source says of its run survives an export: agent, version, tools, models, call ids, usage, times."""

import json
from typing import Any

import polars as pl
import pytest
from normalizing import read
from test_interchange import DESCRIBED, LABELLED, SYNTHETIC

from openclawbench.records.session import Harness
from openclawbench.release.interchange.atif import as_atif
from openclawbench.release.interchange.atif_check import fault
from openclawbench.release.interchange.pi import as_pi
from openclawbench.release.interchange.scout import SCHEMA, as_scout
from openclawbench.release.interchange.session import Labelled, encode_json
from openclawbench.sources.base import ParsedSession

Row = dict[str, Any]
USED = {"prompt_tokens": 100, "completion_tokens": 9, "cached_tokens": 80, "cost_usd": 0.5}
USED |= {"extra": {"cache_creation_input_tokens": 7, "reasoning_tokens": 3}}
TOOLS = [{"type": "function", "function": {"name": "Task", "parameters": {"type": "object"}}}]
REFERENCE = {"trajectory_path": "agent/child.json", "session_id": "child"}
DOCUMENT: Row = {
    "schema_version": "ATIF-v1.6",
    "session_id": "s",
    "agent": {"name": "claude-code", "version": "2.0.46", "model_name": "big", "tool_definitions": TOOLS},
    "steps": [
        {"step_id": 1, "timestamp": "2026-05-01T00:00:00Z", "source": "user", "message": "Count the files."},
        {
            "step_id": 2,
            "timestamp": "2026-05-01T00:00:01Z",
            "source": "agent",
            "model_name": "small",
            "message": "I ask two others.",
            "tool_calls": [
                {"tool_call_id": "toolu_1", "function_name": "Task", "arguments": {"prompt": "a"}},
                {"tool_call_id": "toolu_2", "function_name": "Task", "arguments": {"prompt": "b\u2028c"}},
            ],
            "observation": {
                "results": [
                    {"source_call_id": "toolu_1", "content": "3", "subagent_trajectory_ref": [REFERENCE]},
                    {"source_call_id": "toolu_2", "content": "4\u2028\u0085"},
                ]
            },
            "metrics": USED,
        },
        {"step_id": 3, "source": "agent", "message": "Seven.", "metrics": {"prompt_tokens": 120}},
    ],
}


def parsed(document: Row) -> ParsedSession:
    session = read(json.dumps(document).encode(), "m/t.json").session
    assert session is not None
    return session


def labelled(session: ParsedSession) -> Labelled:
    """A session as the work tables hold it, with a made-up label."""
    names = ("session_id", "source_format", "session_version", "models", "run")
    trajectory = {name: getattr(session, name) for name in names} | {"source_model": "m", "trajectory_id": "t"}
    trajectory["harness"] = dict.fromkeys(Harness.model_fields) | session.harness
    steps = [{"step_id": step["step_id"], "tool_name_raw": step["tool_name_raw"]} | DESCRIBED for step in session.steps]
    master = LABELLED | {"steps": steps, "user_turns": [], "source_model": "m", "trajectory_id": "t"}
    return Labelled(trajectory, session.steps, session.user_turns, master)


def test_a_source_is_read_with_what_it_says_of_its_run() -> None:
    session = parsed(DOCUMENT)
    assert session.harness | {"tool_definitions": None} == {
        "name": "claude-code",
        "version": "2.0.46",
        "tool_definitions": None,
    }
    assert [(step["call_id"], step["model"], bool(step["usage"])) for step in session.steps] == [
        ("toolu_1", "small", True),
        ("toolu_2", None, False),  # what the message used stands on its first step alone
        (None, "big", True),
    ]
    assert [turn["timestamp"] for turn in session.user_turns] == ["2026-05-01T00:00:00.000Z"]


def test_atif_gives_it_back() -> None:
    document = json.loads(encode_json(as_atif(labelled(parsed(DOCUMENT)), SYNTHETIC)))
    assert fault(json.dumps(document).encode()) is None
    assert document["agent"] == {"name": "claude-code", "version": "2.0.46", "tool_definitions": TOOLS}
    for step, original in zip(document["steps"], DOCUMENT["steps"], strict=True):
        for name in ("source", "message", "tool_calls", "metrics"):
            assert step.get(name) == original.get(name), name
        assert step.get("model_name", "big") == original.get("model_name", "big")
        assert (step.get("timestamp") or "").replace(".000Z", "Z") == original.get("timestamp", "")
    results = document["steps"][1]["observation"]["results"]
    assert results == DOCUMENT["steps"][1]["observation"]["results"]
    final = {"total_prompt_tokens": 220, "total_completion_tokens": 9, "total_cached_tokens": 80, "total_cost_usd": 0.5}
    extra = {"total_cache_creation_input_tokens": 7, "total_reasoning_tokens": 3}
    assert document["final_metrics"] == final | {"extra": extra}
    again = parsed(document)
    assert (again.run, again.harness) == (parsed(DOCUMENT).run, parsed(DOCUMENT).harness)


def test_scout_gives_it_back() -> None:
    row = as_scout(labelled(parsed(DOCUMENT)), SYNTHETIC)
    pl.DataFrame([row], schema=SCHEMA, orient="row")
    assert (row["agent"], row["total_tokens"]) == ("claude-code", 229)
    assert json.loads(row["agent_args"]) == {"version": "2.0.46", "tool_definitions": TOOLS}
    _, message, first, second, _ = json.loads(row["messages"])
    assert [call["id"] for call in message["tool_calls"]] == ["toolu_1", "toolu_2"]
    assert [first["tool_call_id"], second["tool_call_id"]] == ["toolu_1", "toolu_2"]
    assert message["model"] == "small"
    assert message["metadata"]["usage"]["cached_tokens"] == 80
    assert message["metadata"]["timestamp"] == "2026-05-01T00:00:01.000Z"


def test_pi_gives_it_back() -> None:
    header, turn, message, first, second, reply, _ = map(json.loads, as_pi(labelled(parsed(DOCUMENT)), SYNTHETIC))
    assert (header["timestamp"], turn["timestamp"]) == ("2026-05-01T00:00:00.000Z",) * 2
    assert turn["message"]["timestamp"] == 1777593600000
    spoken = message["message"]
    counts = {"input": 13, "output": 9, "cacheRead": 80, "cacheWrite": 7, "reasoning": 3, "totalTokens": 109}
    assert {name: spoken["usage"][name] for name in counts} == counts
    assert spoken["usage"]["cost"]["total"] == 0.5
    assert [call["id"] for call in spoken["content"][1:]] == ["toolu_1", "toolu_2"]
    assert [first["message"]["toolCallId"], second["message"]["toolCallId"]] == ["toolu_1", "toolu_2"]
    assert reply["message"]["usage"]["cost"] == {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}


@pytest.mark.parametrize("time", [None, "2026-05-01T00:00:00", 0])
def test_no_form_makes_up_a_time(time: Any) -> None:
    """Nor 1970, where nothing says when it was."""
    steps = [step | {"timestamp": time} for step in DOCUMENT["steps"]]
    session = labelled(parsed(DOCUMENT | {"steps": steps}))
    lines = as_pi(session, SYNTHETIC)
    assert json.loads(lines[0])["timestamp"] is None
    assert read(b"".join(lines)).session is not None
    written = b"".join([*lines, encode_json(as_atif(session, SYNTHETIC)), str(as_scout(session, SYNTHETIC)).encode()])
    assert b"1970" not in written
    assert written.count(b'"timestamp"') == 1


def test_ids_that_repeat_are_not_given_as_ids() -> None:
    """A reader of the export could not tell which result is whose."""
    calls = [{"tool_call_id": "0", "function_name": "f", "arguments": {}}]
    results = {"results": [{"source_call_id": "0", "content": "x"}]}
    steps = [{"source": "agent", "message": "", "tool_calls": calls, "observation": results} for _ in range(2)]
    document = as_atif(labelled(parsed(DOCUMENT | {"steps": steps})), SYNTHETIC)
    assert document is not None
    assert [step["tool_calls"][0]["tool_call_id"] for step in document["steps"]] == ["call-1", "call-2"]


def test_a_line_is_a_line_for_programs_that_end_it_at_other_characters_too() -> None:
    """`datasets` divides a session with str.splitlines."""
    lines = as_pi(labelled(parsed(DOCUMENT)), SYNTHETIC)
    text = b"".join(lines).decode()
    assert [json.loads(line) for line in text.splitlines()] == [json.loads(line) for line in lines]
    again = read(text.encode()).session
    assert again is not None
    assert again.steps[1]["reflection_text"] == "4\u2028\x85"


def test_an_action_in_the_text_stays_one() -> None:
    steps = [{"source": "agent", "message": "ls -l", "observation": {"results": [{"content": "a.txt"}]}}]
    session = labelled(parsed(DOCUMENT | {"steps": steps}))
    document = as_atif(session, SYNTHETIC)
    assert document is not None
    assert document["steps"][0]["message"] == "ls -l"
    assert document["steps"][0]["observation"] == {"results": [{"content": "a.txt"}]}
    again = parsed(json.loads(encode_json(document))).steps
    assert [(step["action_text"], step["reflection_text"]) for step in again] == [("ls -l", "a.txt")]
    _, call, result, _ = map(json.loads, as_pi(session, SYNTHETIC))
    assert call["message"]["content"][0]["arguments"] == {"action": "ls -l"}
    assert result["message"]["toolCallId"] == call["message"]["content"][0]["id"]
