"""One small document of each of the other formats, made by hand."""

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def jsonl(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


ATIF = {
    "schema_version": "ATIF-v1.7",
    "session_id": "s",
    "agent": {"name": "harness", "version": "1", "model_name": "model-x"},
    "final_metrics": {"total_prompt_tokens": 30, "total_completion_tokens": 5, "total_cost_usd": 0.1},
    "steps": [
        {"step_id": 1, "source": "system", "message": "You are helpful."},
        {"step_id": 2, "source": "user", "message": "List the files.", "timestamp": "2026-01-02T03:04:05Z"},
        {
            "step_id": 3,
            "source": "agent",
            "message": "Looking.",
            "reasoning_content": "Two calls will do.",
            "model_name": "model-y",
            "metrics": {"prompt_tokens": 10, "completion_tokens": 2, "cost_usd": 0.05},
            "tool_calls": [
                {"tool_call_id": "a", "function_name": "ls", "arguments": {"path": "."}},
                {"tool_call_id": "b", "function_name": "cat", "arguments": {"path": "x"}},
            ],
            "observation": {
                "results": [
                    {"source_call_id": "b", "content": "text of x"},
                    {
                        "source_call_id": "a",
                        "content": [{"type": "text", "text": "x"}, {"type": "image", "source": {}}],
                    },
                    {"content": "of no call"},
                ]
            },
        },
        {"step_id": 4, "source": "agent", "message": "One file.", "extra": {"is_copied_context": True}},
        {"step_id": 5, "source": "agent", "message": "One file: x."},
    ],
}
RUN_ARTIFACT = {
    "identity": {"schema_version": 1, "run_id": "r", "case_id": "c", "suite_id": "s", "runner_type": "llm_probe"},
    "status": "success",
    "error": None,
    "timing": {"started_at": "2026-01-02T03:04:05Z", "completed_at": "2026-01-02T03:04:08Z", "duration_seconds": 2.5},
    "request": {"requested_model": "lab/asked"},
    "provider": {"provider_model_id": "lab/answered", "finish_reason": "stop"},
    "usage": {"normalized": {"input_tokens": 10, "output_tokens": 4, "total_tokens": 14}, "cost_usd": 0.25},
    "trace": [
        {"sequence": 0, "event_type": "message", "role": "user", "content": "Read it.", "metadata": {}},
        {
            "sequence": 1,
            "event_type": "message",
            "role": "assistant",
            "content": None,
            "metadata": {"reasoning": "Hm."},
        },
        {
            "sequence": 2,
            "event_type": "tool_call",
            "call_id": "c1",
            "tool_name": "read",
            "raw_arguments": '{"path":"a"}',
        },
        {"sequence": 3, "event_type": "tool_result", "call_id": "c1", "status": "success", "output": {"n": 1}},
        {
            "sequence": 4,
            "event_type": "message",
            "role": "tool",
            "content": '{"n":1}',
            "metadata": {"tool_call_id": "c1"},
        },
        {"sequence": 5, "event_type": "runner", "name": "provider_retry", "detail": "once"},
        {"sequence": 6, "event_type": "message", "role": "assistant", "content": "It says 1.", "metadata": {}},
        {"sequence": 7, "event_type": "final_output", "content": "It says 1."},
    ],
    "output_artifacts": [{"artifact_id": "x", "uri": "file:///etc/passwd"}],
    "runner_metadata": {"attempt_count": 1},
}
BENCHMARK_ROW = {
    "record_type": "result",
    "run_id": "20260213_235930",
    "provider": "ollama_openai",
    "model": "small/llama:3b",
    "prompt_id": "P3",
    "prompt_name": "count_words",
    "availability_status": "ok",
    "started_at_ms": 1770000000000,
    "ended_at_ms": 1770000001500,
    "e2e_ms": 1499,
    "success": True,
    "failure_type": None,
    "objective_pass": True,
    "input_tokens": 30,
    "output_tokens": 12,
    "raw_output": "Four words.",
    "parsed_output": {"words": 4},
    "tool_calls": ["df"],
}
EVENT = {"record_type": "event", "tag": "t_pre", "event": "ollama_stop", "model": "m", "ok": True, "error": None}
AEC = (
    {"version": 1, "format": "aec-bench-trajectory", "timestamp": "2026-01-02T03:04:00Z"},
    {"step": 0, "role": "system", "content": "You are an engineer."},
    {"step": 1, "role": "user", "content": "Size the beam."},
    {"step": 1, "role": "assistant", "content": "Reading the drawing."},
    {"step": 1, "role": "tool_call", "tool_name": "bash", "command": "cat beam.txt"},
    {"step": 1, "role": "tool_result", "tool_name": "bash", "stdout": "6 m", "stderr": "", "exit_code": 0},
    {"step": 2, "role": "assistant", "content": "IPE 300."},
)
CONVERSATION = (
    {"role": "system", "content": "x", "event": "message", "tool_call_id": None, "tool_name": None},
    {"role": "user", "content": "Size it.", "event": "message", "tool_call_id": None, "tool_name": None},
    {"role": "assistant", "content": "ls", "event": "tool_call", "tool_call_id": "1", "tool_name": "bash"},
    {"role": "tool", "content": "a", "event": "tool_result", "tool_call_id": "1", "tool_name": "bash"},
    {"role": "assistant", "content": "Done.", "event": "message", "tool_call_id": None, "tool_name": None},
)

MESSAGES = [
    {"role": "user", "content": "List the files."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "x"},
    {"role": "assistant", "content": "One file: x."},
]
ROWS = (
    {"trajectory": ATIF, "reward": 1.0, "task_id": "t", "model": "lab/m", "license": "mit", "attempt": "2"},
    {"trajectory": json.dumps(ATIF | {"session_id": "t"}), "reward": None, "exception_type": "BuildError"},
)
STEP_ROW = {"traces": ATIF["steps"], "score": -0.5, "task_name": "t", "session_id": "u"}
MESSAGE_ROW = {"messages": MESSAGES, "status": "failed", "task": {"id": "t"}}


def parquet(*rows: dict[str, Any]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows)), sink)
    return bytes(sink.getvalue())


