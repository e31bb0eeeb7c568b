"""Trajectories of mini-swe-agent: calls in the text and in `tool_calls`, what comes back, how the run ended."""

import json
from typing import Any

import pytest

from openclawbench.records.session import RunSummary, Step, UserTurn
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.base import MalformedSession, ParsedSession
from openclawbench.sources.mini_swe_agent import MiniSweAgent
from openclawbench.tables.schema import from_records

RULES, MINI = NormalizeRules.load(), MiniSweAgent()
KEY = {"source_model": "m", "trajectory_id": "t"}
TASK: list[dict[str, Any]] = [{"role": "system", "content": "You are helpful."}, {"role": "user", "content": "Fix it."}]


def document(*messages: Any, status: str = "Submitted", **more: Any) -> dict[str, Any]:
    info = {"exit_status": status, "submission": "diff", "mini_version": "1.9", "model_stats": {"instance_cost": 0.25}}
    info["config"] = {"model": {"model_name": "vendor/model"}}
    return {"info": info, "messages": [*TASK, *messages], "instance_id": "a__b-1", **more}


def parse(value: dict[str, Any], indent: int | None = None) -> ParsedSession:
    assert MINI.detect(value)
    session = MINI.parse(json.dumps(value, indent=indent).encode(), {}, RULES)
    assert session.records_in == len(value["messages"]) + 1 == sum(session.record_counts.values())
    from_records([KEY | step for step in session.steps], Step)
    from_records([KEY | turn for turn in session.user_turns], UserTurn)
    assert set(session.run) == set(RunSummary.model_fields)
    return session


def act(command: str) -> dict[str, Any]:
    return {"role": "assistant", "content": f"THOUGHT: look\n\n```bash\n{command}\n```"}


def back(code: int, output: str) -> dict[str, Any]:
    return {"role": "user", "content": f"<returncode>{code}</returncode>\n<output>\n{output}</output>"}


@pytest.mark.parametrize("indent", [None, 2])
def test_a_block_of_shell_is_a_call_and_the_next_message_its_result(indent: int | None) -> None:
    session = parse(document(act("ls"), back(0, "a"), act("submit"), {"role": "user", "content": "diff"}), indent)
    first, last = session.steps
    assert (first["tool_name_raw"], first["arguments"], first["narration"]) == (
        "bash",
        '{"command": "ls"}',
        "THOUGHT: look",
    )
    assert first["reflection_text"] == "<returncode>0</returncode>\n<output>\na</output>"
    assert last["reflection_text"] == "diff"
    assert [turn["text"] for turn in session.user_turns] == ["Fix it."]
    assert session.task["task_id"] == "a__b-1"
    assert (session.models, session.session_version) == (["vendor/model"], "1.9")
    assert (session.run["end"], session.run["stop_reason"], session.run["cost_usd"]) == ("completed", "Submitted", 0.25)


def test_release_2_has_calls_and_results_of_its_own() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    result = {
        "role": "tool",
        "tool_call_id": "c",
        "content": '{"returncode": 2, "output": "no"}',
        "extra": {"returncode": 2},
    }
    handed_in = {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted", "submission": "diff"}}
    answer = {"role": "assistant", "content": None, "tool_calls": [call], "extra": {"timestamp": 1767225600.5}}
    session = parse(document(answer, result, answer, handed_in, trajectory_format="mini-swe-agent-1.1"))
    first, last = session.steps
    assert (first["result_details"], first["timestamp"]) == ('{"exitCode": 2}', "2026-01-01T00:00:00.500Z")
    assert last["reflection_text"] == "diff"


def test_what_the_program_says_of_a_malformed_answer_is_nobodys_turn() -> None:
    talk = {"role": "assistant", "content": "I am done."}
    error = {"role": "user", "content": "Expected exactly 1 action, found 0."}
    session = parse(document(talk, error, act("ls"), back(1, ""), status="LimitsExceeded"))
    assert [step["action_kind"] for step in session.steps] == ["reply", "tool_call"]
    assert len(session.user_turns) == 1
    assert (session.run["end"], session.run["stop_reason"]) == ("error", "LimitsExceeded")


def test_one_beside_the_trajectory_that_harbor_made_of_it_is_not_read() -> None:
    path, beside = "m/t/agent/mini.traj.json", "m/t/agent/trajectory.json"
    assert MINI.find_sidecars(path, frozenset({path})) == {}
    context = MINI.read_context({}, path, dict.fromkeys(MINI.find_sidecars(path, frozenset({path, beside}))))
    with pytest.raises(MalformedSession) as caught:
        MINI.parse(json.dumps(document(act("ls"))).encode(), context, RULES)
    assert caught.value.fault.reason == "beside_trajectory"


def test_other_documents_with_messages_are_not_claimed() -> None:
    for value in ({"messages": []}, {"messages": [], "info": {"exit_status": "a"}}, {"info": {}}, []):
        assert not MINI.detect(value)
