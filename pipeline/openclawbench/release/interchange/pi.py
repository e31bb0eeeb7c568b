"""A labelled trajectory as a Pi/OpenClaw session (JSONL, version 3), for Pi and for trace viewers; the label is a
`custom` entry.

Kept: steps, texts and their position beside calls, calls with their ids and arguments, results, errors, details,
models, what each message used, times. A time that is not known is left out, and so is a model. Pi adds up the usage of
every message: what is not known is 0 there, as Pi itself writes it."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from openclawbench.release.interchange.session import (
    OPENCLAW,
    Labelled,
    Row,
    arguments_of,
    details_of,
    encode_json,
    result_text,
    without_nulls,
)

VERSION = 3
LABEL = "openclawbench:label"
# A viewer recognizes an OpenClaw session by this folder in `cwd`; the tables do not have the session's real folder.
OPENCLAW_FOLDER = "/.openclaw/workspace"


def as_pi(session: Labelled, synthetic: str) -> list[bytes]:
    """The lines of the session file."""
    row = session.trajectory
    is_openclaw = row["source_format"].startswith(OPENCLAW)
    header = {
        "type": "session",
        "version": VERSION,
        "id": row["session_id"] or row["trajectory_id"],
        "timestamp": row["run"]["started_at"],  # null where it is not known: a session begins with this field
        "cwd": OPENCLAW_FOLDER if is_openclaw else "/",
    } | ({"harness": OPENCLAW} if is_openclaw else {})
    lines, parent = [header], None
    for number, (time, entry) in enumerate(entries(session, synthetic), start=1):
        own = f"{number:08x}"
        named = {"type": entry["type"], "id": own, "parentId": parent} | without_nulls({"timestamp": time})
        if time is not None and "message" in entry:
            entry["message"]["timestamp"] = milliseconds(time)
        lines.append(named | entry)
        parent = own
    return [encode_json(line) + b"\n" for line in lines]


def milliseconds(time: str) -> int:
    """A time as milliseconds since 1970."""
    return round(datetime.fromisoformat(time).timestamp() * 1000)


def entries(session: Labelled, synthetic: str) -> Iterator[tuple[str | None, Row]]:
    """(time, entry) of each record in order, the label last."""
    ids = session.call_ids
    for item in session.in_order():
        if isinstance(item, dict):
            yield item["timestamp"], message({"role": "user", "content": [text(item["raw_text"])]})
            continue
        if not item[0]["orphan"]:
            yield item[0]["timestamp"], message(agent_message(item, ids))
        for step in item:
            if step["has_result"]:
                yield step["timestamp"] if step["orphan"] else None, message(result(step, ids, synthetic))
    yield None, {"type": "custom", "customType": LABEL, "data": session.label}


def agent_message(steps: list[Row], ids: dict[int, str]) -> Row:
    """One message of the agent, its blocks in order."""
    first = steps[0]
    thinking = [{"type": "thinking", "thinking": first["thinking"]}] if first["thinking"] else []
    provider, _, name = (first["model"] or "").partition("/")
    named = {"provider": provider, "model": name} if name else {"model": provider} if provider else {}
    if first["action_kind"] == "reply":
        content = [*thinking, text(first["action_text"])]
        stop = "error" if first["partial"] else "stop"
    else:
        before, after = narration(first)
        content = [*thinking, *before, *(call(step, ids) for step in steps), *after]
        stop = "toolUse"
    return {"role": "assistant", "content": content} | named | {"usage": usage(first["usage"]), "stopReason": stop}


def usage(used: Row | None) -> Row:
    """What a message used, as Pi counts it: its input leaves out what the cache had."""
    known = {name: value or 0 for name, value in (used or {}).items()}
    cached, written, output = (known.get(f"{name}_tokens", 0) for name in ("cached", "cache_write", "output"))
    uncached = max(known.get("input_tokens", 0) - cached - written, 0)
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": known.get("cost_usd", 0)}
    counts = {"input": uncached, "output": output, "cacheRead": cached, "cacheWrite": written}
    reasoning = {"reasoning": known["reasoning_tokens"]} if known.get("reasoning_tokens") else {}
    return counts | reasoning | {"totalTokens": known.get("total_tokens", 0), "cost": cost}


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


def call(step: Row, ids: dict[int, str]) -> Row:
    """A call, its arguments on one line."""
    arguments: Any = arguments_of(step)
    if b"\n" in bytes(arguments) or b"\r" in bytes(arguments):
        arguments = msgspec.Raw(msgspec.json.format(bytes(arguments), indent=-1))
    return {"type": "toolCall", "id": ids[step["step_id"]], "name": step["tool_name_raw"] or "", "arguments": arguments}


def result(step: Row, ids: dict[int, str], synthetic: str) -> Row:
    """The result of a call."""
    back = result_text(step, synthetic)
    details = {name: msgspec.json.decode(value) for name, value in details_of(step).items()}
    return {
        "role": "toolResult",
        "toolCallId": ids[step["step_id"]],
        "toolName": step["tool_name_raw"] or "",
        "content": [] if back is None else [text(back)],
    } | without_nulls({"details": details or None, "isError": step["result_is_error"]})


def text(words: str) -> Row:
    """A text block."""
    return {"type": "text", "text": words}


def message(content: Row) -> Row:
    """A message entry."""
    return {"type": "message", "message": content}
