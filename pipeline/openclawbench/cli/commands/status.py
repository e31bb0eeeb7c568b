"""`openclawbench status`: which stages are up to date, what came in, what no rule knows."""

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from openclawbench.base.terminal import output, table, warn
from openclawbench.cli.options import DATA, INPUTS, NO_FLAGS, Data, Flags, Json, with_settings
from openclawbench.errors import NEEDS_A_PERSON

if TYPE_CHECKING:
    from openclawbench.runtime.run import Run

ROWS_SHOWN, NAME_SHOWN = 200, 120  # rows of a table, and characters of a name
RELEASE = {
    "none": "There is no release here.",
    "current": "The release is up to date: nothing has changed since it was made.",
    "stale": "The release is older than the data folder: run `openclawbench release` to make it again.",
}


@with_settings(INPUTS)
def status(data: Data = DATA, json_out: Json = False, flags: Flags = NO_FLAGS) -> None:
    """Which stages are up to date, what came in, what no rule knows."""
    from openclawbench.api import open_data
    from openclawbench.inspect import status as state
    from openclawbench.storage.data_folder import DataFolder
    from openclawbench.workspace.last_run import last_run
    from openclawbench.workspace.release_settings import release_commands
    from openclawbench.workspace.settings import usable_settings

    folder = DataFolder(data)
    chosen, problems = usable_settings(folder, **flags)
    for problem in problems:
        warn(problem)
    run = last_run(folder, chosen) if problems else open_data(data, may_be_new=True, **flags).state
    commands = release_commands(chosen)
    if json_out:
        print(json.dumps(state.as_data(run, commands), indent=1, ensure_ascii=False))
    else:
        print_status(run, commands, output())
    if problems:
        raise typer.Exit(NEEDS_A_PERSON)


def print_status(run: "Run", commands: list[str], console: Console) -> None:
    """Tables for people; one without rows is left out."""
    import polars as pl

    from openclawbench.cli.render.run import print_inputs
    from openclawbench.cli.render.trace_summary import format_total
    from openclawbench.inspect import status as state
    from openclawbench.inspect.find import has, rows_of
    from openclawbench.inspect.trace_totals import trace_totals
    from openclawbench.records.session import FileOutcome
    from openclawbench.runtime.active_runs import runs
    from openclawbench.workspace.file_outcomes import count_inputs, noted_files
    from openclawbench.workspace.run_summary import unusable_context, warning_rows

    def show(title: str, columns: list[str], rows: list[list[Any]]) -> None:
        if rows:
            console.print()
            console.print(table(title, columns, rows))

    names = ["stage", "shards", "done", "running", "stale", "failed", "rows", "seconds"]
    console.print(table(None, names, ([row[name] for name in names] for row in state.stages(run))))
    console.print(f"\n{RELEASE[state.release_state(run, commands)]}")
    active = [[row["host"], row["pid"], row["share"], len(row["shards"])] for row in runs(run.data)]
    show("Runs", ["host", "process", "share", "shards under way"], active)
    show("Failed shards", ["stage", "shard", "error"], cells(state.failures(run), "stage", "shard", "error"))
    if has(run, FileOutcome):
        files = noted_files(rows_of(run, FileOutcome))
        console.print()
        print_inputs(console, count_inputs(rows_of(run, FileOutcome)))
        columns = ["reason", "line", "message"]
        quarantined = files.filter(pl.col("disposition") == "quarantined").sort("path").to_dicts()
        show("Quarantined", columns, cells(quarantined, *columns))
        show("Files beside sessions that are not used", columns, cells(unusable_context(files), *columns))
        show("Kept with a warning", ["reason", "count", "where"], first_warnings(warning_rows(files)))
    show("Faults of the inputs", ["reason", "message"], cells(run.intake.faults, "reason", "message"))
    show("Of the oracle", ["reason", "message"], cells(run.intake.warnings, "reason", "message"))
    if any(run.intake.counts.values()):
        show("Oracle and run manifest", ["what", "count"], [list(item) for item in run.intake.counts.items()])
    behaviours = state.behaviours(run)
    show("How runs went", list(behaviours[0]) if behaviours else [], [list(row.values()) for row in behaviours])
    languages = state.languages(run)
    title = "Languages of the agents' own words (covered: in a language with word lists)"
    show(title, list(languages[0]) if languages else [], [list(row.values()) for row in languages])
    totals = [format_total(row) for row in trace_totals(run)]
    show("Traces added up", list(totals[0]) if totals else [], [list(row.values()) for row in totals])
    show("Known to no rule", ["what", "count"], most_frequent(state.count_unknown(run)))


def cells(rows: list[dict[str, Any]], *columns: str) -> list[list[Any]]:
    """These columns of some rows."""
    return [[row[column] for column in columns] for row in rows]


def first_warnings(warnings: list[dict[str, Any]]) -> list[list[Any]]:
    """(reason, count, where) of the first warnings; then the number of the others by reason."""
    rest: Counter[str] = Counter()
    for row in warnings[ROWS_SHOWN:]:
        rest[row["reason"]] += row["count"]
    rows = cells(warnings[:ROWS_SHOWN], "reason", "count", "message")
    return rows + [[reason, count, "in more files: --json"] for reason, count in sorted(rest.items())]


def most_frequent(counts: list[dict[str, Any]]) -> list[list[Any]]:
    """(what, count) in the order of names, shortened; of very many the most frequent, and the sum of the others."""
    most = {row["what"] for row in sorted(counts, key=lambda row: -row["count"])[:ROWS_SHOWN]}
    rows = [[row["what"][:NAME_SHOWN], row["count"]] for row in counts if row["what"] in most]
    rest = [row["count"] for row in counts if row["what"] not in most]
    return rows + ([[f"({len(rest)} more names: --json)", sum(rest)]] if rest else [])
