"""What lies beside an OpenClaw session: its entry in sessions.json (or session_nodes), its trajectory sidecar."""

import json
from typing import Any

from openclawbench.base.session_names import basename
from openclawbench.records.session import RunContext
from openclawbench.sources.io.json_values import count_of, number_of
from openclawbench.sources.sidecars.run_artifact_context import report_in

# RunContext field -> key of an index entry
ENTRY_KEYS = {
    "aborted_last_run": ("abortedLastRun", bool),
    "status": ("status", str),
    "spawned_by": ("spawnedBy", str),
    "spawn_depth": ("spawnDepth", int),
    "subagent_role": ("subagentRole", str),
    "label": ("label", str),
    "estimated_cost_usd": ("estimatedCostUsd", float),
    "compaction_count": ("compactionCount", int),
}


def run_context(session_key: str | None, entry: dict[str, Any]) -> dict[str, Any]:
    """RunContext of one index entry; a value of an unexpected type is None."""
    context: dict[str, Any] = dict.fromkeys(RunContext.model_fields)
    for name, (key, kind) in ENTRY_KEYS.items():
        value = entry.get(key)
        if fits(value, kind):
            context[name] = number_of(value) if kind is float else value
    return context | {"session_key": session_key}


def fits(value: Any, kind: type) -> bool:
    """True for a value of this type that a column can hold; a whole number is a number too, true and false are not."""
    if kind is float:
        return number_of(value) is not None
    return count_of(value) is not None if kind is int else isinstance(value, kind)


def first_prompt(sidecar: Any) -> dict[str, Any]:
    """First prompt of a trajectory sidecar; empty if it has no prompt. `sidecar`: its text, or its only event."""
    text = json.dumps(sidecar) if isinstance(sidecar, dict) else sidecar
    for line in text.split("\n") if isinstance(text, str) else []:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict) and event.get("type") == "prompt.submitted":
            data = event.get("data")
            prompt = data.get("prompt") if isinstance(data, dict) else None
            return {"first_prompt": prompt} if isinstance(prompt, str) else {}
    return {}


def native_name(printed: Any, session_id: str | None) -> str | None:
    """Basename of agentMeta.sessionFile in what `openclaw agent --json` printed; None if it is of another session.

    If a harness copies every session to one file name, only this distinguishes them.
    """
    report = printed if isinstance(printed, dict) else report_in(printed)
    meta = report.get("meta")
    agent = meta.get("agentMeta") if isinstance(meta, dict) else None
    if not isinstance(agent, dict) or agent.get("sessionId") not in (None, session_id):
        return None
    file = agent.get("sessionFile")
    return basename(file) if isinstance(file, str) and ".jsonl" in file else None
