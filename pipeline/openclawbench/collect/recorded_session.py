"""Read what a collection needs from a recorded session: BFCL's calls by turn, usage, and how it ended."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from openclawbench.collect.plan import PREFIX, Task

MASK = "***"
NOT_FOUND = "Tool {} not found"  # OpenClaw's words
ENDED_BADLY = ("error", "aborted")
OWN_API = "cli"  # of a message in the place of a reply that OpenClaw words itself


@dataclass
class RecordedSession:
    """`turns`: a list a user turn, of what the agent said in it: a list of [BFCL name, arguments] or words."""

    turns: list[list[list[tuple[str, dict[str, Any]]] | str]] = field(default_factory=list)
    error: str | None = None  # of the model call that ended the session
    tokens_in: int = 0
    tokens_cached: int = 0  # of tokens_in
    tokens_out: int = 0
    seconds: float = 0.0  # from the first message to the last
    tool_calls: int = 0  # of any tool
    lost_arguments: list[str] = field(default_factory=list)  # tools that do not exist: only the result was recorded
    not_offered: list[str] = field(default_factory=list)  # functions of the task that OpenClaw said do not exist
    other_tools: set[str] = field(default_factory=set)  # OpenClaw's own, or anybody's, that ran


def read_session(content: bytes, task: Task, journal: bytes = b"") -> RecordedSession:
    """Reads OpenClaw's records of a session. Lines that are not messages are passed over, damaged ones too.

    `journal`: the calls that reached the MCP server. OpenClaw writes *** for an argument that looks secret, and makes
    the call with what the model said: such an argument is taken from there.
    """
    journal_calls = Journal(journal)
    bfcl_names = {function.name: function.bfcl_name for function in functions_of(task)}
    read, known_calls, stamps, has_replied = RecordedSession(), set(), [], False
    for record in messages(content):
        message, role = record["message"], record["message"].get("role")
        stamps.append(record.get("timestamp"))
        if role == "user":
            if not is_asked_again(text_of(message), task, read, has_replied):
                read.turns.append([])
            has_replied = False
        elif role == "assistant":
            usage = message["usage"] if isinstance(message.get("usage"), dict) else {}
            cached = usage.get("cacheRead") or 0
            read.tokens_in += (usage.get("input") or 0) + cached
            read.tokens_cached += cached
            read.tokens_out += usage.get("output") or 0
            if message.get("stopReason") in ENDED_BADLY:
                read.error = message.get("errorMessage") or message["stopReason"]
                continue
            if read.error and message.get("api") == OWN_API:
                continue
            read.error = None
            has_replied = has_replied or bool(message.get("content"))
            calls = [block for block in blocks_of(message) if block.get("type") == "toolCall"]
            known_calls |= {str(block.get("id")) for block in calls}
            read.tool_calls += len(calls)
            own = [
                journal_calls.unmasked(bfcl_name(call["name"], bfcl_names), call.get("arguments") or {})
                for call in calls
                if is_bfcl(call["name"])
            ]
            if read.turns and (own or not calls):
                read.turns[-1].append(own or text_of(message))
        elif role == "toolResult" and not is_bfcl(tool := message.get("toolName")):
            if not message.get("isError"):
                read.other_tools.add(str(tool))
        elif role == "toolResult":
            result_text = text_of(message)
            if result_text == NOT_FOUND.format(tool) and is_offered(
                task, tool.removeprefix(PREFIX), len(read.turns) - 1
            ):
                read.not_offered.append(tool)
            if str(message.get("toolCallId")) in known_calls:
                continue
            # OpenClaw does not record the call of a tool that does not exist, only what came back.
            read.lost_arguments.append(message["toolName"])
            if read.turns:
                read.turns[-1].append([(bfcl_name(message["toolName"], bfcl_names), {})])
    moments = moments_of(stamps)
    read.seconds = round(moments[-1].timestamp() - moments[0].timestamp(), 3) if moments else 0.0
    return read


def text_of(message: dict[str, Any]) -> str:
    """The text of a message."""
    return "".join(str(block.get("text") or "") for block in blocks_of(message) if block.get("type") == "text")


def is_asked_again(text: str, task: Task, read: RecordedSession, has_replied: bool) -> bool:
    """Whether a user message repeats the present turn of the task: after a failed or empty reply OpenClaw puts the
    user's words again, with words of its own behind them after an empty one."""
    turn = len(read.turns)
    if not turn or turn > len(task.turns) or not text.startswith(task.turns[turn - 1]):
        return False
    return not has_replied or turn == len(task.turns)


