"""Shapes of an ATIF document (1.0 to 1.7), and the texts in it. Unknown keys are ignored; `extra.openclawbench`, where
our own labels would stand, is never looked at."""

import json
from typing import Any

import msgspec

from openclawbench.sources.io.content_text import image_placeholder, slim_details
from openclawbench.sources.io.json_values import text_of
from openclawbench.sources.io.jsonl import decode_shape
from openclawbench.sources.stated_end import stated_end
from openclawbench.sources.step_builder import not_blank

OWN_LABELS = "openclawbench"
NULL = msgspec.Raw(b"null")
EXECUTED = {"exec_exit_code": "exitCode", "exec_status": "status", "exec_duration_ms": "durationMs"}
OF_ONLY_RESULT = ("is_error", "exit_code", "tool_result_is_error", "tool_result_metadata", "tool_metadata", "metadata")
SUBAGENTS = "subagentTrajectory"  # among the details of a result: references to the trajectories of sub-agents
REFERENCE = ("trajectory_id", "session_id", "trajectory_path")


class ToolCall(msgspec.Struct):
    """A call of a step."""

    tool_call_id: Any = None
    function_name: Any = None
    arguments: msgspec.Raw = NULL


class ToolResult(msgspec.Struct):
    """A result of a step's observation."""

    source_call_id: Any = None
    content: Any = None
    subagent_trajectory_ref: Any = None
    extra: msgspec.Raw = NULL


class Observation(msgspec.Struct):
    """What came back."""

    results: list[ToolResult] | None = None


class StepExtra(msgspec.Struct):
    """What Harbor's converters keep of a message and its results. Nothing else of `extra` is read."""

    is_sidechain: Any = None  # of Claude Code: the message is a sub-agent's
    agent_id: Any = None
    openclaw_role: Any = None
    stop_reason: Any = None
    tool_call_id: Any = None
    isError: Any = None
    exec_exit_code: Any = None
    exec_status: Any = None
    exec_duration_ms: Any = None
    # Of Harbor's converters of Claude Code and Codex, which keep here what they know of the step's only result, and of
    # each by its call.
    tool_result_is_error: Any = None
    tool_result_metadata: Any = None
    tool_metadata: Any = None
    metadata: Any = None
    tool_call_details: Any = None
    is_error: Any = None
    exit_code: Any = None


class AtifStep(msgspec.Struct):
    """One element of `steps`."""

    source: Any = None
    timestamp: Any = None
    model_name: Any = None
    message: Any = None
    reasoning_content: Any = None
    tool_calls: list[ToolCall] | None = None
    observation: Observation | None = None
    metrics: Any = None
    llm_call_count: Any = None
    is_copied_context: Any = None
    extra: msgspec.Raw = NULL


class Agent(msgspec.Struct):
    """Who acted."""

    name: Any = None
    version: Any = None
    model_name: Any = None
    tool_definitions: msgspec.Raw = NULL


class Document(msgspec.Struct):
    """The whole. Steps are decoded one by one, each from its own bytes."""

    steps: list[msgspec.Raw]
    schema_version: Any = None
    session_id: Any = None
    trajectory_id: Any = None
    agent: Agent | None = None
    final_metrics: Any = None
    continued_trajectory_ref: Any = None
    subagent_trajectories: list[msgspec.Raw] | None = None


# Tokens and USD in metrics -> where their keys are; the first that is there counts. Extra ones as Harbor's agents write
# them.
METRICS = {
    "input": ("prompt_tokens",),
    "cached": ("cached_tokens",),
    "cache_write": ("cache_write_tokens", "cache_creation_input_tokens", "cache_write_input_tokens"),
    "output": ("completion_tokens",),
    "reasoning": ("reasoning_tokens", "reasoning_output_tokens", "thoughts_tokens"),
    "usd": ("cost_usd",),
}
# The agent whose prompt_tokens leave out what was written into the cache, and where Harbor's converter says that.
WRITTEN_APART = ("openclaw", "cache_write_tokens")

STEP = msgspec.json.Decoder(AtifStep)
DOCUMENT = msgspec.json.Decoder(Document)
EXTRA = msgspec.json.Decoder(StepExtra)


def decode_document(data: bytes) -> Document:
    """ValueError if the bytes are not valid JSON, UnexpectedShape where they are not an ATIF document."""
    return decode_shape(DOCUMENT, data, "a document")


def decode_step(data: bytes) -> AtifStep:
    """UnexpectedShape where the bytes are not an ATIF step."""
    return decode_shape(STEP, data, "a step")


def extra_of(step: AtifStep) -> StepExtra:
    """The known part of a step's `extra`; nothing if it is not an object."""
    try:
        return EXTRA.decode(step.extra)
    except msgspec.ValidationError:
        return StepExtra()


def sidechain_of(extra: Any) -> str | None:
    """The sub-agent whose step has this `extra`, by its id; empty where it has none, None where the step is the
    agent's own."""
    known = extra if isinstance(extra, StepExtra) else convert_extra(extra)
    return (text_of(known.agent_id) or "") if known.is_sidechain is True else None


