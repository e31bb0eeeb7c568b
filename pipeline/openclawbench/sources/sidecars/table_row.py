"""The row of a table around a session: gives its id, task, model and outcome. Context, never a label."""

from typing import Any

from openclawbench.records.oracle import Evaluator, OracleRecord
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.base import ParsedSession
from openclawbench.sources.io.jsonl import Fault

FACTS, PLACE, CARD = (
    "row",
    "place",
    "card",
)  # keys of a context: sources.tables.facts; file and member; a dataset's card


def add_to(session: ParsedSession, context: dict[str, Any], rules: NormalizeRules) -> None:
    """Give a session what its row says. Lines of warnings are those of the file where the session is bytes of it, else
    the number of its row."""
    facts = context.get(FACTS)
    if facts is None:
        return
    session.session_id = facts.get("id") or session.session_id
    task = facts.get("task")
    session.task = session.task if task is None else task | {"subset": task["subset"] or benchmark_of(facts, context)}
    if "model" in facts and not session.models:
        session.models = [facts["model"]]
    if "outcome" in facts:
        outcome = outcome_of(facts, context, rules)
        if session.outcome is not None:
            session.other_outcomes.append(session.outcome)
        session.outcome = outcome
    first = facts["number"] if facts["part"] else 1
    if facts["part"] and session.record_counts["subagent_trajectory"]:
        sentence = "trajectories of sub-agents inside JSON text or a Parquet file, which are counted and not read"
        session.warnings.append(Fault("subagents_not_read", first, sentence))
    if facts["part"]:
        session.warnings = [Fault(fault.reason, first, fault.message) for fault in session.warnings]
    session.warnings += [Fault(reason, first, sentence) for reason, sentence in facts.get("faults", ())]


def outcome_of(facts: dict[str, Any], context: dict[str, Any], rules: NormalizeRules) -> dict[str, Any]:
    """OracleRecord fields of a row, without the source model and basename. An exception that is not the agent's own
    (normalize.toml) leaves the run unscored, whatever the row says beside it."""
    outcome, task = dict(facts["outcome"]), facts.get("task", {})
    benchmark = benchmark_of(facts, context)
    columns, error = outcome.pop("columns"), outcome["error_type"]
    if error is not None and error not in rules.harbor.own_errors:
        is_lost = error not in rules.harbor.no_verdict
        outcome |= {"status": "infra_error" if is_lost else "not_scored", "success": None}
    evaluator = {"name": benchmark, "mode": ", ".join(columns) or None, "source_path": context[PLACE]["path"]}
    fields: dict[str, Any] = dict.fromkeys(OracleRecord.model_fields) | outcome
    fields |= {
        "run_id": facts.get("id"),
        "attempt": task.get("attempt"),
        "task_id": task.get("task_id"),
        "subset": task.get("subset") or benchmark,
        "evaluator": dict.fromkeys(Evaluator.model_fields) | evaluator,
    }
    del fields["source_model"], fields["native_session_basename"], fields["session_id"]
    return fields


def benchmark_of(facts: dict[str, Any], context: dict[str, Any]) -> str:
    """The benchmark that a row is of: as the row names it, or the card of its dataset, or by the name of its file."""
    name: str = facts.get("benchmark") or context.get(CARD, {}).get("name") or context[PLACE]["table"]
    return name
