"""Outcome of a RunArtifact: OracleRecord fields out of evaluations that lie beside it. Context, never a label."""

from typing import Any

from openclawbench.sources.io.json_values import count_of, number_of, text_of
from openclawbench.sources.io.jsonl import Fault

SUCCESS = "success"
# Terminal status -> how the run ended; of a successful run its steps say it.
ENDS = {"failed": "error", "timed_out": "timeout", "invalid": "error", "provider_error": "error"}
LONGEST_WORD = 60  # characters of a verdict that becomes a flag
CHECKS = ("passed", "failed", "error")  # deterministic checks of an evaluation, by how they ended


def slim_evaluation(result: Any, path: str) -> dict[str, Any] | None:
    """What of a final_result_<N>.json concerns the outcome; None if the file is not such a result, or where one of its
    counts of checks cannot be read: a count that is not there is not zero."""
    summary = result.get("summary") if isinstance(result, dict) else None
    checks = summary if isinstance(summary, dict) else {}
    counts = {name: count_of(checks.get(f"deterministic_{name}_checks")) for name in CHECKS}
    if not isinstance(result, dict) or any(count is None or count < 0 for count in counts.values()):
        return None
    return {
        "path": path,
        "run_id": result.get("run_id"),
        "case_id": result.get("case_id"),
        "version": result.get("schema_version"),
        "score": number_of(result.get("final_score")),
        "security": (result.get("security") or {}).get("verdict") if isinstance(result.get("security"), dict) else None,
        **counts,
    }


def evaluations_in(sidecars: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """(evaluations, paths of other files) from the contents of result files by their paths."""
    slim = {path: slim_evaluation(sidecars[path], path) for path in sorted(sidecars)}
    return [evaluation for evaluation in slim.values() if evaluation is not None], [
        path for path, value in slim.items() if value is None
    ]


def evaluation_faults(evaluations: list[dict[str, Any]], unreadable: list[str], identity: Any) -> list[Fault]:
    """A warning for each evaluation of a run that cannot be used."""
    ids = identity if isinstance(identity, dict) else {}
    strangers = [evaluation["path"] for evaluation in evaluations if evaluation not in of_run(evaluations, ids)]
    another = "the evaluation names another run, so it says nothing of this one"
    broken = "its checks cannot be counted, so it says nothing; evaluate again"
    apart = [same[0]["path"] for same in by_verdict(of_run(evaluations, ids)).values()]
    differing = "evaluations of one run that say different things; neither is taken for true"
    return [
        *([Fault("differing_outcomes", 1, f"{', '.join(apart)}: {differing}")] if apart[1:] else []),
        *(Fault("evaluation_of_another_run", 1, f"{path}: {another}") for path in strangers),
        *(Fault("unreadable_evaluation", 1, f"{path}: {broken}") for path in unreadable),
    ]


def of_run(evaluations: list[dict[str, Any]], identity: dict[str, Any]) -> list[dict[str, Any]]:
    """The evaluations that name this run and case themselves."""
    keys = ("run_id", "case_id")
    return [
        evaluation
        for evaluation in evaluations
        if all(evaluation.get(key) in (None, identity.get(key)) for key in keys)
    ]


def task_of_run(identity: Any, repetition: int | None) -> dict[str, Any]:
    """subset, task_id and attempt of a run, as the artifact's identity names them, whatever came of it."""
    ids = identity if isinstance(identity, dict) else {}
    return {"subset": text_of(ids.get("suite_id")), "task_id": text_of(ids.get("case_id")), "attempt": repetition}


def outcomes_of(
    document: dict[str, Any], evaluations: list[dict[str, Any]], repetition: int | None
) -> list[dict[str, Any]]:
    """OracleRecord fields of each outcome; none where the run completed and nothing evaluated it.

    Status `success` of a run only means that it completed: it is never a passed task. A run that did not complete is
    infra_error. Of an evaluation only the deterministic checks decide (all passed: true, one failed: false); the
    judge's score is kept beside them, without a threshold of our own. Evaluations that disagree are an outcome a
    verdict: fusion decides between them as between rows of an oracle, and keeps all.
    """
    run_outcomes = of_run(evaluations, document.get("identity") or {})
    if document.get("status") != SUCCESS:
        return [outcome(document, run_outcomes, len(run_outcomes), repetition)]
    return [outcome(document, alike, len(run_outcomes), repetition) for alike in by_verdict(run_outcomes).values()]


def by_verdict(evaluations: list[dict[str, Any]]) -> dict[tuple[str, bool | None], list[dict[str, Any]]]:
    """Evaluations of one run by what they say."""
    groups: dict[tuple[str, bool | None], list[dict[str, Any]]] = {}
    for evaluation in evaluations:
        groups.setdefault(verdict(evaluation), []).append(evaluation)
    return groups


def outcome(
    document: dict[str, Any], own_evaluations: list[dict[str, Any]], evaluations: int, repetition: int | None
) -> dict[str, Any]:
    """OracleRecord fields by evaluations that agree; `evaluations`: how many the run has."""
    identity = document.get("identity") or {}
    status = document.get("status")
    scored, success = verdict(own_evaluations[0]) if own_evaluations else ("not_scored", None)
    error = document.get("error")
    error = error if isinstance(error, dict) and status != SUCCESS else {}
    scores = {row["score"] for row in own_evaluations}
    return {
        "run_id": text_of(identity.get("run_id")),
        **task_of_run(identity, repetition),
        "success": success if status == SUCCESS else None,
        "status": scored if status == SUCCESS else "infra_error",
        "score": scores.pop() if len(scores) == 1 else None,
        "error_type": text_of(error.get("code")),
        "error_message": text_of(error.get("message")),
        "flags": flags(status, own_evaluations, evaluations),
        "evaluator": evaluator(own_evaluations[0]) if own_evaluations else None,
    }


def verdict(evaluation: dict[str, Any]) -> tuple[str, bool | None]:
    """(status, success) by the deterministic checks."""
    if evaluation["failed"]:
        return "scored", False
    if evaluation["error"]:
        return "unscorable", None
    return ("scored", True) if evaluation["passed"] else ("not_scored", None)


def flags(status: Any, own_evaluations: list[dict[str, Any]], evaluations: int) -> list[str]:
    """What a reader of the outcome must know besides."""
    security = sorted(
        {row["security"] for row in own_evaluations if isinstance(row["security"], str)} - {"not_evaluated"}
    )
    several_flag = ["several_evaluations"] if evaluations > 1 else []
    is_known = isinstance(status, str) and status in ENDS
    ended = [] if status == SUCCESS else [f"run_{status}" if is_known else "run_of_unknown_status"]
    return [*ended, *several_flag, *(f"security_{word[:LONGEST_WORD]}" for word in security)]


def evaluator(evaluation: dict[str, Any]) -> dict[str, Any]:
    """Evaluator fields of the outcome."""
    version = evaluation["version"]
    return {
        "name": "run_artifact_evaluation",
        "version": None if version is None else str(version),
        "mode": "deterministic_checks",
        "source_path": evaluation["path"],
    }
