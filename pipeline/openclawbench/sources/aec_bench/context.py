"""What lies beside an aec-bench trajectory: agent-result.json, and the TrialRecord of the run (version 1 or 2)."""

from collections import defaultdict
from posixpath import basename, dirname, join, normpath
from typing import Any

from openclawbench.records.oracle import Evaluator, OracleRecord
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.io.json_values import count_of, number_of
from openclawbench.sources.io.listing_cache import cached_by_listing
from openclawbench.sources.io.timestamps import iso_time
from openclawbench.sources.io.usd import stated_usage
from openclawbench.sources.step_builder import StepList

AGENT_RESULT = "agent-result.json"
MOST_CANDIDATES = 16  # JSON files of a folder that are looked at; a folder of more is a ledger: only names count there
ENDED = ("completed", "failed", "cancelled")  # v2: executions that are over; an invalid one is evidence of nothing
OPEN_EVIDENCE = ("pending", "partial", "incomplete", "missing")
OPEN_EVALUATION = (None, "pending")  # v2: a record that is not sealed yet
COST_TOKENS = {"input": "tokens_in", "cached": "cache_read_tokens", "cache_write": "cache_write_tokens"} | {
    "output": "tokens_out",
    "usd": "estimated_cost_usd",
}
RESULT_TOKENS = {
    "input": "input_tokens",
    "cached": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
    "output": "output_tokens",
    "reasoning": "reported_analysis_tokens",
}
PROVENANCE = (("agent", "adapter_revision"), ("environment", "tool_versions"), ("inputs", "input_files"))
VERDICTS = {"pass": True, "passed": True, "fail": False, "failed": False}  # a record that says so itself
VERDICT_FIELDS = ("passed", "pass", "success", "verdict", "outcome", "judgment")


@cached_by_listing
def folders(paths: frozenset[str]) -> tuple[dict[str, list[str]], dict[str, set[str]]]:
    """JSON files of each folder, and the folders in it that hold sessions. Made once for a raw folder."""
    files: dict[str, list[str]] = defaultdict(list)
    below: dict[str, set[str]] = defaultdict(set)
    for path in sorted(paths):
        folder = dirname(path)
        if path.endswith(".json"):
            files[folder].append(path)
        elif ".jsonl" in basename(path):
            below[dirname(folder)].add(folder)
    return files, below


def find_sidecars(path: str, paths: frozenset[str]) -> dict[str, str]:
    """agent-result.json, and the JSON files beside or above that may be the TrialRecord, within the source model.

    Keys: agent_result; beside:NAME; above:NAME (a record above concerns this session if it names it, or if no other
    session lies below it: then only:NAME).
    """
    folder, above = dirname(path), dirname(dirname(path))
    files, below = folders(paths)
    sidecars = {}
    if f"{folder}/{AGENT_RESULT}" in paths:
        sidecars["agent_result"] = f"{folder}/{AGENT_RESULT}"
    sidecars |= {f"beside:{basename(candidate)}": candidate for candidate in candidates(files.get(folder, []), folder)}
    if above:
        kind = "only" if below.get(above) == {folder} else "above"
        sidecars |= {
            f"{kind}:{basename(candidate)}": candidate for candidate in candidates(files.get(above, []), folder)
        }
    return sidecars


def candidates(files: list[str], folder: str) -> list[str]:
    """Files that may be a TrialRecord; of many, only the one that is named like the session's folder."""
    others = [path for path in files if basename(path) != AGENT_RESULT]
    return others if len(others) <= MOST_CANDIDATES else [p for p in others if p.endswith(f"/{basename(folder)}.json")]


def read_context(path: str, sidecars: dict[str, Any]) -> dict[str, Any]:
    """{agent_result, trial}: what concerns this session, small; empty if nothing does."""
    context: dict[str, Any] = {}
    record = trial_of(path, sidecars)
    result = sidecars.get("agent_result")
    if record is not None:
        name, value = record
        context["trial"] = slim_trial(value) | {"file": name.partition(":")[2]}
        result = result if isinstance(result, dict) else part(output_of(value), "agent_result")
    if isinstance(result, dict) and result:
        context["agent_result"] = slim_result(result)
    return context


def describe_use(path: str, sidecars: dict[str, Any], context: dict[str, Any]) -> dict[str, str]:
    """What read_context() took of each sidecar, in words, by its key."""
    record = trial_of(path, sidecars) if "trial" in context else None
    uses = {} if record is None else {record[0]: "task, attempt, completeness and outcome of the trial"}
    own = "agent_result" in context and isinstance(sidecars.get("agent_result"), dict)
    return uses | ({"agent_result": "how the agent ended, turns and tokens"} if own else {})


