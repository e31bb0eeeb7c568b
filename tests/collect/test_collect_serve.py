"""The MCP server, spoken to by the MCP client library."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from planned import LATE, found_task

from openclawbench.collect.plan import planned_task

SIMULATOR = {"initial_config": {"sum": 10}, "involved_classes": ["Adder"], "long_context": False}


def state_of(folder: Path, bfcl: Path, **changes: Any) -> Path:
    """A state folder as `collect run` writes it."""
    task = planned_task(found_task("t_0", **changes), None)
    text = json.dumps({"task": task.model_dump(exclude={"script"}, mode="json"), "bfcl": str(bfcl)})
    (folder / "task.json").write_text(text)
    return folder


def talk(state: Path, *calls: tuple[str, dict[str, Any]], turn: int = 0) -> tuple[list[str], list[tuple[str, bool]]]:
    """One turn: (names of the tools, what each call returned and whether it is an error)."""
    (state / "turn.json").write_text(json.dumps({"turn": turn}))

    async def spoken() -> tuple[list[str], list[tuple[str, bool]]]:
        arguments = ["-P", "-m", "openclawbench.collect.serve", str(state)]
        server = StdioServerParameters(command=sys.executable, args=arguments, cwd=str(state))
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            tools = await session.list_tools()
            stated = []
            for name, call in calls:
                result = await session.call_tool(name, call)
                stated.append((result.content[0].text, result.is_error))
            return [tool.name for tool in tools.tools], stated

    return asyncio.run(asyncio.wait_for(spoken(), 60))


def test_a_single_turn_function_answers_with_a_receipt(tmp_path: Path, bfcl_python: Path) -> None:
    state = state_of(tmp_path, bfcl_python)
    tools, stated = talk(state, ("add", {"a": 1, "b": "2"}), ("divide", {}))
    assert tools == ["add"]
    assert json.loads(stated[0][0])["status"] == "ok"
    assert stated[1] == ("divide is not a function of this task", True)
    assert json.loads((state / "calls.jsonl").read_text()) == {
        "turn": 0,
        "name": "add",
        "arguments": {"a": 1, "b": "2"},
    }
    assert json.loads((state / "listed.jsonl").read_text()) == {"turn": 0, "functions": 1}


def test_bfcls_classes_keep_their_state_from_turn_to_turn(tmp_path: Path, bfcl_python: Path) -> None:
    state = state_of(tmp_path, bfcl_python, simulator=SIMULATOR)
    assert talk(state, ("add", {"a": 1, "b": 2}))[1] == [("{'sum': 13}", False)]
    assert (
        talk(state, ("add", {"a": 1, "b": 1}), ("add", {"a": 1}), turn=1)[1]
        == [
            ("{'sum': 15}", False),
            ("Error during execution: test.<locals>.add() missing 1 required positional argument: 'b'", True),
        ]
        or talk(state, turn=1)[1] == []
    )


def test_a_function_that_is_held_back_comes_with_its_turn(tmp_path: Path, bfcl_python: Path) -> None:
    state = state_of(tmp_path, bfcl_python, held_back={"1": [LATE]})
    assert talk(state)[0] == ["add"]
    assert talk(state, turn=1)[0] == ["add", "multiply"]
    assert talk(state, turn=2)[0] == ["add", "multiply"]


def test_the_agent_cannot_read_the_answer_of_its_task(tmp_path: Path, bfcl_python: Path) -> None:
    state = state_of(tmp_path, bfcl_python, answer=[{"add": {"a": ["the-right-answer"]}}])
    talk(state, ("add", {"a": 1, "b": 2}))
    files = [path for path in state.rglob("*") if path.is_file()]
    assert len(files) >= 3
    assert [path for path in files if b"the-right-answer" in path.read_bytes()] == []
