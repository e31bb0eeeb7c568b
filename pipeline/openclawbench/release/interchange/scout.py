"""A labelled trajectory as a row of Inspect Scout's transcript table; the label has columns of its own.

Message ids are `step-<step_id>` and `turn-<user_turn>`, so that a scanner's citations can be compared with our
evidence. `trust_content` is false: an agent's text is shown as plain text."""

import re
from typing import Any

import msgspec
import polars as pl

from openclawbench.base.canonical_json import canonical_json
from openclawbench.release.interchange.session import (
    Labelled,
    Row,
    arguments_of,
    as_object,
    definitions_of,
    result_text,
    without_nulls,
)

TRANSCRIPT = {
    "transcript_id": pl.String,
    "source_type": pl.String,
    "source_id": pl.String,
    "source_uri": pl.String,
    "date": pl.String,
    "task_set": pl.String,
    "task_id": pl.String,
    "task_repeat": pl.Int64,
    "agent": pl.String,
    "agent_args": pl.String,
    "model": pl.String,
    "score": pl.String,
    "success": pl.Boolean,
    "message_count": pl.Int64,
    "total_time": pl.Float64,
    "total_tokens": pl.Int64,
    "error": pl.String,
    "trust_content": pl.Boolean,
    "messages": pl.String,
    "events": pl.String,  # none: the viewer asks for the column all the same
}
LABEL = {
    "is_anomalous": pl.Boolean,
    "anomaly_type_l1": pl.String,
    "anomaly_type_l2": pl.String,
    "quality_tier": pl.String,
    "review_cause": pl.String,
    "severity": pl.String,
    "recoverability": pl.String,
    "slice_label": pl.String,
}
SCHEMA = pl.Schema(TRANSCRIPT | LABEL | {"openclawbench": pl.String})
ODD = re.compile(r"[^A-Za-z0-9._-]")
SUCCESS = {"pass": True, "fail": False}


def as_scout(session: Labelled, synthetic: str) -> Row:
    """The row."""
    row, label, run = session.trajectory, session.master, session.trajectory["run"]
    chat = [message for item in session.in_order() for message in messages(session, item, synthetic)]
    arguments = {"version": row["harness"]["version"], "tool_definitions": definitions_of(row["harness"])}
    name = f"{row['source_model']}/{row['trajectory_id']}"
    return {
        "transcript_id": f"{plain(row['source_model'])}:{plain(row['trajectory_id'])}",
        "source_type": "openclawbench",
        "source_id": row["source_format"],
        "source_uri": f"openclawbench:{name}",
        "date": run["started_at"],
        "task_set": label["subset"],
        "task_id": label["task_id"],
        "task_repeat": label["attempt"],
        "agent": session.agent,
        "agent_args": msgspec.json.encode(known).decode() if (known := without_nulls(arguments)) else None,
        "model": row["models"][0] if row["models"] else row["source_model"],
        "score": label["oracle_outcome"],
        "success": SUCCESS.get(label["oracle_outcome"] or ""),
        "message_count": len(chat),
        "total_time": run["wall_time_s"],
        "total_tokens": run["total_tokens"],
        "error": run["first_provider_error"],
        "trust_content": False,
        "messages": msgspec.json.encode(chat).decode(),
        "events": "[]",
        **{column: label[column] for column in LABEL},
        "openclawbench": canonical_json(session.label),
    }


def plain(name: str) -> str:
    """A name as a part of the viewer's addresses, where even an escaped slash would end it: characters other than
    letters, digits, `.`, `_` and `-` become `~<hexadecimal number>~`."""
    return ODD.sub(lambda match: f"~{ord(match[0]):x}~", name)


def messages(session: Labelled, item: Row | list[Row], synthetic: str) -> list[Row]:
    """Chat messages of a user turn, or of an agent message with its results."""
    if isinstance(item, dict):
        turn = {"id": f"turn-{item['user_turn']}", "role": "user", "content": item["raw_text"]}
        return [turn | ({"metadata": {"timestamp": item["timestamp"]}} if item["timestamp"] else {})]
    ids = session.call_ids
    results = [tool(step, ids, synthetic) for step in item if step["has_result"]]
    return results if item[0]["orphan"] else [assistant(item, ids), *results]


def assistant(steps: list[Row], ids: dict[int, str]) -> Row:
    """A message of the agent: its text and calls."""
    first = steps[0]
    reply = first["action_kind"] == "reply"
    spoken = (first["action_text"] if reply else first["narration"]) or ""
    content: Any = spoken
    if first["thinking"]:
        content = [{"type": "reasoning", "reasoning": first["thinking"]}, {"type": "text", "text": spoken}]
    metadata = {"timestamp": first["timestamp"], "usage": first["usage"] and without_nulls(first["usage"])}
    message = {"id": f"step-{first['step_id']}", "role": "assistant", "content": content}
    message |= without_nulls({"model": first["model"], "metadata": without_nulls(metadata) or None})
    return message if reply else message | {"tool_calls": [call(step, ids) for step in steps]}


def call(step: Row, ids: dict[int, str]) -> Row:
    """A tool call."""
    arguments = as_object(arguments_of(step))
    name = step["tool_name_raw"] or ""
    return {"id": ids[step["step_id"]], "function": name, "arguments": arguments, "type": "function"}


def tool(step: Row, ids: dict[int, str], synthetic: str) -> Row:
    """The result of a call."""
    back = result_text(step, synthetic) or ""
    error = {"type": "unknown", "message": back} if step["result_is_error"] else None
    message = {
        "id": f"result-{step['step_id']}",
        "role": "tool",
        "content": back,
        "tool_call_id": ids[step["step_id"]],
    }
    return message | without_nulls({"function": step["tool_name_raw"], "error": error})