# Name of a file -> its content.
DOCUMENTS: dict[str, bytes] = {
    "atif.json": json.dumps(ATIF, indent=1).encode(),
    "atif.jsonl": jsonl(ATIF),
    "run_1.json": json.dumps(RUN_ARTIFACT, indent=2).encode(),
    "results.jsonl": jsonl(BENCHMARK_ROW, EVENT, BENCHMARK_ROW | {"prompt_id": "P4", "raw_output": None}),
    "trajectory.jsonl": jsonl(*AEC),
    "conversation.jsonl": jsonl(*CONVERSATION),
    "rows.jsonl": jsonl(*ROWS),
    "steps.jsonl": jsonl(STEP_ROW, STEP_ROW | {"session_id": "v"}),
    "messages.json": json.dumps(MESSAGE_ROW, indent=1).encode(),
    "rows.parquet": parquet(*({"trajectory": json.dumps(ATIF), "passed": passed} for passed in (True, None))),
    "messages.parquet": parquet(MESSAGE_ROW),
}

PROMPT = {
    "traceSchema": "openclaw-trajectory",
    "schemaVersion": 1,
    "type": "prompt.submitted",
    "data": {"prompt": "Say hello"},
}
INDEX = {
    "agent:main:a": {"sessionId": "simple-reply", "abortedLastRun": False, "estimatedCostUsd": 0.1, "spawnDepth": 1},
    "agent:main:b": {"sessionId": "other", "status": "done", "spawnedBy": "agent:main:a", "compactionCount": 2},
}
OUTCOME = {"final_score": 0.5, "final_dimensions": {}, "run_id": "r"}
OPENCLAW_RUN = RUN_ARTIFACT | {
    "identity": RUN_ARTIFACT["identity"] | {"runner_type": "openclaw"},
    "trace": [],
    "output_artifacts": [{"artifact_id": "session", "uri": "file:simple-reply.jsonl"}],
}

# What may lie beside a session called simple-reply.jsonl.
COMPANIONS: dict[str, bytes] = {
    "sessions.json": json.dumps(INDEX, indent=1).encode(),
    "simple-reply.trajectory.jsonl": jsonl({**PROMPT, "type": "session.started"}, PROMPT),
    "run_1.json": json.dumps(OPENCLAW_RUN, indent=1).encode(),
    "final_result_1.json": json.dumps(OUTCOME).encode(),
}
