"""`openclawbench report`: reports over the work tables, as files in work/reports/ and a headline on stdout."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from openclawbench.base.terminal import output, pluralize, safe, table
from openclawbench.cli.commands.report.gap import gap
from openclawbench.cli.commands.report.statistics import OutputFolder, statistics, write
from openclawbench.cli.options import DATA, Data, Json

if TYPE_CHECKING:
    from openclawbench.reports.section import Report, Section
    from openclawbench.storage.data_folder import DataFolder

app = typer.Typer(
    help="Reports over the work tables, written to work/reports/; `statistics` and `gap` over a release.",
    no_args_is_help=True,
)
app.command("statistics")(statistics)
app.command("gap")(gap)


@app.callback()
def report() -> None:
    """Reports over the work tables, written to work/reports/; `statistics` and `gap` over a release."""


@app.command()
def evidence(data: Data = DATA, json_out: Json = False) -> None:
    """Event categories (T9), alignment (T10), slices (T14), flags, statuses, silent rules, what no rule knows."""
    print_table_report("evidence", data, json_out, print_evidence)


@app.command()
def coverage(data: Data = DATA, json_out: Json = False) -> None:
    """How sessions and outcomes met (C.1): matched, unmatched, ambiguous, in conflict, unscorable, at 0 % or 100 %."""
    print_table_report("coverage", data, json_out, print_coverage_counts)


def print_coverage_counts(report: "Report", console: Console) -> None:
    """Every count of the whole corpus."""
    section = next(section for section in report.sections if section.name == "coverage")
    console.print(table(section.title, ["what", "count"], facts(section)))


@app.command()
def agreement(data: Data = DATA, json_out: Json = False) -> None:
    """Two annotation passes: binary, subtype and onset agreement, kappa, alpha, every disagreement (needs --pass 2)."""
    printer = headline_of("both_passes", "binary", "subtype", "onset", "disagreements")
    print_table_report("agreement", data, json_out, printer)


@app.command()
def triage(data: Data = DATA, json_out: Json = False) -> None:
    """What Stage A lets escape: the audit of its negatives, with intervals, an estimate for the corpus, and ids."""
    print_table_report("triage", data, json_out, headline_of("escape_rate"))


@app.command()
def conflicts(data: Data = DATA, json_out: Json = False) -> None:
    """Decided labels that their outcome contradicts (D.7): passes that are anomalous, failures that are normal."""
    print_table_report("conflicts", data, json_out, headline_of("counts"))


@app.command()
def models(data: Data = DATA, out: OutputFolder = None, json_out: Json = False) -> None:
    """What each source model did: availability, success, latency, tokens, cost, tool use and its tier, by mode."""
    print_table_report("models", data, json_out, print_models, out)


@app.command()
def tokens(data: Data = DATA, json_out: Json = False) -> None:
    """Tokens of a trajectory by stage: the fixed and the own part, the cached share, each version of the prompts."""
    print_table_report("tokens", data, json_out, print_tokens)


def print_tokens(report: "Report", console: Console) -> None:
    """Both tables."""
    for section in report.sections:
        columns = [name for name in section.columns if name not in ("is_measured", "characters")]
        rows = ([row[name] for name in columns] for row in section.rows)
        console.print(table(section.title, [name.replace("_", " ") for name in columns], rows))
    if not report.sections[0].facts["is_measured"]:
        console.print("Estimated from texts where no language model has answered.")


def print_models(report: "Report", console: Console) -> None:
    """The main numbers of each source model and mode."""
    from openclawbench.reports.models.report import HEADLINE, headline

    console.print(table(report.title, HEADLINE, headline(report)))


def headline_of(*names: str) -> "Callable[[Report, Console], None]":
    """A printer of the headline numbers of these sections."""

    def show(report: "Report", console: Console) -> None:
        sections = {section.name: section for section in report.sections}
        rows = [row for name in names for row in facts(sections[name])]
        console.print(table(report.title, ["what", "value"], rows))

    return show


def print_table_report(name: str, data: Path, json_out: bool, show: Any, out: Path | None = None) -> None:
    """Make a report over the work tables, and publish it."""
    from openclawbench.api import open_data
    from openclawbench.inspect.find import rows_of
    from openclawbench.inspect.reports import table_report

    run = open_data(data, may_be_new=True).state
    report = table_report(name, run, lambda record: rows_of(run, record), with_inputs=True)
    publish_report(run.data, report, json_out, show, out)


def publish_report(folder: "DataFolder", report: "Report", json_out: bool, show: Any, out: Path | None = None) -> None:
    """Write a report's files, to `out` or to the data folder; print the report as JSON, or its headline. Raises
    DataFolderLocked during a run."""
    from openclawbench.reports.files import as_json

    written = write_report(folder, report, out)
    if json_out:
        print(as_json(report.data()), end="")
        return
    console = output()
    show(report, console)
    console.print(f"\n{written}")


def write_report(folder: "DataFolder", report: "Report", out: Path | None = None) -> str:
    """Write a report's files, to `out` or to the data folder; returns a line that says where. Raises DataFolderLocked
    while a run is writing."""
    from openclawbench.reports.files import PICTURES, as_files

    files = as_files(report)
    if out is None:
        with folder.locked():
            where = folder.write_report(report.name, files)
    else:
        write(out, files)
        where = out
    drawn = (len(files) - 2) // len(PICTURES)  # each as a file of every kind
    kinds = " and ".join(kind.upper() for kind in PICTURES)
    pictures = f", and {pluralize(drawn, 'picture')} ({kinds})" if drawn else ""
    return f"{report.name} report: {safe(str(where))}/{report.name}.md, .json{pictures}"


def print_evidence(report: "Report", console: Console) -> None:
    """Categories, slices and the headline numbers."""
    from openclawbench.reports.counting import percent

    sections = {section.name: section for section in report.sections}
    for name, title, column, counted in (
        ("inventory", "category", "event_type", "steps"),
        ("slices", "slice", "slice_label", "trajectories"),
    ):
        rows = ([row[column], row[counted], percent(row["share"])] for row in sections[name].rows)
        console.print(table(sections[name].title, [title, counted, "share"], rows))
        console.print()
    named = ("slices", "alignment", "flags", "statuses", "rules", "unknown_tools", "unknown_commands")
    console.print(table("In numbers", ["what", "value"], [row for name in named for row in facts(sections[name])]))


def facts(section: "Section") -> list[list[object]]:
    """The headline numbers of a section."""
    from openclawbench.reports.counting import percent

    return [
        [f"{section.name}: {name.replace('_', ' ')}", percent(value) if name.endswith("share") else value]
        for name, value in section.facts.items()
    ]
