"""Explain, the outcome of a trajectory: its oracle rows and how they were joined, or why it has none. Context only."""

from typing import TYPE_CHECKING, Any

from openclawbench.intake.oracles.sessions import AMBIGUOUS_ATTEMPTS, NO_MANIFEST_ROW, OTHER_RUN, OTHER_TASK
from openclawbench.records.oracle import Fused, OracleRow, SourceOutcome
from openclawbench.records.session import Trajectory
from openclawbench.rules.intake.oracle import OracleRules

if TYPE_CHECKING:
    from openclawbench.inspect.explain.explain import TrajectoryTables

Row = dict[str, Any]
SHOWN = 5  # rows of other sessions with the same task
SAID = ("row_id", "status", "success", "task_id", "run_id", "attempt", "error_type", "error_message")
NOT_JOINED = {
    NO_MANIFEST_ROW: "the run manifest names no session for its task",
    OTHER_RUN: "the run manifest names sessions of other runs or attempts for its task only",
    AMBIGUOUS_ATTEMPTS: "the run manifest names several sessions for its task, and not which of them was scored",
    OTHER_TASK: "it names another task than the run manifest does for this session",
}


def outcome(tables: "TrajectoryTables") -> Row:
    """The outcome: the oracle rows that count and those that are set aside, each with file, line and how it was joined;
    similar rows that are not joined, with the reason; and why there is no outcome, if it is missing."""
    fused, trajectory = tables.rows(Fused)[0], tables.rows(Trajectory)[0]
    fields = {name: fused[name] for name in ("task_id", "subset", "oracle_outcome", "oracle_match")}
    rows = {row["row_id"]: row for row in [*rows_of_model(tables), *source_outcome_rows(tables)]}
    joined = [joined_row(tables, rows[oracle_row], trajectory, set_aside=False) for oracle_row in fused["oracle_rows"]]
    joined += [
        joined_row(tables, rows[row_id], trajectory, set_aside=True) for row_id in fused["oracle_rows_set_aside"]
    ]
    unjoined = [] if joined else near(fused, trajectory, rows.values())
    return {**fields, "rows": joined, "not_joined": unjoined, "why_none": why_none(tables, fused, joined)}


def rows_of_model(tables: "TrajectoryTables") -> list[Row]:
    """Every oracle row of the source model, as it was read."""
    shards = tables.run.intake.oracle_rows.values()
    return [row for rows in shards for row in rows if row["source_model"] == tables.key.source_model]


def source_outcome_rows(tables: "TrajectoryTables") -> list[Row]:
    """The outcomes in the source itself, under the ids that fusion gives them."""
    first = f"source:{tables.key.trajectory_id}"
    rows = [row["oracle"] for row in tables.rows(SourceOutcome)]
    blank = dict.fromkeys(OracleRow.model_fields)
    return [blank | row | {"row_id": first if n == 1 else f"{first}#{n}"} for n, row in enumerate(rows, 1)]


def joined_row(tables: "TrajectoryTables", row: Row, trajectory: Row, *, set_aside: bool) -> Row:
    """An oracle row of this session, and how it was joined."""
    category = category_of(tables, row)
    message = category["message"] if category and row["status"] == "unscorable" else None
    fields = {name: row[name] for name in SAID}
    return {**fields, "joined": how(row, category, trajectory), "set_aside": set_aside, "category": message}


def category_of(tables: "TrajectoryTables", row: Row) -> Row | None:
    """The category of the BFCL tree that a row comes from; None for other rows."""
    file = row["row_id"].rpartition(":")[0]
    categories = tables.run.intake.categories
    return next(
        (category for category in categories if file in (category["result_file"], category["score_file"])), None
    )


def categories_of_task(tables: "TrajectoryTables", task_id: str | None) -> list[Row]:
    """What BFCL trees say about the category of a task of this source model."""
    category = OracleRules.load().category_in(task_id)
    of_model = (
        category_row
        for category_row in tables.run.intake.categories
        if category_row["source_model"] == tables.key.source_model
    )
    return [row for row in of_model if category is not None and row["category"] == category]


def how(row: Row, category: Row | None, trajectory: Row) -> str:
    """The key by which a row was joined, in words."""
    name, own = row["basename"], trajectory["native_session_basename"]
    if row["row_id"].startswith("source:"):
        file = (row["evaluator"] or {}).get("source_path")
        return "with the session: its own source carries it" + (f", by {file}" if file else "")
    if name is None:
        return f"by the session id {row['session_id']}"
    copy = "" if own in (name, name.rpartition("/")[2]) else f", a name of the session {own}"
    if category is not None:
        return f"by the run manifest, which names the session {name} for the task {row['task_id']}{copy}"
    also = f" and the session id {row['session_id']}" if row["by_session_id"] else ""
    return f"by the {'path' if '/' in name else 'basename'} {name}{also}{copy}"


def near(fused: Row, trajectory: Row, rows: Any) -> list[Row]:
    """Rows that name this session or its task and are not joined with it, each with the reason."""
    names = {trajectory["native_session_basename"], *trajectory["aliases"]}
    task = OracleRules.load().canonical_id(fused["task_id"])
    naming = [row for row in rows if row["basename"] in names or is_id(row, trajectory)]
    same_task = [row for row in rows if row not in naming and task is not None and row["task_id_canonical"] == task]
    near_rows = [*naming, *sorted(same_task, key=lambda row: row["row_id"])[:SHOWN]]
    return [{name: row[name] for name in SAID} | {"reason": why_not(row)} for row in near_rows]


def is_id(row: Row, trajectory: Row) -> bool:
    """True if a row without a basename has the session's id."""
    return row["basename"] is None and row["session_id"] is not None and row["session_id"] == trajectory["session_id"]


def why_not(row: Row) -> str:
    """Why a row is not joined with a session that it resembles."""
    if row["unjoined"] is not None:
        return NOT_JOINED[row["unjoined"]]
    if row["sessions_named"] > 1:
        return f"{row['sessions_named']} sessions go by what it names"
    if row["by_session_id"] and row["sessions_named"] == 0:
        return "no session goes by the name and the id that it has"
    return f"it is of the session {row['basename'] or row['session_id']}"


def why_none(tables: "TrajectoryTables", fused: Row, joined: list[Row]) -> str | None:
    """Why a trajectory has no outcome; None if it has one."""
    if fused["oracle_outcome"] is not None:
        return None
    if fused["oracle_match"] == "unmatched":
        refused = sum("line" in fault for fault in tables.run.intake.faults)
        messages = [
            category["message"] for category in categories_of_task(tables, fused["task_id"]) if category["message"]
        ]
        messages += (
            [f"lines of input that were refused: {refused} (`openclawbench status` names them)"] if refused else []
        )
        return "; ".join(["no oracle row is joined with this session", *messages])
    if fused["oracle_match"] == "contradiction":
        return "its oracle rows contradict each other, so that none of them counts"
    reasons = filter(None, (row["category"] or row["error_message"] or row["error_type"] for row in joined))
    return ": ".join([f"its status is {fused['oracle']['status']}", *list(reasons)[:1]])
