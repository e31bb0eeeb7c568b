"""What a record copies from its session and its outcome, against the other fields of the same record."""

from collections.abc import Iterator, Mapping
from typing import Any

from openclawbench.release.validate.records.consistency import Problem
from openclawbench.rules.intake.oracle import OracleRules
from openclawbench.sources.registry import format_names

Row = Mapping[str, Any]


def contradictions(row: Row, rules: OracleRules) -> Iterator[Problem]:
    """Everything in the context of a record that contradicts another field of it."""
    for name in ("parent_trajectory_id", "continues_trajectory_id"):
        if row[name] == row["trajectory_id"]:
            yield "context", f"{name} is the record itself"
    if (source_format := row["source_format"]) not in format_names():
        yield "vocabulary", f"source_format {source_format!r} is not a format that this program reads"
    provenance = row["provenance"]
    if provenance["cost_usd"] < 0 or min(provenance["usage"].values()) < 0:
        yield "context", "its provenance has a negative cost or number of tokens"
    if row["oracle"] is not None:
        for message in outcome(row, row["oracle"], rules):
            yield "context", message


def outcome(row: Row, oracle: Row, rules: OracleRules) -> Iterator[str]:
    """The oracle's record is about this session and its task."""
    if oracle["source_model"] != row["source_model"]:
        yield f"oracle.source_model is {oracle['source_model']}, the record is of {row['source_model']}"
    canonical, written, task = oracle["task_id_canonical"], oracle["task_id"], row["task_id"]
    if None not in (canonical, task) and canonical not in (task, rules.canonical_id(task)) and task != written:
        yield f"oracle.task_id_canonical is {canonical}, the record is of {task}"
    if rules.known_subset(written) and rules.known_subset(canonical) and rules.canonical_id(written) != canonical:
        yield f"oracle.task_id is {written}, and oracle.task_id_canonical is {canonical}"
    if None not in (oracle["attempt"], row["attempt"]) and oracle["attempt"] != row["attempt"]:
        yield f"oracle.attempt is {oracle['attempt']}, the record is of attempt {row['attempt']}"
    if oracle["success"] is not None and oracle["score"] == (0 if oracle["success"] else 1):
        yield f"oracle.success is {oracle['success']}, and oracle.score is {oracle['score']}"
    if names_another(row, oracle, rules):
        name, session_id = oracle["native_session_basename"], oracle["session_id"]
        yield f"oracle names the session {name} ({session_id}), the record is of {row['session_id']}"


def names_another(row: Row, oracle: Row, rules: OracleRules) -> bool:
    """True if neither name nor id that the oracle gives is that of the session. A copy may have another name."""
    if None in (oracle["native_session_basename"], oracle["session_id"], row["session_id"]):
        return False
    name = rules.bare_name(oracle["native_session_basename"]).casefold()
    return oracle["session_id"] != row["session_id"] and not row["trajectory_id"].casefold().startswith(name)
