"""Harbor's job trees: the trial result that lies above a session gives its task and outcome.

`<job>/<trial>/result.json` is of the sessions below `<trial>/`; of a trial in several steps, the entry of
`step_results` is of the sessions below `<trial>/steps/<name>/`. Of a result only what is used is taken: `config` may
hold keys. A trial that was interrupted has no result; its `config.json` still names its task.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from posixpath import basename, dirname, normpath
from typing import Any

from openclawbench.records.oracle import Evaluator, OracleRecord
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.base import ParsedSession, duplicate_key
from openclawbench.sources.io.json_values import number_of, text_of
from openclawbench.sources.io.listing_cache import cached_by_listing
from openclawbench.sources.io.timestamps import iso_time

RESULT = "result.json"
EVALUATOR = "harbor"  # name of who scored a trial
CONFIG, AGENT = "config.json", "agent"  # of a trial: its configuration, and the folder of what its agent wrote
TRIAL = "harbor"  # key of the sidecar, and key of a context
TRIAL_CONFIG = "harbor_config"  # key of the sidecar
CONVERTED = "converted"  # key of the context of a file that the trajectory beside it was made of
STEPS = "steps"
NATIVE = "native"  # key of the sidecar of an ATIF document that may be of the same run
WORDS = "task and outcome of the trial"
INTERRUPTED = "task of the trial, which was interrupted"
ATIF_NAME = "trajectory.json"


def find_sidecars(path: str, paths: frozenset[str]) -> dict[str, str]:
    """The nearest result.json above a session, within its source model; the configuration of a trial that has none."""
    nearest = next((f"{folder}/{RESULT}" for folder in folders_above(path) if f"{folder}/{RESULT}" in paths), None)
    files = {} if nearest is None or nearest == path else {TRIAL: nearest}
    trial = next((dirname(folder) for folder in folders_above(path) if basename(folder) == AGENT), None)
    if trial and f"{trial}/{RESULT}" not in paths and f"{trial}/{CONFIG}" in paths:
        files[TRIAL_CONFIG] = f"{trial}/{CONFIG}"
    return files


def folders_above(path: str) -> Iterator[str]:
    """The folders above a file, the nearest first, down to that of the source model."""
    while path := dirname(path):
        yield path


@cached_by_listing
def natives(paths: frozenset[str]) -> dict[str, list[str]]:
    """Files that may be native sessions, by each folder above them."""
    below: dict[str, list[str]] = defaultdict(list)
    for path in sorted(paths):
        name = basename(path)
        if name.endswith(".jsonl") and not name.endswith(".trajectory.jsonl"):
            for folder in folders_above(path):
                below[folder].append(path)
    return below


def native_beside(path: str, paths: frozenset[str]) -> dict[str, str]:
    """The native session below the folder of an ATIF document that Harbor made of it; empty if there is no session, or
    no trial result above says that this is Harbor's folder."""
    if basename(path) != ATIF_NAME or not find_sidecars(path, paths):
        return {}
    sessions = natives(paths).get(dirname(path), [])
    return {NATIVE: sessions[0]} if sessions else {}


def trial_of(path: str, sidecars: dict[str, Any]) -> dict[str, Any] | None:
    """The parts of a trial result about the session, or None."""
    result: Any = sidecars.get(TRIAL)
    if not is_trial(result):
        return interrupted_trial(sidecars.get(TRIAL_CONFIG))
    name, step = step_of(result, path)
    scored = step or result
    error = scored.get("exception_info") or result.get("exception_info")
    verifier = scored.get("verifier_result")
    rewards = verifier.get("rewards") if isinstance(verifier, dict) else None
    fields = {
        "id": text_of(result.get("id")),
        "file": RESULT,
        "task_id": text_of(result.get("task_name")),
        "step": name,
        "trial_name": text_of(result.get("trial_name")),
        "dataset": text_of(result.get("source")),
        "rewards": {name: number_of(reward) for name, reward in rewards.items()} if isinstance(rewards, dict) else None,
        "error_type": text_of(error.get("exception_type")) if isinstance(error, dict) else None,
        "error_message": text_of(error.get("exception_message")) if isinstance(error, dict) else None,
        "finished_at": iso_time(result.get("finished_at")),
        "agent": agent_of(result.get("agent_info")),
    }
    return {name: value for name, value in fields.items() if value is not None}


def agent_of(info: Any) -> dict[str, Any] | None:
    """Name and version of the agent that a trial ran; None if it does not say."""
    named = {name: text_of(info.get(name)) for name in ("name", "version")} if isinstance(info, dict) else {}
    return named if any(named.values()) else None


