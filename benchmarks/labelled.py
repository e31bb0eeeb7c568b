"""Labelled events: cases of a command or tool call with the descriptors a careful reader gives it, as native sessions.

The format of a case is told in tests/golden/events/README.md. A case becomes a session as OpenClaw writes it, so that
the real stages read it like any other.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from openclawbench.errors import UnreadableInput
from openclawbench.records.vocabulary import AutoFlag, EventType, ToolStatus
from openclawbench.tables.record import Record

ANY = "*"  # any value but null
MODEL = {"provider": "labelled", "model": "labelled", "api": "openai-completions"}
TIME = "2026-03-01T09:00:00.000Z"


class Result(Record):
    """What a tool's result record holds."""

    text: str
    isError: bool  # the session's own name
    details: dict[str, Any] | None = None


class Action(Record):
    """One agent action: a call with its result, or a reply."""

    thinking: str | None = None
    narration: str | None = None
    reply: str | None = None
    tool_name: str | None = None
    arguments: dict[str, Any] | None = None
    result: Result | None = None


class Expected(Record):
    """The label. A field that is not set is not compared; a list holds values of which any one is right."""

    event_type: EventType
    also: list[EventType] = Field(default_factory=list)
    side_effect: bool | None = None
    tool_status: ToolStatus | list[ToolStatus] | None = None
    artifact_target: str | list[str | None] | None = None
    state_write_target: str | list[str | None] | None = None
    auto_flags: list[AutoFlag] = Field(default_factory=list)
    flags_optional: list[AutoFlag] = Field(default_factory=list)


class Context(Record):
    """Where a case happened."""

    release: str
    cwd: str


class Case(Action):
    """A labelled action with what came before it."""

    id: str
    context: Context
    user: str = "Please go on."
    before: list[Action] = Field(default_factory=list)
    same_message: bool = False
    followed: bool = False
    expected: Expected
    why: str


def read_cases(path: Path) -> list[Case]:
    """The cases of a file, in order. Raises UnreadableInput, with the line, for one that is not as the README says."""
    cases: list[Case] = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line:
            continue
        try:
            cases.append(Case.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "line"
            raise UnreadableInput(
                f"{path}:{number}: {where}: {first['msg']}. The fields of a case are told in README.md beside the file."
            ) from None
    return cases


def held_out(case_id: str) -> bool:
    """Whether a case is set aside: the first byte of the SHA-256 of its id decides."""
    return hashlib.sha256(case_id.encode()).digest()[0] % 3 == 0


def session(case: Case) -> bytes:
    """The case as a native session: a user message, the earlier actions, the labelled one, a user message if told."""
    messages: list[dict[str, Any]] = [user_message(case.user)]
    turns = [[action] for action in case.before]
    if case.same_message:
        turns[-1].append(case)
    else:
        turns.append([case])
    for number, turn in enumerate(turns):
        messages += agent_messages(turn, number)
    if case.followed:
        messages.append(user_message("And now?"))
    version = 4 if case.context.release == "2026.9.6" else 3
    records: list[dict[str, Any]] = [
        {"type": "session", "version": version, "id": case.id, "timestamp": TIME, "cwd": case.context.cwd}
    ]
    for number, message in enumerate(messages):
        parent = f"{number - 1:08x}" if number else None
        records.append(
            {"type": "message", "id": f"{number:08x}", "parentId": parent, "timestamp": TIME, "message": message}
        )
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def user_message(text: str) -> dict[str, Any]:
    """A user's message."""
    return {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 0}


def agent_messages(actions: list[Action], number: int) -> list[dict[str, Any]]:
    """One message of the model with its calls, and the results in call order."""
    content: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for place, action in enumerate(actions):
        call_id = f"call_{number}_{place}"
        if action.thinking is not None:
            content.append({"type": "thinking", "thinking": action.thinking})
        if action.narration is not None:
            content.append({"type": "text", "text": action.narration})
        if action.reply is not None:
            content.append({"type": "text", "text": action.reply})
            continue
        content.append(
            {"type": "toolCall", "id": call_id, "name": action.tool_name, "arguments": action.arguments or {}}
        )
        if action.result is not None:
            results.append(result_message(call_id, action, action.result))
    stop = "stop" if actions[-1].reply is not None else "toolUse"
    return [{"role": "assistant", "content": content, **MODEL, "stopReason": stop, "timestamp": 0}, *results]


def result_message(call_id: str, action: Action, result: Result) -> dict[str, Any]:
    """The record of a tool's result."""
    message: dict[str, Any] = {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": action.tool_name,
        "content": [{"type": "text", "text": result.text}] if result.text else [],
        "isError": result.isError,
        "timestamp": 0,
    }
    return message if result.details is None else message | {"details": result.details}
