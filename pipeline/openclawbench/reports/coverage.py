"""The coverage report: how sessions and outcomes were matched (paper C.1), and the problems found on either side."""

from functools import partial
from typing import TYPE_CHECKING, Any

from openclawbench.intake.intake import Intake
from openclawbench.records.oracle import Contradiction, Coverage, OracleCategory, UnmatchedRow
from openclawbench.reports import plots
from openclawbench.reports.counting import share
from openclawbench.reports.section import Report, Row, Section, Tables
from openclawbench.reports.settings import EvidenceReportRules
from openclawbench.tables.record import TRAJECTORY_KEY, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "coverage"
READS: list[type[Record]] = [Coverage, Contradiction, UnmatchedRow]
COLUMNS = {
    "source_model": "source model",
    "subset": "subset of a session by the run manifest, else by its outcome; of a row by its session, else by the "
    "row itself",
    "sessions": "trajectories",
    "matched": "those that have an outcome record",
    "scored": "of these, those with a pass or a fail",
    "passed": "of these, those that passed",
    "failures_only": "of `scored`, failures of BFCL categories without a result file: their passes are unknown, so no "
    "share counts them",
    "pass_share": "`passed` of `scored` less `failures_only`; a dash if nothing is left",
    "infra_errors": "of `matched`, those whose run did not complete",
    "not_scored": "of `matched`, those that nothing evaluated",
    "unscorable": "of `matched`, those whose outcome cannot be determined, including contradictions",
    "unmatched_sessions": "trajectories without an outcome record",
    "contradictions": "trajectories whose records contradict each other",
    "oracle_rows": "outcome records that were read",
    "unmatched_rows": "those that no trajectory got; the next three columns give reasons; the others name no session "
    "here, or a run or task that the run manifest does not have; each is listed below",
    "no_manifest_row": "of `unmatched_rows`, tasks for which the run manifest names no session",
    "ambiguous_attempts": "of `unmatched_rows`, tasks with several attempts, and nothing says which was scored",
    "ambiguous_basenames": "of `unmatched_rows`, those whose session name is not unique",
    "duplicate_rows": "records beyond the first of a trajectory whose records agree",
    "set_aside_rows": "records without an evaluation (unscorable, not scored) of a run that has others with one",
}
REASONS = {  # reason code of an unused row -> its meaning
    "no_session": "no session here has this name",
    "no_trajectory": "the session that it names gave no trajectory, or several",
    "ambiguous_basename": "several sessions have this name, and no session id says which is meant",
    "no_manifest_row": "the run manifest names no session for its task",
    "other_run": "the run manifest names sessions of other runs or attempts for its task only",
    "ambiguous_attempts": "the task was attempted several times, and nothing says which attempt was scored",
    "other_task": "the run manifest names another task for its session",
    "set_aside": "it does not evaluate the run, and another record of the session does",
}
FATES = {  # outcome state of a session -> its colour in the picture
    "scored": "#0072b2",
    "infra_errors": "#d55e00",
    "not_scored": "#e69f00",
    "unscorable": "#cc79a7",
    "unmatched_sessions": "#999999",
}


def coverage_report(tables: Tables, intake: Intake) -> Report:
    """The report, from the tables of READS and the intake. Raises NotFound (from `tables`) if one is stale."""
    rows = [row | {"pass_share": pass_share(row)} for row in tables(Coverage).collect().to_dicts()]
    return Report(
        name=NAME,
        title="Coverage report",
        about="How trajectories and task outcomes were matched. An outcome is context, never a label, and no label "
        "depends on it.",
        sections=[
            by_subset(rows),
            extremes(rows),
            categories(intake),
            contradictions(tables),
            unmatched(tables),
            intake_notes(intake),
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
    """Share of passes among the scored trajectories whose BFCL category can show passes."""
    return share(row["passed"], row["scored"] - row["failures_only"])


def extremes(rows: list[Row]) -> Section:
    """Subsets in which nothing passed, or everything."""
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
    """The result of reading each category of each BFCL tree."""
    rows = [OracleCategory.model_validate(category).model_dump() for category in intake.categories]
    verdicts = sorted({row["verdict"] for row in rows})
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
            "inference_errors": "results that are not an answer, because the call failed: infra_error",
            "no_manifest_row": "tasks for which the run manifest names no session",
            "ambiguous_attempts": "tasks with several attempts, and nothing says which was scored",
            "other_run": "tasks for which the run manifest names sessions of other runs or attempts only",
        },
        rows=rows,
        facts={verdict: sum(row["verdict"] == verdict for row in rows) for verdict in verdicts},
    )


