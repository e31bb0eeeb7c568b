"""What the other columns of a row say of the session in it: task, model, licence, and how the run ended."""

import re
from typing import Any

from openclawbench.base.session_names import safe_name
from openclawbench.rules.intake.tables import ANSWERS, TableRules
from openclawbench.rules.loading.rule_file import canonical_digest
from openclawbench.sources.io.json_values import count_of, number_of
from openclawbench.sources.tables.rows import TableRow

PART_OF_TABLE = re.compile(r"[-_.][0-9]+-of-[0-9]+$")  # as data sets number the parts of a table
RowOutcome = tuple[str, bool | None, list[str], list[tuple[str, str]]]  # status, success, flags, faults


class ScoreRanges:
    """The lowest and the highest value of each column of scores in a file, which tell its scale."""

    def __init__(self) -> None:
        self.of_column: dict[str, tuple[float, float]] = {}

    def note(self, values: dict[str, Any], rules: TableRules) -> None:
        """Take in the score of a row."""
        column = rules.column("score", values)
        score = None if column is None else number_in(values[column])
        if column is not None and score is not None:
            lowest, highest = self.of_column.get(column, (score, score))
            self.of_column[column] = min(lowest, score), max(highest, score)


def facts_of(row: TableRow, rules: TableRules) -> dict[str, Any]:
    """{number, part, id, task, model, benchmark, license} of a row, nulls left out; small and JSON. How the run ended,
    which the other rows of the file may tell, adds add_outcome().

    `part`: whether the session is not bytes of the file, so that lines in it are lines of the value.
    """
    values = row.values
    name = text(rules.value("task", values))
    subset, benchmark = word(rules.value("subset", values)), text(rules.value("benchmark", values))
    task = {"subset": subset or benchmark, "task_id": name, "attempt": attempt_of(rules.value("attempt", values))}
    known = {
        "number": row.number,
        "part": row.length is None,
        "id": text(rules.value("id", values)),
        "task": task if name is not None else None,
        "model": text(rules.value("model", values)),
        "benchmark": benchmark,
        "license": text(rules.value("license", values)),
    }
    return {name: value for name, value in known.items() if value is not None}


def add_outcome(facts: dict[str, Any], values: dict[str, Any], rules: TableRules, ranges: ScoreRanges) -> None:
    """Add to the facts of a row {outcome, faults}, where it has any. `ranges`: of the scores of the whole file.

    `outcome`: status, success, score, error_type, error_message, flags, and the columns that it was read from; absent
    where the row has no column for it. `faults`: (reason, sentence) pairs.
    """
    outcome, faults = outcome_of(values, rules, ranges)
    facts |= {name: value for name, value in (("outcome", outcome), ("faults", faults)) if value}


def table_name(path: str) -> str:
    """What names a table: its file, without endings and the number of a part; the folder of a file that is named by a
    number alone."""
    folder, _, file = path.rpartition("/")
    name = PART_OF_TABLE.sub("", file.split(".", 1)[0])
    return name if name and not name.isdecimal() else folder.rpartition("/")[2] or name


def source_model_of(facts: dict[str, Any]) -> str | None:
    """The source model that a row names, in a form that can be a folder's name; None if the row names no model."""
    model = safe_name(facts.get("model", "")).strip(". ")
    return model or None


def identity_of(facts: dict[str, Any], identity: str) -> str:
    """What tells the session of a row from those of other rows: its id, its task and attempt, and what it holds. Not
    how it ended: rows that differ in that alone are one session, whose outcome is then in doubt."""
    return canonical_digest([facts.get("id"), facts.get("task"), identity])


def outcome_of(
    values: dict[str, Any], rules: TableRules, ranges: ScoreRanges
) -> tuple[dict[str, Any] | None, list[tuple[str, str]]]:
    """(outcome, faults) of a row."""
    if not rules.says_how_it_ended(values):
        return None, []
    status, success, flags, faults = combined_outcome(values, rules, ranges)
    status_word = text(rules.value("status", values))
    is_verdict = status_word is not None and rules.meaning(status_word) in ("passed", "failed")
    outcome = {
        "status": status,
        "success": success,
        "score": number_in(rules.value("score", values)),
        "error_type": text(rules.value("error", values)),
        "error_message": None if status_word is None or is_verdict else f"status {status_word}",
        "flags": flags,
        "columns": [name for kind in ("verdict", "score", "status", "error") if (name := rules.column(kind, values))],
    }
    return outcome, faults