def is_trial(value: Any) -> bool:
    """True for a TrialRecord: v1 has completeness, v2 execution_status."""
    return isinstance(value, dict) and "trial_id" in value and ("completeness" in value or "execution_status" in value)


def trial_of(path: str, sidecars: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The record that names this session, else the only one that can mean it; None unless exactly one can."""
    records = [(name, value) for name, value in sidecars.items() if is_trial(value)]
    naming = [record for record in records if names_session(record[0], record[1], path)]
    able = naming or [record for record in records if not record[0].startswith("above:")]
    return able[0] if len(able) == 1 else None


def names_session(name: str, record: dict[str, Any], path: str) -> bool:
    """True if a record's trial id is the session's folder, or its output names the session's file."""
    folder = dirname(path)
    if record["trial_id"] == basename(folder):
        return True
    place = folder if name.startswith("beside:") else dirname(folder)
    output = output_of(record)
    for key in ("trajectory_path", "conversation_path"):
        named_path = output.get(key)
        if isinstance(named_path, str) and (normpath(join(place, named_path)) == path or is_tail(named_path, path)):
            return True
    return False


def is_tail(named_path: str, path: str) -> bool:
    """True if a path on the machine that ran it ends like this one: file, folder and the folder above."""
    return named_path.split("/")[-3:] == path.split("/")[-3:] and named_path.count("/") >= 2


def output_of(record: dict[str, Any]) -> dict[str, Any]:
    """The record's output (v1: outputs)."""
    return part(record, "outputs") or part(record, "output")


def part(record: dict[str, Any], key: str) -> dict[str, Any]:
    """An object inside a record; empty if it is not one."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def slim_result(result: dict[str, Any]) -> dict[str, Any]:
    """The fields of agent-result.json that are used."""
    ended = ("status", "failure_kind", "provider_error", "turns_used", "provider_calls")
    keys = (*ended, *RESULT_TOKENS.values(), "resolved_model", "adapter_name")
    return {key: result[key] for key in keys if result.get(key) is not None}


def slim_trial(record: dict[str, Any]) -> dict[str, Any]:
    """The fields of a TrialRecord that are used, under the names of version 2."""
    evaluation = part(record, "evaluation")
    fields = {
        "trial_id": record["trial_id"],
        "run_id": record.get("run_id") or record.get("experiment_id"),
        "task_id": record.get("task_id") or part(record, "task").get("task_id"),
        "attempt": record.get("attempt"),
        "dataset": record.get("dataset_id"),
        "completeness": completeness(record),
        "missing": missing_provenance(record),
        "execution_status": record.get("execution_status"),
        "evaluation_status": record.get("evaluation_status"),
        "model": part(record, "agent").get("model"),
        "adapter": part(record, "agent").get("adapter"),
        "adapter_revision": part(record, "agent").get("adapter_revision"),
        "ended_at": record.get("completed_at") or record.get("timestamp"),
        "total_seconds": part(record, "timing").get("total_seconds"),
        "cost": {key: value for key, value in part(record, "cost").items() if value is not None},
        "evaluated": "evaluation" in record and isinstance(record["evaluation"], dict),
        "score": evaluation.get("reward", evaluation.get("score")),
        "verdict": next((evaluation[key] for key in VERDICT_FIELDS if says(evaluation.get(key)) is not None), None),
        "errors": part(evaluation, "validity").get("errors"),
    }
    return {key: value for key, value in fields.items() if value not in (None, {}, [])}


def completeness(record: dict[str, Any]) -> str | None:
    """partial | complete. v1: as the record says, but not complete without the provenance that makes it so. v2:
    complete once the execution has ended, however it did, no evaluation is pending and no evidence is reported as
    missing."""
    if "completeness" in record:
        stated = record["completeness"] if record["completeness"] in ("partial", "complete") else None
        return "partial" if stated == "complete" and missing_provenance(record) else stated
    ended = record.get("execution_status") in ENDED and record.get("evaluation_status") not in OPEN_EVALUATION
    return "complete" if ended and record.get("evidence_status") not in OPEN_EVIDENCE else "partial"


def missing_provenance(record: dict[str, Any]) -> list[str]:
    """What a record that says it is complete must have (version 1) and does not; empty if it does not say that."""
    if record.get("completeness") != "complete":
        return []
    return [f"{group}.{name}" for group, name in PROVENANCE if part(record, group).get(name) in (None, "")]


def says(value: Any) -> bool | None:
    """Pass or fail in the record's own words; None if it says neither (a reward is not a verdict)."""
    return value if isinstance(value, bool) else VERDICTS.get(value.lower()) if isinstance(value, str) else None


def outcome(trial: dict[str, Any]) -> dict[str, Any] | None:
    """OracleRecord fields of the evaluation, without the source model and basename, or None."""
    failed = trial.get("evaluation_status") in ("failed", "invalid")
    if not trial.get("evaluated") and not failed:
        return None
    success = None if failed else says(trial.get("verdict"))
    errors_given = trial.get("errors")
    errors = [value for value in errors_given if isinstance(value, str)] if isinstance(errors_given, list) else []
    fields: dict[str, Any] = dict.fromkeys(OracleRecord.model_fields) | {
        "session_id": text(trial.get("trial_id")),
        "run_id": text(trial.get("run_id")),
        "attempt": count_of(trial.get("attempt")),
        "task_id": text(trial.get("task_id")),
        "success": success,
        "status": "not_scored" if success is None else "scored",
        "score": number_of(trial.get("score")),
        "error_type": f"evaluation_{trial['evaluation_status']}" if failed else None,
        "error_message": "\n".join(errors) or None,
        "flags": [],
        "evaluator": dict.fromkeys(Evaluator.model_fields) | {"name": "aec-bench", "source_path": trial.get("file")},
        "evaluated_at": iso_time(trial.get("ended_at")),
    }
    del fields["source_model"], fields["native_session_basename"]
    return fields


def task(trial: dict[str, Any]) -> dict[str, Any]:
    """subset, task_id and attempt of a run as its record names them, whatever came of it; empty if it names none."""
    fields = {
        "subset": text(trial.get("dataset")),
        "task_id": text(trial.get("task_id")),
        "attempt": count_of(trial.get("attempt")),
    }
    return fields if any(field is not None for field in fields.values()) else {}


def text(value: Any) -> str | None:
    """A value that should be text; None for any other value."""
    return value if isinstance(value, str) else None


def run_summary(steps: StepList, times: list[str], beside: dict[str, Any], rules: NormalizeRules) -> dict[str, Any]:
    """The RunSummary: what the lines say, and what the trial's cost record and the agent's result add."""
    result, trial = beside.get("agent_result", {}), beside.get("trial", {})
    cost = part(trial, "cost")
    error = result.get("provider_error")
    fields = {
        "provider_errors": int(error is not None or result.get("failure_kind") == "provider_error"),
        "first_provider_error": error if error is None or isinstance(error, str) else str(error),
        "stop_reason": text(result.get("failure_kind")),
        **stated_usage(figures_of(cost, result)),
    }
    if (end := bad_end(result, trial, rules)) is not None:
        fields["end"] = end
    summary = steps.run_summary(times, **fields)
    if summary["wall_time_s"] is None:
        summary["wall_time_s"] = number_of(trial.get("total_seconds"))
    return summary


def figures_of(cost: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """Tokens and USD by the names of io.usd.TOKENS, and `usd`: of the cost record, else of the agent's result. Whether
    their input counts in what the cache had is its provider's way; it cannot where that is more."""
    figures = {name: result.get(key) for name, key in RESULT_TOKENS.items()}
    figures |= {name: cost[key] for name, key in COST_TOKENS.items() if cost.get(key) is not None}
    parts = [count_of(figures.get(name)) for name in ("input", "cached", "cache_write")]
    known = [part for part in parts if part is not None]
    if parts[0] is not None and sum(known) - parts[0] > parts[0]:
        figures["input"] = sum(known)
    return figures


def bad_end(result: dict[str, Any], trial: dict[str, Any], rules: NormalizeRules) -> str | None:
    """timeout | aborted | error if the record says that the run failed; None otherwise."""
    if result.get("status") != "failed" and trial.get("execution_status") not in ("failed", "cancelled", "invalid"):
        return None
    words = f"{result.get('failure_kind') or ''} {result.get('provider_error') or ''}"
    if rules.is_timeout(words):
        return "timeout"
    return "aborted" if trial.get("execution_status") == "cancelled" else "error"


def run_context(beside: dict[str, Any]) -> dict[str, Any]:
    """RunContext fields: how the run ended and what it cost, as the record says."""
    result, trial = beside.get("agent_result", {}), beside.get("trial", {})
    fields = {
        "status": text(trial.get("execution_status")) or text(result.get("status")),
        "estimated_cost_usd": number_of(part(trial, "cost").get("estimated_cost_usd")),
    }
    return {key: value for key, value in fields.items() if value is not None}


def models(beside: dict[str, Any]) -> list[str]:
    """The model that the agent's result, or else the trial record, names."""
    model = beside.get("agent_result", {}).get("resolved_model") or beside.get("trial", {}).get("model")
    return [model] if isinstance(model, str) else []


def harness(beside: dict[str, Any]) -> dict[str, Any]:
    """A Harness: the adapter that ran the agent, as the trial record names it, else the agent's result."""
    result, trial = beside.get("agent_result", {}), beside.get("trial", {})
    name = text(trial.get("adapter")) or text(result.get("adapter_name"))
    return {"name": name, "version": text(trial.get("adapter_revision"))} if name else {}
