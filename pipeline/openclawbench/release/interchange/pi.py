"""A labelled trajectory as a Pi/OpenClaw session (JSONL, version 3), for trace viewers; the label is a `custom` entry.

Kept: steps, texts and their position beside calls, arguments, results, errors, details. For a time that the tables do
not have, the latest known one is used."""

from collections.abc import Iterator
from typing import Any

import msgspec

from openclawbench.release.interchange.session import (
    Labelled,
    Row,
    arguments_of,
    details_of,
    result_text,
    without_nulls,
)

VERSION = 3
LABEL = "openclawbench:label"
# A viewer recognizes an OpenClaw session by this folder in `cwd`; the tables do not have the session's real folder.
OPENCLAW_FOLDER = "/.openclaw/workspace"
NO_TIME = "1970-01-01T00:00:00.000Z"


def as_pi(session: Labelled, synthetic: str) -> list[bytes]:
    """The lines of the session file."""
    row = session.trajectory
    time = row["run"]["started_at"] or next((step["timestamp"] for step in session.steps if step["timestamp"]), NO_TIME)
    is_openclaw = row["source_format"].startswith("openclaw")
    header = {
        "type": "session",
        "version": VERSION,
        "id": row["session_id"] or row["trajectory_id"],
        "timestamp": time,
        "cwd": OPENCLAW_FOLDER if is_openclaw else "/",
    } | ({"harness": "openclaw"} if is_openclaw else {})
    model = row["models"][0] if len(row["models"]) == 1 else None
    lines, parent = [header], None
    for number, (moment, entry) in enumerate(entries(session, model, synthetic), start=1):
        time, own = moment or time, f"{number:08x}"
        lines.append({"type": entry["type"], "id": own, "parentId": parent, "timestamp": time} | entry)
        parent = own
    return [msgspec.json.encode(line) + b"\n" for line in lines]


def entries(session: Labelled, model: str | None, synthetic: str) -> Iterator[tuple[str | None, Row]]:
    """(time, entry) of each record in order, the label last."""
    for item in session.in_order():
        if isinstance(item, dict):
            yield None, message({"role": "user", "content": [text(item["raw_text"])]})
            continue
        if not item[0]["orphan"]:
            yield item[0]["timestamp"], message(agent_message(item, model))
        for step in item:
            if step["has_result"]:
                yield step["timestamp"] if step["orphan"] else None, message(result(step, synthetic))
    yield None, {"type": "custom", "customType": LABEL, "data": session.label}


def agent_message(steps: list[Row], model: str | None) -> Row:
    """One message of the agent, its blocks in order."""
    first = steps[0]
    thinking = [{"type": "thinking", "thinking": first["thinking"]}] if first["thinking"] else []
    provider, _, name = (model or "").rpartition("/")
    named = {"provider": provider or None, "model": name or None}
    if first["action_kind"] == "reply":
        content = [*thinking, text(first["action_text"])]
        stop = "error" if first["partial"] else "stop"
    else:
        before, after = narration(first)
        content = [*thinking, *before, *map(call, steps), *after]
        stop = "toolUse"
    return {"role": "assistant", "content": content} | without_nulls(named) | {"stopReason": stop}


def narration(step: Row) -> tuple[list[Row], list[Row]]:
    """Text blocks before and after the calls of a message. If text is on both sides, it is divided after its
    first line that is not blank, because the original blocks are not known."""
    spoken, position = step["narration"], step["narration_position"]
    if spoken is None:
        return [], []
    parts = spoken.split("\n")
    for at in range(1, len(parts)) if position == "both" else []:
        before, after = "\n".join(parts[:at]), "\n".join(parts[at:])
        if before.strip() and after.strip():
            return [text(before)], [text(after)]
    return ([], [text(spoken)]) if position == "after" else ([text(spoken)], [])


def call(step: Row) -> Row:
    """A call, its arguments on one line."""
    arguments: Any = arguments_of(step)
    if b"\n" in bytes(arguments) or b"\r" in bytes(arguments):
        arguments = msgspec.Raw(msgspec.json.format(bytes(arguments), indent=-1))
    return {"type": "toolCall", "id": call_id(step), "name": step["tool_name_raw"] or "", "arguments": arguments}


def result(step: Row, synthetic: str) -> Row:
    """The result of a call."""
    back = result_text(step, synthetic)
    details = {name: msgspec.json.decode(value) for name, value in details_of(step).items()}
    return {
        "role": "toolResult",
        "toolCallId": call_id(step),
        "toolName": step["tool_name_raw"] or "",
        "content": [] if back is None else [text(back)],
    } | without_nulls({"details": details or None, "isError": step["result_is_error"]})


def call_id(step: Row) -> str:
    """An id of our own, because those of the session may repeat."""
    return f"call_{step['step_id']}"


def text(words: str) -> Row:
    """A text block."""
    return {"type": "text", "text": words}


def message(content: Row) -> Row:
    """A message entry."""
    return {"type": "message", "message": content}
