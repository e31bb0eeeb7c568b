"""A labelled trajectory as an ATIF v1.7 document; the label is in `extra.openclawbench`.

Kept: steps, texts, calls with their arguments as written, results, errors, details. The format cannot express text
after a call (it is put before it), the name of a tool whose call is missing, and arguments that are not an object."""

from openclawbench.release.interchange.session import (
    Labelled,
    Row,
    arguments_of,
    as_object,
    details_of,
    result_text,
    without_nulls,
)
from openclawbench.sources.atif.records import OWN_LABELS

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
    agent = {"name": row["source_format"], "version": row["session_version"] or "unknown"}
    if len(row["models"]) == 1:
        agent["model_name"] = row["models"][0]
    return {
        "schema_version": VERSION,
        "session_id": row["session_id"] or row["trajectory_id"],
        "trajectory_id": row["trajectory_id"],
        "agent": agent,
        "steps": [{"step_id": number} | step for number, step in enumerate(steps, start=1)],
        "final_metrics": final_metrics(row["run"]),
        "extra": {OWN_LABELS: session.label},
    }


def user_step(turn: Row) -> Row:
    """A message of the user, as written."""
    return {"source": "user", "message": turn["raw_text"], "extra": {OWN_LABELS: {"kinds": turn["kinds"]}}}


def agent_step(session: Labelled, steps: list[Row], synthetic: str) -> Row:
    """One message of the agent: a reply, calls with their results, or a result without a call."""
    first = steps[0]
    message: Row = {"source": "agent"} | without_nulls({"timestamp": first["timestamp"]})
    extra: Row = {OWN_LABELS: {"steps": session.described(steps)}}
    if first["orphan"]:
        extra |= {"openclaw_role": "toolResult", "tool_call_id": f"orphan-{first['step_id']}"}
        step_fields = {"message": "", "llm_call_count": 0, "observation": {"results": [result(first, synthetic)]}}
        return message | step_fields | {"extra": extra}
    if first["partial"]:
        extra["stop_reason"] = "error"
    reply = first["action_kind"] == "reply"
    message["message"] = (first["action_text"] if reply else first["narration"]) or ""
    message |= without_nulls({"reasoning_content": first["thinking"]})
    if not reply:
        message["tool_calls"] = [call(step) for step in steps]
    if results := [{"source_call_id": call_id(step)} | result(step, synthetic) for step in steps if step["has_result"]]:
        message["observation"] = {"results": results}
    return message | {"extra": extra}


def call(step: Row) -> Row:
    """A tool call."""
    arguments = as_object(arguments_of(step))
    return {"tool_call_id": call_id(step), "function_name": step["tool_name_raw"] or "", "arguments": arguments}


def result(step: Row, synthetic: str) -> Row:
    """The result of a call; its `extra` holds the details and whether it was an error."""
    extra = details_of(step) | without_nulls({"isError": step["result_is_error"]})
    return without_nulls({"content": result_text(step, synthetic), "extra": extra or None})


def call_id(step: Row) -> str:
    """An id of our own, because those of the session may repeat."""
    return f"call-{step['step_id']}"


def final_metrics(run: Row) -> Row:
    """Totals, as far as the session has them."""
    names = {
        "total_prompt_tokens": run["input_tokens"],
        "total_completion_tokens": run["output_tokens"],
        "total_cost_usd": run["cost_usd"],
    }
    return without_nulls(names)