def contradictions(tables: Tables) -> Section:
    """Every outcome record of a trajectory whose records contradict each other."""
    return Section(
        name="contradictions",
        title="Outcome records that contradict each other",
        about="All records of such a trajectory. The trajectory has no outcome: the pipeline never guesses which is "
        "true.",
        columns={
            "source_model": "source model",
            "trajectory_id": "trajectory",
            "row_id": "file and line of the record",
            "task_id": "task that it names",
            "success": "its value of `success`",
            "status": "its status",
            "error_type": "its error",
            "source_path": "the evaluator's file that it comes from",
        },
        rows=tables(Contradiction).sort(*TRAJECTORY_KEY, "row_id").collect().to_dicts(),
    )


def unmatched(tables: Tables) -> Section:
    """Every outcome record that no trajectory got."""
    rows = []
    for row in tables(UnmatchedRow).collect().to_dicts():
        file, _, line = row["row_id"].rpartition(":")
        rows.append(row | {"file": file, "line": int(line)})
    return Section(
        name="unmatched_rows",
        title="Outcome records without a trajectory",
        about="By file and line. Reasons: "
        + "; ".join(f"{name}: {meaning}" for name, meaning in REASONS.items())
        + ".",
        columns={
            "file": "file of the record",
            "line": "its line",
            "source_model": "source model",
            "native_session_basename": "session, as the record writes it",
            "session_id": "session id that it gives",
            "task_id": "task that it names",
            "sessions_named": "sessions here that it can mean",
            "reason": "why it is not used",
        },
        rows=rows,
        facts={name: count for name in REASONS if (count := sum(row["reason"] == name for row in rows))},
        definitions={name: f"{meaning[0].upper()}{meaning[1:]}." for name, meaning in REASONS.items()},
        shown=EvidenceReportRules.load().unmatched_rows,
    )


def intake_notes(intake: Intake) -> Section:
    """Faults and warnings of reading the outcomes and the run manifest."""
    kinds = ("oracle", "bfcl", "run_manifest")
    rows: list[Row] = [{**fault, "kind": "fault"} for fault in intake.faults if fault["reason"].startswith(kinds)]
    rows += [{"file": None, "line": None, **warning, "kind": "warning"} for warning in intake.warnings]
    rows += [{**file, "kind": "not used"} for file in intake.unused]
    return Section(
        name="said",
        title="Faults and warnings while reading",
        about="A fault needs a correction; a warning needs attention; a file that is not used lies in the oracle "
        "folder and gives no outcome. The JSON file has the full sentences.",
        columns={
            "kind": "fault, warning or not used",
            "reason": "reason code (README, Bad input)",
            "file": "file or folder",
            "line": "line, if the note is about one line",
        },
        rows=rows,
        facts=dict(intake.counts),
    )


def picture(rows: list[Row]) -> "Figure":
    """The fates of the sessions of each model and subset, and the pass share of the scored ones. A subset with outcome
    records but without sessions has a row as well."""
    height = 1.8 + 0.24 * max(2, len(rows))
    figure, (fates, shares) = plots.new_figure(10, height, panels=2, ratios=(2, 1), same_rows=True)
    parts = {name: [row[name] for row in rows] for name in FATES}
    names = [f"{row['source_model']}: {row['subset'] or 'no subset'}" for row in rows]
    plots.stacked(figure, fates, names, parts, "Trajectories by outcome state", FATES)
    fates.xaxis.set_major_locator(plots.whole_numbers())
    for place, row in enumerate(rows):
        if not row["sessions"]:
            plots.behind(fates, f"no trajectory, outcome records: {row['oracle_rows']}", 0, place)
    pass_shares(shares, rows)
    return figure


def pass_shares(axes: "Axes", rows: list[Row]) -> None:
    """A mark at each pass share, in another colour at 0 and 100 %; no mark where nothing is scored."""
    for place, row in enumerate(rows):
        if (passed_share := row["pass_share"]) is not None:
            colour: Any = FATES["infra_errors"] if passed_share in (0.0, 1.0) else FATES["scored"]
            axes.plot(100 * passed_share, place, "o", color=colour, markersize=5, clip_on=False, zorder=3)
    axes.set_xlim(0, 100)
    axes.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    axes.tick_params(left=False, labelleft=False)
    axes.grid(axis="x", linewidth=0.3)
    axes.set_xlabel("% of the scored (0 and 100 in another colour)")
    axes.set_title("Passed", loc="left")
