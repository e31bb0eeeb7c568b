"""RunArtifact documents made by hand, in the stored and in the documented spelling, and short ways to parse them."""

import json
from typing import Any

from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.base import MalformedSession, ParsedSession
from openclawbench.sources.run_artifact.adapter import RunArtifact

RULES, ADAPTER = NormalizeRules.load(), RunArtifact()
FOLDER = "m/outputs/runs/suit_s/run_profile_abc123/model_x/case_1"
RUN = f"{FOLDER}/run_2.json"
EVALUATION = "m/outputs/evaluations/suit_s/evaluation_profile_abc123/eval_profile_j_0f"
RESULT = f"{EVALUATION}/model_x/case_1/raw_outputs/final_result_2.json"
OLD_RESULT = RESULT.replace("raw_outputs/", "")  # where older versions of the runner put it


def stored(*trace: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A document as the runner stores it; events get their sequence numbers."""
    events = [{"sequence": place, "timestamp": None, "metadata": {}} | entry for place, entry in enumerate(trace)]
    return {
        "identity": {
            "schema_version": 1,
            "run_id": "run_7",
            "case_id": "case_1",
            "suite_id": "s",
            "run_profile_id": "p",
            "runner_type": "llm_probe",
        },
        "status": "success",
        "error": None,
        "timing": {
            "started_at": "2026-01-02T03:04:05Z",
            "completed_at": "2026-01-02T03:04:08Z",
            "duration_seconds": 2.5,
        },
        "request": {"requested_model": "lab/asked"},
        "provider": {"provider_model_id": "lab/answered", "finish_reason": "stop"},
        "usage": {
            "normalized": {"input_tokens": 10, "output_tokens": 4, "total_tokens": 14, "reasoning_tokens": 1},
            "cost_usd": 0.25,
            "raw_provider_usage": {"prompt_tokens": 3},
        },
        "trace": events,
        "output_artifacts": [],
        "runner_metadata": {"attempt_count": 1, "tool_capable": True},
    } | more


def failed(status: str, code: str = "boom", message: str = "it broke") -> dict[str, Any]:
    """The fields of a run that did not complete."""
    return {"status": status, "error": {"code": code, "message": message}}


def documented(*trace: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A document as the format's page describes it."""
    return {
        "schema_version": 1,
        "identity": {
            "run_id": "r",
            "case_id": "c",
            "suite_id": "s",
            "runner_type": "llm_probe",
            "run_fingerprint": "f",
        },
        "status": "success",
        "request": {"requested_model": "lab/asked"},
        "provider": {"provider_name": "Lab", "provider_model_id": "answered", "finish_reason": "stop"},
        "timing": {"started_at": "2026-01-02T03:04:05Z", "completed_at": "2026-01-02T03:04:08Z"},
        "usage": {"input_tokens": 580, "output_tokens": 120, "total_tokens": 700, "cost_usd": 0.5},
        "trace": list(trace),
        "output_artifacts": [],
        "runner_metadata": {},
    } | more


def message(role: str, content: Any, reasoning: str | None = None, **more: Any) -> dict[str, Any]:
    metadata = {} if reasoning is None else {"reasoning": reasoning}
    return {"event_type": "message", "role": role, "content": content, "name": None, "metadata": metadata} | more


def call(call_id: str, tool: str, arguments: Any) -> dict[str, Any]:
    return {"event_type": "tool_call", "call_id": call_id, "tool_name": tool, "raw_arguments": arguments}


def result(call_id: str, output: Any, status: str | None = "success") -> dict[str, Any]:
    return {"event_type": "tool_result", "call_id": call_id, "status": status, "output": output}


def echo(call_id: str, tool: str, output: Any, status: str = "success") -> dict[str, Any]:
    """The tool message that repeats a result."""
    content = json.dumps({"status": status, "output": output}, ensure_ascii=False)
    return message("tool", content, name=tool, metadata={"tool_call_id": call_id})


def runner(name: str, detail: str | None = None) -> dict[str, Any]:
    return {"event_type": "runner", "name": name, "detail": detail}


def final(content: Any) -> dict[str, Any]:
    return {"event_type": "final_output", "content": content}


def turn(number: int, text: str | None = None) -> list[dict[str, Any]]:
    """One agent message with one call, its result and the repetition of that."""
    identity = f"c{number}"
    return [
        message("assistant", text, f"thought {number}"),
        call(identity, "read_file", f'{{"path":"{number}"}}'),
        result(identity, {"n": number}),
        echo(identity, "read_file", {"n": number}),
    ]


def written(document: Any) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False).encode()


def parse(document: Any, **context: Any) -> ParsedSession:
    """Parse a document (or its bytes); the accounting has to hold."""
    content = document if isinstance(document, bytes) else written(document)
    session = ADAPTER.parse(content, context, RULES)
    assert session.records_in == sum(session.record_counts.values()) == len(session.record_digests)
    return session


def refusal(document: Any, **context: Any) -> str:
    """The reason why a document is refused."""
    try:
        parse(document, **context)
    except MalformedSession as error:
        return error.fault.reason
    raise AssertionError("it was not refused")


def shape(session: ParsedSession) -> list[tuple[Any, ...]]:
    """Steps in a few columns."""
    return [
        (s["action_kind"], s["thinking"], s["narration"], s["action_text"], s["reflection_text"]) for s in session.steps
    ]
