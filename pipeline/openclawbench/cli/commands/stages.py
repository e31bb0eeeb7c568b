"""`openclawbench run` and one command for each stage that needs no options of its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from openclawbench.base.terminal import errors, one_line, output
from openclawbench.cli.commands.report.commands import write_report
from openclawbench.cli.options import (
    ASKING,
    DATA,
    ENGINE,
    INPUTS,
    JUDGE,
    NO_FLAGS,
    PACKET,
    RELEASING,
    Data,
    Debug,
    Flags,
    Group,
    Json,
    choices,
    with_settings,
)
from openclawbench.cli.progress import ConsoleProgress
from openclawbench.cli.render.run import (
    exit_line,
    print_coverage,
    print_inputs,
    print_lines,
    print_packets,
    print_release,
    print_share,
)
from openclawbench.errors import NEEDS_A_PERSON, UsageError
from openclawbench.flow import VERBS
from openclawbench.inspect.reports import table_report
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace import run_summary
from openclawbench.workspace.certificates import certificate_lines
from openclawbench.workspace.release_settings import describe_finds
from openclawbench.workspace.second_pass import independence_warnings
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import RunReport, update

LastStage = Annotated[
    str, typer.Option("--to", help=f"Last stage: {', '.join(VERBS)}.", autocompletion=choices(*VERBS))
]
JUDGED: tuple[Group, ...] = (INPUTS, JUDGE, PACKET, ENGINE, ASKING)


@with_settings(*JUDGED, RELEASING)
def run(
    data: Data = DATA,
    to: LastStage = "release",
    json_out: Json = False,
    debug: Debug = False,
    flags: Flags = NO_FLAGS,
) -> None:
    """Everything that is stale, from raw sessions to the release."""
    if to not in VERBS:
        raise UsageError(f"--to {to}: there is no such stage. Use one of: {', '.join(VERBS)}.")
    run_to(to, data, json_out, debug=debug, **flags)


def stage_command(verb: str, *groups: Group) -> Callable[..., None]:
    """The command of a stage, with the options of these groups."""

    @with_settings(*groups)
    def command(data: Data = DATA, json_out: Json = False, debug: Debug = False, flags: Flags = NO_FLAGS) -> None:
        run_to(verb, data, json_out, debug=debug, **flags)

    return command


normalize = stage_command("normalize", INPUTS, ENGINE)
enrich = stage_command("enrich", INPUTS, ENGINE)
fuse = stage_command("fuse", INPUTS, ENGINE)
slice_ = stage_command("slice", INPUTS, ENGINE)
onset = stage_command("onset", INPUTS, ENGINE)
packet = stage_command("packet", INPUTS, PACKET, ENGINE)
merge = stage_command("merge", *JUDGED)
release = stage_command("release", *JUDGED, RELEASING)


def run_to(verb: str, path: Path, json_out: bool, annotation_pass: int = 1, debug: bool = False, **flags: Any) -> None:
    """Bring a data folder up to date as far as a verb, and print what happened. Exit status 1 if a person is needed."""
    data = DataFolder(path)
    chosen = settings(data, **flags)
    with ConsoleProgress(quiet=json_out) as progress:
        report = update(data, chosen, verb, progress, annotation_pass, debug=debug)
    print_lines(errors(), run_summary.complaints(report))
    print_lines(errors(), independence_warnings(chosen))
    print_lines(errors(), run_summary.warnings(report))
    reasons = run_summary.reasons_for_a_person(report, chosen)
    if json_out:
        print(json.dumps(run_summary.as_data(verb, report, data, reasons), indent=1, ensure_ascii=False))
    else:
        print_report(verb, report, data)
    if report.released is not None:
        print_lines(errors(), describe_finds(data))
        if not json_out:
            assert report.tables is not None
            print_lines(errors(), certificate_lines(data, report.tables.run))
            cautions = [f"warning: {caution}" for caution in run_summary.cautions(report)]
            print_lines(errors(), cautions, style="yellow")
    if reasons:
        errors().print(one_line(exit_line(reasons, verb, report.released is not None)), style="yellow")
        raise typer.Exit(NEEDS_A_PERSON)


def print_report(verb: str, report: RunReport, data: DataFolder) -> None:
    """Tables for people."""
    console = output()
    if not report.redone and not report.released:
        console.print(f"{verb}: nothing has changed, nothing was redone")
    print_inputs(console, report.inputs)
    if report.share is not None:
        print_share(console, report, verb, data)
    elif verb == "fuse":
        assert report.tables is not None
        console.print()
        print_coverage(console, report)
        tables = report.tables
        coverage = table_report("coverage", tables.run, tables.__getitem__, with_inputs=True)
        console.print(f"\n{write_report(data, coverage)}")
    elif verb == "packet":
        print_packets(console, report)
    elif verb == "release":
        print_release(console, report, data)
