"""What the other columns of a row say of the session in it: task, model, licence, and how the run ended."""

from typing import Any

from openclawbench.base.session_names import safe_name
from openclawbench.rules.intake.tables import ANSWERS, TableRules
from openclawbench.rules.loading.rule_file import canonical_digest
from openclawbench.sources.io.json_values import count_of, number_of
from openclawbench.sources.tables.rows import TableRow

RowOutcome = tuple[str, bool | None, list[str], list[tuple[str, str]]]  # status, success, flags, faults


def facts_of(row: TableRow, rules: TableRules) -> dict[str, Any]:
    """{number, part, id, task, model, benchmark, license, outcome, faults} of a row, nulls left out; small and JSON.

    `outcome`: status, success, score, error_type, error_message, flags, and the columns that it was read from; absent
    where the row has no column for it. `faults`: (reason, sentence) pairs. `part`: whether the session is not bytes of
    the file, so that lines in it are lines of the value.
    """
    values = row.values
    name = text(rules.value("task", values))
    subset, benchmark = text(rules.value("subset", values)), text(rules.value("benchmark", values))
    task = {"subset": subset or benchmark, "task_id": name, "attempt": attempt_of(rules.value("attempt", values))}
    outcome, faults = outcome_of(values, rules)
    known = {
        "number": row.number,
        "part": row.length is None,
        "id": text(rules.value("id", values)),
        "task": task if name is not None else None,
        "model": text(rules.value("model", values)),
        "benchmark": benchmark,
        "license": text(rules.value("license", values)),
        "outcome": outcome,
        "faults": faults or None,
    }
    return {name: value for name, value in known.items() if value is not None}


def source_model_of(facts: dict[str, Any]) -> str | None:
    """The source model that a row names, in a form that can be a folder's name; None if the row names no model."""
    model = safe_name(facts.get("model", "")).strip(". ")
    return model or None


def identity_of(facts: dict[str, Any], identity: str) -> str:
    """What tells the session of a row from those of other rows: its id, its task and attempt, and what it holds. Not
    how it ended: rows that differ in that alone are one session, whose outcome is then in doubt."""
    return canonical_digest([facts.get("id"), facts.get("task"), identity])


def outcome_of(values: dict[str, Any], rules: TableRules) -> tuple[dict[str, Any] | None, list[tuple[str, str]]]:
    """(outcome, faults) of a row."""
    if not rules.says_how_it_ended(values):
        return None, []
    status, success, flags, faults = combined_outcome(values, rules)
    word = text(rules.value("status", values))
    outcome = {
        "status": status,
        "success": success,
        "score": number_of(rules.value("score", values)),
        "error_type": text(rules.value("error", values)),
        "error_message": None if word is None or rules.meaning(word) in ("passed", "failed") else f"status {word}",
        "flags": flags,
        "columns": [name for kind in ("verdict", "score", "status", "error") if (name := rules.column(kind, values))],
    }
    return outcome, faults


def combined_outcome(values: dict[str, Any], rules: TableRules) -> RowOutcome:
    """What the columns of a row say together. A truth, a word and a full or empty score that contradict one
    another decide nothing; a part of a score decides only where neither truth nor word is there."""
    faults: list[tuple[str, str]] = []
    word = text(rules.value("status", values))
    meaning = None if word is None else rules.meaning(word)
    if word is not None and meaning is None:
        faults.append(("unknown_status", f"the status {word!r} is of no known meaning (tables.toml): no outcome"))
    score = number_of(rules.value("score", values))
    on_scale = score is not None and rules.score.lowest <= score <= rules.score.highest
    if score is not None and not on_scale:
        scale = f"{rules.score.lowest:g} to {rules.score.highest:g}"
        faults.append(("score_off_scale", f"the score {score:g} is off the scale from {scale}: no outcome"))
    named = {truth_of(rules.value("verdict", values)), {"passed": True, "failed": False}.get(meaning or "")} - {None}
    answers = named | ({by_score(score, rules)} - {None} if score is not None and on_scale else set())
    if meaning == "infra":
        return "infra_error", None, [], faults
    if len(answers) > 1:
        columns = " and ".join(name for kind in ANSWERS if (name := rules.column(kind, values)))
        faults.append(("contradictory_row", f"{columns} contradict each other: no outcome"))
        return "unscorable", None, [], faults
    if named:
        return "scored", bool(named.pop()), [], faults
    if score is not None and on_scale:
        flags = ["partial_reward"] if by_score(score, rules) is None else ["negative_score"] if score < 0 else []
        return "scored", score >= rules.score.pass_from, flags, faults
    status = "unscorable" if faults else "not_scored"
    if not faults and meaning is None:
        faults.append(("missing_score", "the columns for the outcome are empty: no outcome"))
    return status, None, [], faults


def by_score(score: float, rules: TableRules) -> bool | None:
    """What a score says by itself: all of it, or nothing; None for a part, of which the benchmark says what it is."""
    return True if score >= rules.score.pass_from else False if score <= 0 else None


def text(value: Any) -> str | None:
    """A text that is not blank, or a whole number as text; None for any other value."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip() if isinstance(value, str) and value.strip() else None


def truth_of(value: Any) -> bool | None:
    """True or false, also written as 1 or 0; None for any other value."""
    return bool(value) if isinstance(value, bool | int | float) and value in (0, 1) else None


def attempt_of(value: Any) -> int | None:
    """Which attempt it was, if that is a number."""
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 10 else count_of(value)