def interrupted_trial(config: Any) -> dict[str, Any] | None:
    """What the configuration of a trial without a result says of its sessions, or None: its task is the name of its
    folder, as in a result."""
    if not (isinstance(config, dict) and {"trial_name", "trials_dir", "task"} <= config.keys()):
        return None
    task = config["task"] if isinstance(config["task"], dict) else {}
    name, path = text_of(task.get("name")), text_of(task.get("path"))
    trial, job = text_of(config.get("trial_name")), text_of(config.get("job_id"))
    values = {
        "id": f"{job}/{trial}" if job and trial else None,
        "file": CONFIG,
        "task_id": name or (basename(normpath(path.replace("\\", "/"))) if path else None),
        "trial_name": trial,
        "dataset": text_of(task.get("source")),
        "error_message": "the trial was interrupted: it has no result.json",
    }
    return {name: value for name, value in values.items() if value is not None}


def use_of(context: dict[str, Any]) -> dict[str, str]:
    """What was taken from the trial, in words, by the key of its sidecar; empty if nothing was taken."""
    if TRIAL not in context:
        return {}
    return {TRIAL_CONFIG: INTERRUPTED} if context[TRIAL]["file"] == CONFIG else {TRIAL: WORDS}


def is_trial(value: Any) -> bool:
    """True for a trial result; a job's has no trial."""
    return isinstance(value, dict) and {"task_name", "trial_name"} <= value.keys() and "verifier_result" in value


def step_of(result: dict[str, Any], path: str) -> tuple[str | None, dict[str, Any] | None]:
    """(name, entry) of the step of a trial in several steps below whose folder a session lies; nulls for any other."""
    steps = result.get("step_results")
    folders = dirname(path).split("/")
    below = {name for folder, name in pairwise(folders) if folder == STEPS}
    for step in steps if isinstance(steps, list) else []:
        if isinstance(step, dict) and step.get("step_name") in below:
            return step["step_name"], step
    return None, None


def add_to(session: ParsedSession, context: dict[str, Any], rules: NormalizeRules) -> None:
    """Give a session the task and the outcome of its trial; what another file beside it says comes first."""
    trial = context.get(TRIAL)
    if not trial:
        return
    session.task = session.task or task(trial)
    session.harness = session.harness or trial.get("agent", {})
    trial_outcome = outcome(trial, rules)
    if session.outcome is None:
        session.outcome = trial_outcome
    elif duplicate_key(trial_outcome) not in map(duplicate_key, session.outcomes):
        session.other_outcomes.append(trial_outcome)


def leave_to_parent(session: ParsedSession) -> None:
    """Take the trial's outcome from the session of a sub-agent: a trial is one pass or one failure, its agent's."""
    outcomes = [outcome for outcome in session.outcomes if (outcome.get("evaluator") or {}).get("name") != EVALUATOR]
    session.outcome, session.other_outcomes = next(iter(outcomes), None), outcomes[1:]


def task(trial: dict[str, Any]) -> dict[str, Any]:
    """subset, task_id and attempt as the trial names them; which attempt it was it does not say."""
    name = trial.get("task_id")
    if name is None:
        return {}
    name = f"{name}/{trial['step']}" if "step" in trial else name
    return {"subset": trial.get("dataset"), "task_id": name, "attempt": None}


def outcome(trial: dict[str, Any], rules: NormalizeRules) -> dict[str, Any]:
    """OracleRecord fields of the reward, without the source model and basename. An exception that is not the agent's
    own (normalize.toml) leaves the run unscored, whatever was rewarded."""
    rewards, error = trial.get("rewards") or {}, trial.get("error_type")
    stated = {name: value for name, value in rewards.items() if value is not None}
    reward = stated.get(rules.harbor.reward, next(iter(stated.values())) if len(stated) == 1 else None)
    scored = reward is not None and (error is None or error in rules.harbor.own_errors)
    lost = error is not None and error not in (*rules.harbor.own_errors, *rules.harbor.no_verdict)
    partial = scored and reward is not None and 0 < reward < rules.harbor.pass_from
    fields: dict[str, Any] = dict.fromkeys(OracleRecord.model_fields) | {
        "run_id": trial.get("trial_name"),
        "task_id": task(trial).get("task_id"),
        "subset": trial.get("dataset"),
        "success": reward >= rules.harbor.pass_from if scored and reward is not None else None,
        "status": "scored" if scored else "infra_error" if lost else "not_scored",
        "score": reward,
        "error_type": error,
        "error_message": trial.get("error_message"),
        "flags": ["partial_reward"] if partial else [],
        "evaluator": dict.fromkeys(Evaluator.model_fields) | {"name": EVALUATOR, "source_path": trial["file"]},
        "evaluated_at": trial.get("finished_at"),
    }
    del fields["source_model"], fields["native_session_basename"]
    return fields


def trajectory_beside(path: str, paths: frozenset[str]) -> str | None:
    """The ATIF trajectory that Harbor wrote beside a file of an agent in a trial: that says the same; None if there is
    none."""
    before, _, inside = path.rpartition(f"/{AGENT}/")
    trajectory = f"{before}/{AGENT}/{ATIF_NAME}"
    return trajectory if before and inside and trajectory != path and trajectory in paths else None