class Journal:
    """The calls that reached the MCP server, each of which is one call of the session."""

    def __init__(self, lines: bytes) -> None:
        self.calls = [call for call in map(object_of, lines.splitlines()) if "name" in call and "arguments" in call]

    def unmasked(self, name: str, recorded: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """(name, arguments) of a recorded call, with what was masked in it."""
        for place, call in enumerate(self.calls):
            if call["name"] == name and is_masked_form(recorded, call["arguments"]):
                return name, self.calls.pop(place)["arguments"]
        return name, recorded


def is_masked_form(recorded: Any, actual: Any) -> bool:
    """Whether a recorded value is the one of the call, but for text that OpenClaw masked: *** or first…last letters."""
    if isinstance(recorded, dict) and isinstance(actual, dict):
        return recorded.keys() == actual.keys() and all(is_masked_form(recorded[key], actual[key]) for key in actual)
    if isinstance(recorded, list) and isinstance(actual, list):
        return len(recorded) == len(actual) and all(map(is_masked_form, recorded, actual))
    if isinstance(recorded, str) and isinstance(actual, str) and recorded != actual:
        first, mark, last = recorded.partition("…")
        return recorded == MASK or (bool(mark) and actual.startswith(first) and actual.endswith(last))
    return bool(recorded == actual)


def messages(content: bytes) -> Iterator[dict[str, Any]]:
    """The message records of a session."""
    for line in content.splitlines():
        record = object_of(line)
        if record.get("type") == "message" and isinstance(record.get("message"), dict):
            yield record


def object_of(line: bytes) -> dict[str, Any]:
    """The JSON object of a line; empty if it is damaged or something else."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The content blocks of a message; a text is one, too. Anything else is passed over, and so is a call without a
    name."""
    content = message.get("content") or []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return [block for block in blocks if block.get("type") != "toolCall" or isinstance(block.get("name"), str)]


def moments_of(stamps: list[Any]) -> list[datetime]:
    """The times that can be read."""
    moments = []
    for stamp in stamps:
        with contextlib.suppress(ValueError, TypeError):
            moments.append(datetime.fromisoformat(stamp))
    return moments


def functions_of(task: Task) -> list[Any]:
    """Every function of the task, the held back ones too."""
    return [
        *task.functions,
        *(function for functions_of_turn in task.held_back.values() for function in functions_of_turn),
    ]


def is_offered(task: Task, name: str, turn: int) -> bool:
    """Whether the agent has the function in that turn (from 0)."""
    functions = [
        *task.functions,
        *(f for at, functions_of_turn in task.held_back.items() if at <= turn for f in functions_of_turn),
    ]
    return any(function.name == name for function in functions)


def is_bfcl(tool: object) -> bool:
    """Whether a tool is one of the task's functions; OpenClaw's own tools are not BFCL calls."""
    return isinstance(tool, str) and tool.startswith(PREFIX)


def bfcl_name(tool: str, bfcl_names: dict[str, str]) -> str:
    """BFCL's name of a function that the agent called."""
    name = tool.removeprefix(PREFIX)
    return bfcl_names.get(name, name)


def bfcl_result(read: RecordedSession, task: Task) -> Any:
    """`result` of a line of BFCL's result tree: the calls of each turn; of a single-turn task its calls or words."""

    def line(message: list[tuple[str, dict[str, Any]]] | str) -> Any:
        return message if isinstance(message, str) else [{name: json.dumps(arguments)} for name, arguments in message]

    if read.error is not None:
        return f"Error during inference: {read.error}"
    if task.simulator is not None:
        return [[line(part) for part in turn] for turn in read.turns]
    first_turn = read.turns[0] if read.turns else []
    # A single-turn checker reads one list of calls; an agent may make one call after the other where BFCL wants one
    # parallel message.
    calls = [call for part in first_turn if not isinstance(part, str) for call in line(part)]
    words = [part for part in first_turn if isinstance(part, str)]
    return calls or (words[-1] if words else "")
