"""`openclawbench ledger`: what a language model's answers cost, what was lost, whether they are sound."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from openclawbench.base.terminal import errors, one_line, output, safe, table
from openclawbench.cli.options import DATA, Data, Json
from openclawbench.cli.write_output import write_output
from openclawbench.errors import NEEDS_A_PERSON
from openclawbench.judge.ledger.sqlite_file import reading

app = typer.Typer(
    help="The answers of a language model: what they cost, and whether they are sound.", no_args_is_help=True
)
CALLS_SHOWN = 20  # calls without an answer that are printed; --json has all


@app.command()
def stats(data: Data = DATA, json_out: Json = False) -> None:
    """Answers, tokens and USD; every call that may have been paid for without an answer."""
    from openclawbench.judge.ledger import report as ledger_report
    from openclawbench.storage.data_folder import DataFolder

    with reading(DataFolder(data).ledger) as connection:
        totals = ledger_report.stats(connection)
    if json_out:
        print(json.dumps(totals, indent=1, ensure_ascii=False))
    else:
        print_stats(output(), totals)


def print_stats(console: Console, totals: dict[str, Any]) -> None:
    """Tables for people."""
    for title, name in (
        ("Answers", "answers"),
        ("Questions", "questions"),
        ("Endpoints", "endpoints"),
        ("Responses that are not an answer", "unread_responses"),
    ):
        if rows := totals[name]:
            console.print(table(title, list(rows[0]), (map(safe, map(str, row.values())) for row in rows)))
    console.print(f"{totals['usd']} USD; {totals['attempts']} attempts, {totals['corrective']} corrective questions")
    if totals["estimated_usage"]:
        console.print(f"{totals['estimated_usage']} answers have no plausible usage: it is estimated")
    for name, meaning in (
        ("maybe_paid_without_answer", "calls may have been paid for without an answer"),
        ("in_flight", "calls are in flight, or were when their run was killed"),
    ):
        console.print(f"{len(totals[name])} {meaning}")
        for row in totals[name][:CALLS_SHOWN]:
            console.print("  " + one_line(" ".join(f"{key}={value}" for key, value in row.items())))
        if len(totals[name]) > CALLS_SHOWN:
            console.print(f"  and {len(totals[name]) - CALLS_SHOWN} more: --json lists them")


@app.command()
def verify(data: Data = DATA) -> None:
    """Check the file, and every answer against its verbatim response. Exit status 1 if something is wrong."""
    from openclawbench.judge.ledger import report as ledger_report
    from openclawbench.storage.data_folder import DataFolder

    with reading(DataFolder(data).ledger) as connection:
        count = 0
        for count, fault in enumerate(ledger_report.faults(connection), start=1):  # noqa: B007 (counted)
            errors().print(one_line(fault))
        answers = ledger_report.stats(connection)["answers"] if not count else []
    if count:
        raise typer.Exit(NEEDS_A_PERSON)
    output().print(f"{sum(row['answers'] for row in answers)} answers, nothing wrong")


@app.command()
def export(
    data: Data = DATA,
    to: Annotated[Path | None, typer.Option("-o", "--output", help="File; stdout without it.")] = None,
) -> None:
    """Every answer as JSONL, the response verbatim."""
    from openclawbench.judge.ledger import report as ledger_report
    from openclawbench.storage.data_folder import DataFolder

    with reading(DataFolder(data).ledger) as connection:
        write_output(
            (json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in ledger_report.export_answers(connection)),
            to,
        )


@app.command()
def merge(data: Data = DATA) -> None:
    """Merge the ledgers of runs over shares (--shard); a run without --shard does it too."""
    from openclawbench.judge.ledger import merge_shards as share_ledgers
    from openclawbench.storage.data_folder import DataFolder

    folder = DataFolder(data)
    with folder.locked():
        count = share_ledgers.merge(folder.ledger)
    output().print(f"{count} ledgers of shares are merged" if count else "there is no ledger of a share to merge")


@app.command()
def compact(data: Data = DATA) -> None:
    """Free unused space; no answer is removed."""
    from openclawbench.judge.ledger import report as ledger_report
    from openclawbench.storage.data_folder import DataFolder

    before, after = ledger_report.compact(DataFolder(data).ledger)
    output().print(f"{before / 1e6:.1f} MB before, {after / 1e6:.1f} MB now")
