"""The MCP server that gives an agent the functions of its current task. OpenClaw starts it once per user turn.

STATE/task.json is the task, STATE/turn.json the user turn. Functions of single-turn tasks have no implementation at
BFCL: a call is answered with a receipt. Functions of multi-turn tasks are BFCL's own classes, in a process of the
user's bfcl-eval; since this server ends with each turn, the calls made so far are kept in STATE/calls.jsonl and made
again.
"""

import asyncio
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from openclawbench.base.resources import how_to_install
from openclawbench.collect.bfcl import PROGRAMS, clean_environment
from openclawbench.errors import MissingExtra
from openclawbench.version import __version__

RECEIPT = json.dumps({"status": "ok", "note": "call received"})
CALLS = "calls.jsonl"
LISTED = "listed.jsonl"  # a line each time that the agent asked which functions there are
NO_FUNCTION = "is not a function of this task"


class TaskFunctions:
    """The functions of the task in its current turn, and what a call returns."""

    def __init__(self, state: Path) -> None:
        setup = json.loads((state / "task.json").read_text(encoding="utf-8"))
        self.task, self.bfcl = setup["task"], setup["bfcl"]
        turn_file = state / "turn.json"
        self.turn = json.loads(turn_file.read_text())["turn"] if turn_file.exists() else 0
        self.journal = state / CALLS
        self.functions = list(self.task["functions"])
        for turn, functions in self.task["held_back"].items():
            if int(turn) <= self.turn:
                self.functions += functions
        self.bfcl_names = {function["name"]: function["bfcl_name"] for function in self.functions}
        self.process: subprocess.Popen[str] | None = None
        if self.task["simulator"]:
            self.restore()

    def restore(self) -> None:
        """Start BFCL's classes and restore the state that the last turn left."""
        begin = {"task_id": self.task["task_id"], **self.task["simulator"]}
        self.process = subprocess.Popen(
            [self.bfcl, str(PROGRAMS / "bfcl_functions.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=clean_environment(),
        )
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(begin) + "\n")
        if self.journal.exists():
            for line in self.journal.read_text(encoding="utf-8").splitlines():
                call = json.loads(line)
                self.simulated(call["name"], call["arguments"])

    def simulated(self, name: str, arguments: dict[str, Any]) -> str:
        """The return value of BFCL's class."""
        assert self.process is not None and self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps({"name": name, "arguments": arguments}) + "\n")
        self.process.stdin.flush()
        return str(json.loads(self.process.stdout.readline())["text"])

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """(what the function returns, whether that is an error)."""
        if tool not in self.bfcl_names:
            return f"{tool} {NO_FUNCTION}", True
        name = self.bfcl_names[tool]
        with self.journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"turn": self.turn, "name": name, "arguments": arguments}) + "\n")
        if self.process is None:
            return RECEIPT, False
        text = self.simulated(name, arguments)
        return text, text.startswith(("Error during execution", '{"error"'))

    def close(self) -> None:
        """End BFCL's process."""
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
            self.process.wait(timeout=10)


def require_mcp() -> None:
    """Raise MissingExtra if the extra `collect` is not installed."""
    if importlib.util.find_spec("mcp") is None:
        raise MissingExtra(f"the MCP server of the tasks needs the package mcp. {how_to_install('collect')}.")


async def serve(state: Path) -> None:
    """Answer on stdin and stdout until the agent closes them."""
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    functions = TaskFunctions(state)

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        with (state / LISTED).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"turn": functions.turn, "functions": len(functions.functions)}) + "\n")
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=f["name"], description=f["description"], input_schema={"type": "object"} | f["parameters"]
                )
                for f in functions.functions
            ]
        )

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        text, is_error = functions.call(params.name, dict(params.arguments or {}))
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)

    server: Server[Any] = Server("bfcl", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)
    try:
        async with stdio_server() as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())
    finally:
        functions.close()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
