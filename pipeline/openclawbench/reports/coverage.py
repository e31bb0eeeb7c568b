"""The coverage report: how sessions and outcomes met (paper C.1), what BFCL trees held, what is wrong with either."""

from functools import partial
from typing import TYPE_CHECKING, Any

from openclawbench.intake.intake import Intake
from openclawbench.records.oracle import Contradiction, Coverage, OracleCategory, UnmatchedRow
from openclawbench.reports import plots
from openclawbench.reports.counting import share
from openclawbench.reports.section import Report, Row, Section, Tables
from openclawbench.reports.settings import EvidenceReportRules
from openclawbench.tables.record import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "coverage"
READS: list[type[Record]] = [Coverage, Contradiction, UnmatchedRow]
COLUMNS = {
    "source_model": "source model",
    "subset": "subset: of a session by the run manifest, else by its outcome; of a row that of its session, else as "
    "the row says",
    "sessions": "trajectories",
    "matched": "those that have an outcome record",
    "scored": "of these, those with a pass or a fail",
    "passed": "of these, those that passed",
    "failures_only": "of `scored`, failures of BFCL categories without a result file: their passes are unknown, so no "
    "share counts them",
    "pass_share": "`passed` of `scored` less `failures_only`; none where nothing is left",
    "infra_errors": "of `matched`, those whose run did not complete",
    "not_scored": "of `matched`, those that nothing evaluated",
    "unscorable": "of `matched`, those whose outcome cannot be told; contradictions are among them",
    "unmatched_sessions": "trajectories without an outcome record",
    "contradictions": "trajectories whose records contradict each other",
    "oracle_rows": "outcome records that were read",
    "unmatched_rows": "those that no trajectory got; the next three say why; the others mean no session here, are "
    "of a run of which the run manifest names none, or name another task than it does; each stands below by name",
    "no_manifest_row": "of `unmatched_rows`, tasks for which the run manifest names no session",
    "ambiguous_attempts": "of `unmatched_rows`, tasks with several attempts, of which nothing says which was scored",
    "ambiguous_basenames": "of `unmatched_rows`, those whose name several sessions have",
    "duplicate_rows": "records beyond the first of a trajectory whose records agree",
    "set_aside_rows": "records that say nothing of a run (unscorable, not scored) beside others of it that do",
}
REASONS = {  # of a row that is not used -> what it means
    "no_session": "no session here is called so",
    "no_trajectory": "the session that it means gave no trajectory, or several",
    "ambiguous_basename": "several sessions are called so, and no session id says which",
    "no_manifest_row": "the run manifest names no session for its task",
    "other_run": "the run manifest names sessions of other runs or attempts for its task only",
    "ambiguous_attempts": "the task was attempted several times, and nothing says which attempt was scored",
    "other_task": "the run manifest says another task of its session",
    "set_aside": "it says nothing of the run, and another record of the session does",
}
FATES = {  # what became of a session, and its colour in the picture
    "scored": "#0072b2",
    "infra_errors": "#d55e00",
    "not_scored": "#e69f00",
    "unscorable": "#cc79a7",
    "unmatched_sessions": "#999999",
}


def coverage_report(tables: Tables, intake: Intake) -> Report:
    """Every section, from the tables of READS and what came in. Raises NotFound (from `tables`) where one is stale."""
    covered = tables(Coverage).collect().to_dicts()
    rows = [row | {"pass_share": pass_share(row)} for row in covered]
    return Report(
        name=NAME,
        title="Coverage report",
        about="How trajectories and task outcomes met. An outcome is context, never a label, and no label depends on "
        "it.",
        sections=[
            by_subset(rows),
            extremes(rows),
            categories(intake),
            contradictions(tables),
            unmatched(tables),
            said(intake),
        ],
    )


def by_subset(rows: list[Row]) -> Section:
    """Counts of each source model and subset."""
    names = [name for name in COLUMNS if name not in ("source_model", "subset", "pass_share")]
    total = {name: sum(row[name] for row in rows) for name in names}
    return Section(
        name="coverage",
        title="Coverage by source model and subset",
        about="sessions = matched + unmatched_sessions; matched = scored + infra_errors + not_scored + unscorable.",
        columns=COLUMNS,
        rows=rows,
        facts=total | {"pass_share": pass_share(total)},
        definitions={name: f"{text[0].upper()}{text[1:]}." for name, text in COLUMNS.items()},
        plot=partial(picture, rows),
    )


def pass_share(row: Row) -> float | None:
    """Which share passed of those whose category tells passes too."""
    return share(row["passed"], row["scored"] - row["failures_only"])


def extremes(rows: list[Row]) -> Section:
    """Subsets of which nothing or everything passed."""
    columns = ("source_model", "subset", "passed", "scored", "failures_only", "pass_share")
    return Section(
        name="extremes",
        title="Subsets at 0 % or 100 %",
        about="Nothing passed, or everything did. A broken harness or a lenient check is more often the cause than the "
        "model: look at the errors before the outcomes are used. Subsets of which only failures can be known are in no "
        "share (`failures_only`).",
        columns={name: COLUMNS[name] for name in columns},
        rows=[{name: row[name] for name in columns} for row in rows if row["pass_share"] in (0.0, 1.0)],
    )


