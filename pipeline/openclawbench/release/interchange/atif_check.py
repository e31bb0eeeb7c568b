"""Checks that a document is ATIF v1.7: only known fields, and the rules across fields (Harbor's RFC 1)."""

from datetime import datetime
from typing import Any, Literal

import msgspec


class Closed(msgspec.Struct, forbid_unknown_fields=True):
    """An object with only these fields."""


class Agent(Closed):
    name: str
    version: str
    model_name: str | None = None
    tool_definitions: list[dict[str, Any]] | None = None
    extra: dict[str, msgspec.Raw] | None = None


class ToolCall(Closed):
    tool_call_id: str
    function_name: str
    arguments: dict[str, msgspec.Raw]
    extra: dict[str, msgspec.Raw] | None = None


class Result(Closed):
    source_call_id: str | None = None
    content: str | list[Any] | None = None
    subagent_trajectory_ref: list[Any] | None = None
    extra: dict[str, msgspec.Raw] | None = None


class Observation(Closed):
    results: list[Result]


class Step(Closed):
    step_id: int
    source: Literal["system", "user", "agent"]
    message: str | list[Any]
    timestamp: str | None = None
    model_name: str | None = None
    reasoning_effort: str | float | None = None
    reasoning_content: str | None = None
    tool_calls: list[ToolCall] | None = None
    observation: Observation | None = None
    metrics: dict[str, Any] | None = None
    is_copied_context: bool | None = None
    llm_call_count: int | None = None
    extra: dict[str, msgspec.Raw] | None = None


class FinalMetrics(Closed):
    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = None
    extra: dict[str, msgspec.Raw] | None = None


class Document(Closed):
    schema_version: Literal["ATIF-v1.7"]
    agent: Agent
    steps: list[Step]
    session_id: str | None = None
    trajectory_id: str | None = None
    notes: str | None = None
    final_metrics: FinalMetrics | None = None
    continued_trajectory_ref: str | None = None
    subagent_trajectories: list[Any] | None = None
    extra: dict[str, msgspec.Raw] | None = None


DOCUMENT = msgspec.json.Decoder(Document)
AGENT_ONLY = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")
MODEL_ONLY = ("metrics", "reasoning_content")  # absent if no model call produced the agent's step


def fault(data: bytes) -> str | None:
    """The first fault of a document; None if it is valid."""
    try:
        document = DOCUMENT.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        return str(error)
    if not document.steps:
        return "has no step"
    for number, step in enumerate(document.steps, start=1):
        if step.step_id != number:
            return f"step {number} is called {step.step_id}"
        if first_fault := step_fault(step):
            return f"step {number}: {first_fault}"
    return None


def step_fault(step: Step) -> str | None:
    """The first fault of a step; None if it is valid."""
    if step.source != "agent" and (extra := present_fields(step, AGENT_ONLY)):
        return f"{extra[0]} is for steps of the agent"
    if step.source == "agent" and step.llm_call_count == 0 and (extra := present_fields(step, MODEL_ONLY)):
        return f"{extra[0]} stands where no model was called"
    call_ids = {call.tool_call_id for call in step.tool_calls or []}
    for result in step.observation.results if step.observation else []:
        if result.source_call_id is not None and result.source_call_id not in call_ids:
            return f"source_call_id {result.source_call_id} is not a call of this step"
    try:
        datetime.fromisoformat(step.timestamp or "1970-01-01")
    except ValueError:
        return f"timestamp {step.timestamp} is not ISO 8601"
    return None


def present_fields(step: Step, names: tuple[str, ...]) -> list[str]:
    """Those of the fields that the object has."""
    return [name for name in names if getattr(step, name) is not None]
