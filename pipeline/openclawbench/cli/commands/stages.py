"""`openclawbench run` and one command for each stage that needs no options of its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openclawbench.base.terminal import errors, notices, one_line, output, safe
from openclawbench.cli.choices import STAGES
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
from openclawbench.errors import NEEDS_A_PERSON, UsageError

if TYPE_CHECKING:
    from openclawbench.api import RunResult

LastStage = Annotated[
    str, typer.Option("--to", help=f"Last stage: {', '.join(STAGES)}.", autocompletion=choices(*STAGES))
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
    if to not in STAGES:
        raise UsageError(f"--to {to}: there is no such stage. Use one of: {', '.join(STAGES)}.")
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
    from openclawbench import api
    from openclawbench.cli.progress import ConsoleProgress
    from openclawbench.cli.render.run import exit_line, print_lines

    with ConsoleProgress(quiet=json_out) as progress:
        result = api.run(path, to=verb, annotation_pass=annotation_pass, progress=progress, debug=debug, **flags)
    for lines in (result.setting_notes, result.needs_a_person, result.independence, result.warnings):
        print_lines(notices(), lines)
    if json_out:
        print(json.dumps(result.as_dict, indent=1, ensure_ascii=False))
    else:
        print_result(result)
    print_lines(notices(), result.left_in)
    if not json_out and (result.redone or result.report.released):
        print_lines(notices(), result.judges)
        print_lines(notices(), [f"warning: {caution}" for caution in result.cautions], style="yellow")
    if not result.ok:
        errors().print(
            one_line(exit_line(result.reasons, verb, result.release is not None, result.report.unjudged is None)),
            style="yellow",
        )
        raise typer.Exit(NEEDS_A_PERSON)


def print_result(result: "RunResult") -> None:
    """What the run made. Two lines at most where nothing has changed."""
    from openclawbench.cli.render.run import print_release, print_share
    from openclawbench.cli.render.stage_results import print_stage_result
    from openclawbench.inspect.reports import table_report
    from openclawbench.storage.data_folder import DataFolder

    console, verb, report = output(), result.to, result.report
    is_unchanged = not result.redone and not report.released
    if is_unchanged:
        console.print(f"{verb}: nothing has changed, nothing was redone")
    if report.share is not None:
        print_share(console, report, verb, result.data)
    elif result.release is not None:
        if is_unchanged:
            console.print(f"release: {safe(str(result.release))}", style="green")
        else:
            print_release(console, result)
    elif not is_unchanged or verb != "release":
        print_stage_result(console, verb, report)
    if verb == "fuse" and report.tables is not None:
        tables = report.tables
        coverage = table_report("coverage", tables.run, tables.__getitem__, with_inputs=True)
        console.print(f"\n{write_report(DataFolder(result.data), coverage)}")
