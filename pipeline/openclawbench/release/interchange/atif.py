"""A labelled trajectory as an ATIF v1.7 document; the label is in `extra.openclawbench`.

Kept: agent, version and tools as the source names them, steps, times, texts, calls with their ids and arguments as
written, results, errors, details, references to sub-agents, what each message used. The format cannot express text
after a call (it is put before it), the name of a tool whose call is missing, and arguments that are not an object."""

from typing import Any

import msgspec

from openclawbench.release.interchange.session import (
    Labelled,
    Row,
    arguments_of,
    as_object,
    definitions_of,
    details_of,
    is_in_words,
    result_text,
    without_nulls,
)
from openclawbench.sources.atif.records import OWN_LABELS, SUBAGENTS

VERSION = "ATIF-v1.7"


def as_atif(session: Labelled, synthetic: str) -> Row | None:
    """The document; None if the trajectory is empty, because the format requires a step."""
    row = session.trajectory
    steps = [
        user_step(item) if isinstance(item, dict) else agent_step(session, item, synthetic)
        for item in session.in_order()
    ]
    if not steps:
        return None
    agent = {"name": session.agent, "version": row["harness"]["version"] or "unknown"}
    agent |= without_nulls({"tool_definitions": definitions_of(row["harness"])})
    spoken = {step["message_index"]: step for step in reversed(session.steps) if not step["orphan"]}
    if len(row["models"]) == 1 and all(step["model"] for step in spoken.values()):
        agent["model_name"] = row["models"][0]  # of every message that names none
    return {
        "schema_version": VERSION,
        "session_id": row["session_id"] or row["trajectory_id"],
        "trajectory_id": row["trajectory_id"],
        "agent": agent,
        "steps": [{"step_id": number} | step for number, step in enumerate(steps, start=1)],
        "final_metrics": final_metrics(row["run"]),
        "extra": {
            OWN_LABELS: session.label,
            "source": {"format": row["source_format"], "format_version": row["session_version"]},
        },
    }


def user_step(turn: Row) -> Row:
    """A message of the user, as written."""
    message = {"source": "user", "message": turn["raw_text"], "extra": {OWN_LABELS: {"kinds": turn["kinds"]}}}
    return message | without_nulls({"timestamp": turn["timestamp"]})


def agent_step(session: Labelled, steps: list[Row], synthetic: str) -> Row:
    """One message of the agent: a reply, calls with their results, or a result without a call."""
    first = steps[0]
    message: Row = {"source": "agent"} | without_nulls({"timestamp": first["timestamp"]})
    extra: Row = {OWN_LABELS: {"steps": session.described(steps)}}
    if first["orphan"]:
        extra |= {"openclaw_role": "toolResult", "tool_call_id": first["call_id"] or f"orphan-{first['step_id']}"}
        step_fields = {"message": "", "llm_call_count": 0, "observation": {"results": [result(first, synthetic)]}}
        return message | step_fields | {"extra": extra}
    if first["partial"]:
        extra["stop_reason"] = "error"
    reply = first["action_kind"] == "reply"
    in_words = reply or is_in_words(first)
    message["message"] = (first["action_text"] if in_words else first["narration"]) or ""
    known = {"model_name": first["model"], "reasoning_content": first["thinking"], "metrics": metrics(first["usage"])}
    message |= without_nulls(known)
    ids = session.call_ids
    if not in_words:
        message["tool_calls"] = [call(step, ids) for step in steps]
    answered = [step for step in steps if step["has_result"]]
    named = [{} if in_words else {"source_call_id": ids[step["step_id"]]} for step in answered]
    if results := [own | result(step, synthetic) for own, step in zip(named, answered, strict=True)]:
        message["observation"] = {"results": results}
    return message | {"extra": extra}


def call(step: Row, ids: dict[int, str]) -> Row:
    """A tool call."""
    arguments = as_object(arguments_of(step))
    return {
        "tool_call_id": ids[step["step_id"]],
        "function_name": step["tool_name_raw"] or "",
        "arguments": arguments,
    }


def result(step: Row, synthetic: str) -> Row:
    """The result of a call; its `extra` holds the details and whether it was an error."""
    details: dict[str, Any] = dict(details_of(step))
    references = references_in(details)
    if references:
        del details[SUBAGENTS]
    extra = details | without_nulls({"isError": step["result_is_error"]})
    row = {"content": result_text(step, synthetic), "subagent_trajectory_ref": references, "extra": extra or None}
    return without_nulls(row)


def references_in(details: dict[str, Any]) -> list[Row] | None:
    """References to the trajectories of sub-agents that a result stands for; None where one of them cannot be
    followed, which the format requires: they stay details then."""
    references: Any = msgspec.json.decode(details.get(SUBAGENTS, b"null"))
    are_whole = isinstance(references, list) and all(
        isinstance(entry, dict) and (entry.get("trajectory_id") or entry.get("trajectory_path")) for entry in references
    )
    return references if are_whole and references else None


def metrics(usage: Row | None) -> Row | None:
    """What a message used."""
    if usage is None:
        return None
    row = {
        "prompt_tokens": usage["input_tokens"],
        "completion_tokens": usage["output_tokens"],
        "cached_tokens": usage["cached_tokens"],
        "cost_usd": usage["cost_usd"],
        "extra": extra_metrics(usage, "") or None,
    }
    return without_nulls(row) or None


def extra_metrics(usage: Row, prefix: str) -> Row:
    """Tokens that the format has no fields for, under names that Harbor's agents use."""
    names = {
        "cache_creation_input_tokens": usage["cache_write_tokens"],
        "reasoning_tokens": usage["reasoning_tokens"],
    }
    return {f"{prefix}{name}": value for name, value in names.items() if value is not None}


def final_metrics(run: Row) -> Row:
    """Totals, as far as the session has them."""
    names = {
        "total_prompt_tokens": run["input_tokens"],
        "total_completion_tokens": run["output_tokens"],
        "total_cached_tokens": run["cached_tokens"],
        "total_cost_usd": run["cost_usd"],
        "extra": extra_metrics(run, "total_") or None,
    }
    return without_nulls(names)