def combined_outcome(values: dict[str, Any], rules: TableRules, ranges: ScoreRanges) -> RowOutcome:
    """What the columns of a row say together. A truth, a word and a full or empty score that contradict one
    another decide nothing; a part of a score decides only where neither truth nor word is there."""
    faults: list[tuple[str, str]] = []
    status_word = text(rules.value("status", values))
    meaning = None if status_word is None else rules.meaning(status_word)
    if status_word is not None and meaning is None:
        problem = f"the status {status_word!r} is of no known meaning (tables.toml): no outcome"
        faults.append(("unknown_status", problem))
    score, by_score, off_scale = scored(values, rules, ranges)
    verdict = truth_of(rules.value("verdict", values), rules)
    named = {verdict, {"passed": True, "failed": False}.get(meaning or "")} - {None}
    if off_scale is not None and not named:
        faults.append(("score_off_scale", off_scale))
    is_part = score is not None and by_score is False and score > 0
    answers = named | ({by_score} - {None} if not is_part else set())
    if meaning == "infra":
        return "infra_error", None, [], faults
    if len(answers) > 1:
        columns = " and ".join(name for kind in ANSWERS if (name := rules.column(kind, values)))
        faults.append(("contradictory_row", f"{columns} contradict each other: no outcome"))
        return "unscorable", None, [], faults
    if named:
        return "scored", bool(named.pop()), [], faults
    if by_score is not None and score is not None:
        flags = ["partial_reward"] if is_part else ["negative_score"] if score < 0 else []
        return "scored", by_score, flags, faults
    status = "unscorable" if faults else "not_scored"
    if not faults and meaning is None:
        faults.append(("missing_score", "the columns for the outcome are empty or unreadable: no outcome"))
    return status, None, [], faults


def scored(
    values: dict[str, Any], rules: TableRules, ranges: ScoreRanges
) -> tuple[float | None, bool | None, str | None]:
    """(score, whether it passes, why it decides nothing) of a row, by the scale of its column."""
    column = rules.column("score", values)
    score = None if column is None else number_in(values[column])
    if column is None or score is None:
        return None, None, None
    stated = number_in(rules.value("max_score", values))
    if stated is not None:
        if stated > 0 and score <= stated:
            return score, score >= stated, None
        return score, None, f"the score {score:g} is off the scale to {stated:g} that its row states: no outcome"
    lowest, highest = ranges.of_column.get(column, (score, score))
    full = rules.score.full
    if lowest < rules.score.lowest or highest > full:
        written = f"{column} goes from {lowest:g} to {highest:g}" if lowest < highest else f"{column} is {score:g}"
        return score, None, f"{written}, and no column says what the full score is (max_score): no outcome"
    if score >= full or score <= 0:
        return score, score >= full, None
    if highest >= full:
        return score, False, None
    return score, None, f"{column} is {score:g}, and nothing says what the full score is (max_score): no outcome"


def text(value: Any) -> str | None:
    """A text that is not blank, or a whole number as text; None for any other value."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip() if isinstance(value, str) and value.strip() else None


def word(value: Any) -> str | None:
    """A text that is not blank; None for any other value: a number names nothing."""
    return text(value) if isinstance(value, str) else None


def number_in(value: Any) -> float | None:
    """A finite number, also one that is written as text; None for any other value."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return number_of(value)


def truth_of(value: Any, rules: TableRules) -> bool | None:
    """True or false, also written as 1 or 0 or in words; None for any other value."""
    if isinstance(value, str):
        known = rules.truth_of(value)
        return truth_of(number_in(value), rules) if known is None else known
    return bool(value) if isinstance(value, bool | int | float) and value in (0, 1) else None


def attempt_of(value: Any) -> int | None:
    """Which attempt it was, if that is a number."""
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 10 else count_of(value)