def categories(intake: Intake) -> Section:
    """What each category of each BFCL tree came to."""
    found = [OracleCategory.model_validate(one).model_dump() for one in intake.categories]
    verdicts = sorted({row["verdict"] for row in found})
    return Section(
        name="bfcl_categories",
        title="Categories of BFCL trees",
        about="A pass is an id of the result file that the score file does not name, and only where as many pass as "
        "the score file's header says; else the whole category is unscorable.",
        columns={
            "source_model": "source model, as the settings map the tree's folder",
            "tree": "folder of the tree",
            "category": "category",
            "verdict": "scored; unscorable; failures_only: no result file; no_score: no score file",
            "reason": "why it is unscorable",
            "results": "lines of the result file",
            "total_count": "of the header",
            "correct_count": "of the header",
            "passed": "ids of the result file that the score file does not name",
            "failed": "ids of the score file",
            "inference_errors": "results that are no answer, because the call failed: infra_error",
            "no_manifest_row": "tasks for which the run manifest names no session",
            "ambiguous_attempts": "tasks with several attempts, of which nothing says which was scored",
            "other_run": "tasks for which the run manifest names sessions of other runs or attempts only",
        },
        rows=found,
        facts={verdict: sum(row["verdict"] == verdict for row in found) for verdict in verdicts},
    )


def contradictions(tables: Tables) -> Section:
    """Every record of a trajectory whose records contradict each other."""
    return Section(
        name="contradictions",
        title="Outcome records that contradict each other",
        about="All records of such a trajectory. It has no outcome; which of them is true is never guessed.",
        columns={
            "source_model": "source model",
            "trajectory_id": "trajectory",
            "row_id": "file and line of the record",
            "task_id": "task that it names",
            "success": "what it says",
            "status": "its status",
            "error_type": "its error",
            "source_path": "the evaluator's file that says it",
        },
        rows=tables(Contradiction).collect().to_dicts(),
    )


def unmatched(tables: Tables) -> Section:
    """Every record of which no trajectory has the outcome."""
    found = []
    for row in tables(UnmatchedRow).collect().to_dicts():
        file, _, line = row["row_id"].rpartition(":")
        found.append(row | {"file": file, "line": int(line)})
    return Section(
        name="unmatched_rows",
        title="Outcome records that no trajectory has",
        about="By file and line. Reasons: " + "; ".join(f"{name}: {what}" for name, what in REASONS.items()) + ".",
        columns={
            "file": "file of the record",
            "line": "its line",
            "source_model": "source model",
            "native_session_basename": "session, as the record writes it",
            "session_id": "session id that it says",
            "task_id": "task that it names",
            "sessions_named": "sessions here that it can mean",
            "reason": "why it is not used",
        },
        rows=found,
        facts={name: count for name in REASONS if (count := sum(row["reason"] == name for row in found))},
        definitions={name: f"{what[0].upper()}{what[1:]}." for name, what in REASONS.items()},
        shown=EvidenceReportRules.load().unmatched_rows,
    )


def said(intake: Intake) -> Section:
    """What was said while the outcomes and the run manifest were read."""
    kinds = ("oracle", "bfcl", "run_manifest")
    faults = [one for one in intake.faults if one["reason"].startswith(kinds)]
    rows: list[Row] = [{**one, "kind": "fault"} for one in faults]
    rows += [{"file": None, "line": None, **one, "kind": "warning"} for one in intake.warnings]
    rows += [{**one, "kind": "not used"} for one in intake.unused]
    return Section(
        name="said",
        title="Said while reading",
        about="Faults need a person; of warnings a person must know; what is not used lies in the oracle folder and "
        "gives no outcome. The sentences stand in the JSON file.",
        columns={
            "kind": "fault, warning or not used",
            "reason": "reason code (README, Bad input)",
            "file": "file or folder",
            "line": "line, where it is one line's fault",
        },
        rows=rows,
        facts=dict(intake.counts),
    )


def picture(rows: list[Row]) -> "Figure":
    """What became of the sessions of each model and subset, and which share of the scored ones passed. A subset that
    has outcome records and no session has its row too."""
    height = 1.8 + 0.24 * max(2, len(rows))
    figure, (fates, shares) = plots.new_figure(10, height, panels=2, ratios=(2, 1), same_rows=True)
    parts = {name: [row[name] for row in rows] for name in FATES}
    names = [f"{row['source_model']}: {row['subset'] or 'no subset'}" for row in rows]
    plots.stacked(figure, fates, names, parts, "Trajectories by what became of them", FATES)
    fates.xaxis.set_major_locator(plots.whole_numbers())
    for place, row in enumerate(rows):
        if not row["sessions"]:
            plots.behind(fates, f"no trajectory, outcome records: {row['oracle_rows']}", 0, place)
    pass_shares(shares, rows)
    return figure


def pass_shares(axes: "Axes", rows: list[Row]) -> None:
    """A mark at the pass share; nothing passed, or everything, in another colour; none where nothing is scored."""
    for place, row in enumerate(rows):
        if (found := row["pass_share"]) is not None:
            colour: Any = FATES["infra_errors"] if found in (0.0, 1.0) else FATES["scored"]
            axes.plot(100 * found, place, "o", color=colour, markersize=5, clip_on=False, zorder=3)
    axes.set_xlim(0, 100)
    axes.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    axes.tick_params(left=False, labelleft=False)
    axes.grid(axis="x", linewidth=0.3)
    axes.set_xlabel("% of the scored (0 and 100 in another colour)")
    axes.set_title("Passed", loc="left")