def convert_extra(extra: Any) -> StepExtra:
    """The known part of an `extra` that is decoded already."""
    return msgspec.convert(extra if isinstance(extra, dict) else {}, StepExtra)


def without_extra(step: AtifStep) -> AtifStep:
    """A step without its `extra` and its results': what two copies of it have in common."""
    results = [msgspec.structs.replace(result, extra=NULL) for result in results_of(step)]
    return msgspec.structs.replace(step, extra=NULL, observation=Observation(results))


def results_of(step: AtifStep) -> list[ToolResult]:
    """Results of a step's observation."""
    return (step.observation.results if step.observation else None) or []


def content_text(content: Any) -> str | None:
    """A message or a result as text: a string, or its parts with a newline between; blank is None."""
    if isinstance(content, list):
        return not_blank("\n".join(part_text(part) for part in content if part_text(part)))
    return not_blank(content if content is None or isinstance(content, str) else as_json(content))


def part_text(part: Any) -> str:
    """A content part: its text, an image's placeholder, any other kind as its JSON text."""
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    source = part.get("source") if isinstance(part, dict) else None
    if isinstance(source, dict) and part.get("type") == "image":
        return image_text(source)
    return as_json(part)


def image_text(source: dict[str, Any]) -> str:
    """`[image <type> <path>]`, or size and digest where the document holds the image itself."""
    kind = source.get("media_type")
    kind = kind if isinstance(kind, str) else None
    if isinstance(source.get("data"), str):
        return image_placeholder(source["data"], kind)
    return f"[image {kind or 'unknown'} {source.get('path') or '(no path)'}]"


def as_json(value: Any) -> str:
    """JSON text of a value that should have been text."""
    return json.dumps(value, ensure_ascii=False)


def details_of(result: ToolResult, extra: StepExtra, is_only: bool = True) -> tuple[str | None, bool | None]:
    """(details as JSON text, is_error) of a result: its own `extra`, what the converter kept of the tool's details in
    the step's `extra` (of its only result, or by the call's id), and which sub-agent's trajectory it stands for."""
    own = own_extra(result)
    kept = {
        name: getattr(extra, atif_name) for atif_name, name in EXECUTED.items() if getattr(extra, atif_name) is not None
    }
    references = [
        {key: value[key] for key in REFERENCE if isinstance(value, dict) and value.get(key) is not None}
        for value in (result.subagent_trajectory_ref if isinstance(result.subagent_trajectory_ref, list) else [])
    ]
    error, stated = stated_end(own, *beside(result, extra, is_only))
    if error is None and isinstance(extra.isError, bool):
        error = extra.isError
    details = own | kept | ({SUBAGENTS: references} if references else {})
    details |= {name: value for name, value in stated.items() if name not in details}
    return slim_details(json.dumps(details).encode() if details else b""), error


def beside(result: ToolResult, extra: StepExtra, is_only: bool) -> list[Any]:
    """What the `extra` of a step says of a result. The status there is that of the call's item, which is complete
    whatever became of the call."""
    of_calls = extra.tool_call_details if isinstance(extra.tool_call_details, dict) else {}
    of_call = of_calls.get(result.source_call_id) if isinstance(result.source_call_id, str) else None
    of_step = {name: getattr(extra, name) for name in OF_ONLY_RESULT} if is_only else {}
    return [{"metadata": of_call.get("metadata")} if isinstance(of_call, dict) else {}, of_step]


def own_extra(result: ToolResult) -> dict[str, Any]:
    """A result's `extra` without our own labels; nothing if it is not an object."""
    try:
        content = msgspec.json.decode(result.extra, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        return {}
    return {key: msgspec.json.decode(value) for key, value in content.items() if key != OWN_LABELS}


def figures_of(metrics: Any, prefix: str, agent: Any) -> dict[str, Any]:
    """Tokens and USD of a step's metrics, or of a document's final ones, whose names have a prefix; by the names of
    io.usd.TOKENS, and `usd`. Null for what they do not say."""
    own = metrics if isinstance(metrics, dict) else {}
    extra = own.get("extra")
    both = (extra if isinstance(extra, dict) else {}) | own
    figures = {
        name: next((both[key] for key in prefixed(keys, prefix) if both.get(key) is not None), None)
        for name, keys in METRICS.items()
    }
    read, written = figures["input"], both.get(WRITTEN_APART[1])
    if agent == WRITTEN_APART[0] and type(read) is int and type(written) is int:
        figures["input"] = read + written
    return figures


def prefixed(keys: tuple[str, ...], prefix: str) -> tuple[str, ...]:
    """The keys with a prefix, and those without where a document has them so."""
    return (*(f"{prefix}{key}" for key in keys), *(keys if prefix else ()))


def harness_of(agent: Agent | None) -> dict[str, Any]:
    """A Harness: the agent system by name and version, and the definitions of its tools."""
    if agent is None:
        return {}
    definitions = bytes(agent.tool_definitions)
    known = definitions not in (b"", b"null", b"[]")
    tools = definitions.decode("utf-8", "backslashreplace") if known else None
    return {"name": text_of(agent.name), "version": text_of(agent.version), "tool_definitions": tools}
