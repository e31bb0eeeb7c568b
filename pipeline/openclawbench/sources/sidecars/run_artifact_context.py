"""What a RunArtifact of an OpenClaw run gives to the native session that has its steps: run context and outcome.

Such an artifact has no step of its own. The adapter of native sessions calls find_run_artifacts() and
context_for_session().
"""

import json
from typing import Any

from openclawbench.records.session import RunContext
from openclawbench.sources.io.json_values import number_of, text_of
from openclawbench.sources.sidecars.run_artifact_outcomes import (
    evaluation_faults,
    evaluations_in,
    of_run,
    outcomes_of,
    task_of_run,
)
from openclawbench.sources.sidecars.run_artifact_paths import (
    evaluations_of,
    in_own_folder,
    is_evaluation_of,
    repetition,
    runs_of,
)

ARTIFACT, EVALUATION = "run_artifact:", "evaluation:"  # keys of sidecars: these, and their path


def find_run_artifacts(session_path: str, paths: frozenset[str]) -> dict[str, str]:
    """RunArtifacts that a native session may belong to, and their evaluations: name -> path."""
    runs = runs_of(session_path, paths)
    evaluations = [evaluation for run in runs for evaluation in evaluations_of(run, paths)]
    return {f"{ARTIFACT}{run}": run for run in runs} | {
        f"{EVALUATION}{evaluation}": evaluation for evaluation in evaluations
    }


def context_for_session(session_id: str | None, session_path: str, sidecars: dict[str, Any]) -> dict[str, Any]:
    """{"index": RunContext fields, "outcomes": OracleRecord fields of each, "task": subset, task_id, attempt, "faults":
    (reason, sentence) of evaluations that cannot be used} of the artifact that this session is of.

    Empty unless exactly one artifact is this session's. `sidecars`: values of the files of find_run_artifacts().
    """
    runs = {key.removeprefix(ARTIFACT): value for key, value in sidecars.items() if key.startswith(ARTIFACT)}
    mine = [(path, run) for path, run in runs.items() if is_of(run, path, session_id, session_path)]
    if len(mine) != 1:
        return {}
    path, document = mine[0]
    results = {key.removeprefix(EVALUATION): value for key, value in sidecars.items() if key.startswith(EVALUATION)}
    own = {value: result for value, result in results.items() if is_evaluation_of(value, path)}
    evaluations, unreadable = evaluations_in(own)
    faults = evaluation_faults(evaluations, unreadable, document["identity"])
    return {
        "index": run_context(document),
        "outcomes": outcomes_of(document, evaluations, repetition(path)),
        "task": task_of_run(document["identity"], repetition(path)),
        "faults": [(fault.reason, fault.message) for fault in faults],
    }


def describe_run_use(session_id: str | None, session_path: str, sidecars: dict[str, Any]) -> dict[str, str]:
    """What context_for_session() takes of each sidecar, in words, by its key; empty if it takes nothing."""
    runs = {key: value for key, value in sidecars.items() if key.startswith(ARTIFACT)}
    mine = [key for key, run in runs.items() if is_of(run, key.removeprefix(ARTIFACT), session_id, session_path)]
    if len(mine) != 1:
        return {}
    run = mine[0].removeprefix(ARTIFACT)
    own = {key: value for key, value in sidecars.items() if is_evaluation_of(key.removeprefix(EVALUATION), run)}
    return {mine[0]: "run context, outcome and task"} | describe_outcome_use(own, runs[mine[0]]["identity"])


def describe_outcome_use(evaluations: dict[str, Any], identity: dict[str, Any]) -> dict[str, str]:
    """The evaluations, among contents by their names, that can give an outcome: those that name no other run."""
    read = {
        key: evaluations_in({key: evaluation})[0]
        for key, evaluation in evaluations.items()
        if key.startswith(EVALUATION)
    }
    return {key: "outcome" for key, content in read.items() if of_run(content, identity)}


def is_of(document: Any, path: str, session_id: str | None, session_path: str) -> bool:
    """True if the artifact names the session, or names none and has the session in its own folder."""
    if not isinstance(document, dict) or not isinstance(document.get("identity"), dict):
        return False
    named = named_sessions(document)
    return session_id in named if named else in_own_folder(session_path, path)


def run_context(document: dict[str, Any]) -> dict[str, Any]:
    """RunContext fields of a run's artifact; None if it does not say."""
    blank: dict[str, Any] = dict.fromkeys(RunContext.model_fields)
    reports = command_reports(document)
    aborted = [report["meta"].get("aborted") for report in reports]
    keys = [
        report.get("sessionKey")
        for entry in reports
        if isinstance(report := entry["meta"].get("systemPromptReport"), dict)
    ]
    usage = document.get("usage")
    return blank | {
        "aborted_last_run": aborted[-1] if aborted and isinstance(aborted[-1], bool) else None,
        "status": text_of(document.get("status")),
        "session_key": text_of(keys[-1]) if keys else None,
        "label": text_of(document["identity"].get("case_id")),
        "estimated_cost_usd": number_of(usage.get("cost_usd")) if isinstance(usage, dict) else None,
    }


def named_sessions(document: dict[str, Any], traces: tuple[Any, ...] = ()) -> list[str]:
    """Ids of native sessions that the artifact names: in what the command line printed, and in runner events."""
    metas = [report["meta"] for report in command_reports(document, traces)]
    places = [(meta.get(part), "sessionId") for meta in metas for part in ("agentMeta", "systemPromptReport")]
    places += [(event.get("metadata"), "session_id") for event in trace_of(document)]
    ids = (text_of(place.get(key)) for place, key in places if isinstance(place, dict))
    return list(dict.fromkeys(id_ for id_ in ids if id_ is not None))


def command_reports(document: dict[str, Any], traces: tuple[Any, ...] = ()) -> list[dict[str, Any]]:
    """What `openclaw agent --json` printed, from final outputs and from stored traces: objects with `meta`."""
    texts: list[Any] = [event.get("content") for event in trace_of(document)]
    for trace in traces:
        turns = trace.get("turns") if isinstance(trace, dict) else None
        texts += (
            [turn.get("payload") for turn in turns if isinstance(turn, dict)] if isinstance(turns, list) else [trace]
        )
    reports = (text if isinstance(text, dict) else report_in(text) for text in texts)
    return [report for report in reports if isinstance(report.get("meta"), dict)]


def report_in(text: Any) -> dict[str, Any]:
    """The JSON object in a text that may begin with lines of a log; empty if the text holds no object."""
    if not isinstance(text, str) or '"meta"' not in text:
        return {}
    start = 0 if text.startswith("{") else text.find("\n{") + 1
    try:
        value = json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def trace_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The trace's events that are objects."""
    trace = document.get("trace")
    return [value for value in trace if isinstance(value, dict)] if isinstance(trace, list) else []
