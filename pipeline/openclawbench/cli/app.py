"""The command line: thin. Parse, call, print. Exit status: 0 done, 1 a person is needed, 2 wrong use, 3 stopped."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from openclawbench import __version__
from openclawbench.base.terminal import errors, one_line, output, safe
from openclawbench.cli import second_pass
from openclawbench.cli import shards as shares
from openclawbench.cli import tables as report
from openclawbench.cli.ask_again import AskAgain, begin_rounds
from openclawbench.cli.asking import NOTHING, Asking, with_asking
from openclawbench.cli.commands import demo as demo_
from openclawbench.cli.commands import doctor as doctor_
from openclawbench.cli.commands import dry_run as dry_run_
from openclawbench.cli.commands import status as status_report
from openclawbench.cli.commands.audit import app as audit_group
from openclawbench.cli.commands.bench import bench
from openclawbench.cli.commands.diff import diff
from openclawbench.cli.commands.explain import explain
from openclawbench.cli.commands.export import export
from openclawbench.cli.commands.ledger import app as ledger_group
from openclawbench.cli.commands.push import push
from openclawbench.cli.commands.report import app as report_group
from openclawbench.cli.commands.report import coverage_of, leave
from openclawbench.cli.commands.show import show as show_
from openclawbench.cli.commands.trace import print_raw, raw_records
from openclawbench.cli.commands.validate import validate
from openclawbench.cli.commands.whatif import whatif
from openclawbench.cli.exit import carried_out
from openclawbench.cli.panels import InPanels
from openclawbench.cli.progress import Progress
from openclawbench.cli.release_options import Releasing, commands, left_in, with_releasing
from openclawbench.cli.run_summary import cautions_of, exit_of, last_line, why_a_person
from openclawbench.cli.session import Done, current, update
from openclawbench.cli.settings import settings
from openclawbench.cli.where import HERE, Where, with_where
from openclawbench.errors import UsageError
from openclawbench.flow import VERBS
from openclawbench.inspect.find import find
from openclawbench.inspect.sides import print_sides, sides, table_of_sides
from openclawbench.records.release import LabelAssignment, SummaryCount
from openclawbench.storage.data_folder import DataFolder

NEEDS_A_PERSON = 1
app = typer.Typer(
    name="openclawbench",
    cls=InPanels,
    help="Turns raw OpenClaw agent sessions into process-anomaly labels, each with its evidence and a quality tier.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(report_group, name="report")
app.add_typer(ledger_group, name="ledger")
app.command("validate")(validate)
app.add_typer(audit_group, name="audit")
Data = Annotated[Path, typer.Option("--data", envvar="OPENCLAWBENCH_DATA", help="The only folder written to.")]
Raw = Annotated[str | None, typer.Option("--raw", help="Raw sessions: RAW/<source_model>/**/*.jsonl; s3://… too.")]
Oracle = Annotated[Path | None, typer.Option("--oracle", help="Outcomes: a JSONL file, a BFCL tree, a folder of them.")]
JudgeName = Annotated[
    str | None, typer.Option("--judge", help="Who answers: rules, the embedded baseline, or openai, a language model.")
]
Model = Annotated[str | None, typer.Option("--model", help="Language model that is asked.")]
Unmatched = Annotated[
    str | None, typer.Option("--unmatched", help="Sessions without an outcome: exclude (from slices) or review.")
]
Json = Annotated[bool, typer.Option("--json", help="Print results as JSON.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks.")]
Id = Annotated[str, typer.Argument(help="Trajectory id, MODEL/ID, or the beginning of an id.")]
DATA = Path("data")


def carry_out(
    verb: str, data: Path, json_out: bool, debug: bool, raw: str | None, oracle: Path | None, **flags: Any
) -> Done:
    """Bring the folder up to the verb, print what happened, exit 1 where a person is needed."""
    annotation_pass = flags.pop("annotation_pass", 1)
    folder = DataFolder(data)
    chosen = settings(folder, raw=raw, oracle=oracle and str(oracle), **flags)
    with Progress(quiet=json_out) as progress:
        done = update(folder, chosen, verb, progress, annotation_pass, debug=debug)
    report.say(errors(), report.complaints(done))
    report.say(errors(), second_pass.notes(chosen))
    report.say(errors(), [*report.notes(done), *report.warnings(done.files)])
    why = why_a_person(done, chosen)
    if json_out:
        print(json.dumps(as_data(verb, done, folder) | {"exit": exit_of(why)}, indent=1, ensure_ascii=False))
    else:
        print_done(verb, done, folder)
    if done.released is not None:
        report.say(errors(), left_in(folder))
        if not json_out:
            report.say(errors(), [f"warning: {one}" for one in cautions_of(done)], style="yellow")
    if why:
        errors().print(one_line(last_line(why, verb, done.released is not None)), style="yellow")
        raise typer.Exit(NEEDS_A_PERSON)
    return done


def as_data(verb: str, done: Done, folder: DataFolder) -> dict[str, Any]:
    """What a verb prints, as plain data."""
    found: dict[str, Any] = {
        "verb": verb,
        "redone": done.redone,
        "stages": [vars(one) for one in done.reports],
        "sources": report.accounting(done.files),
        "needs_a_person": report.complaints(done),
        "warnings": [*report.notes(done), *report.warnings(done.files)],
    }
    if done.share is not None:
        found |= shares.as_data(done)
    elif verb == "release" and done.tables is not None:
        found["release"] = str(folder.release)
        found["left_in"] = left_in(folder)
        found["summary"] = report.headline(done.tables[SummaryCount].collect())
        found["splits"] = sides(table_of_sides(done.tables[LabelAssignment]))
        found["cautions"] = cautions_of(done)
    return found


def print_done(verb: str, done: Done, folder: DataFolder) -> None:
    """Tables for people."""
    console = output()
    if not done.redone and not done.released:
        console.print(f"{verb}: nothing has changed, nothing was redone")
    report.print_accounting(console, done.files)
    if done.share is not None:
        console.print(f"\n{shares.line(done, verb, folder)}", soft_wrap=True, highlight=False)
        return
    if verb == "fuse":
        console.print()
        report.print_coverage(console, done)
        assert done.tables is not None
        console.print(f"\n{leave(folder, coverage_of(done.tables.run, done.tables.__getitem__))}")
    if verb == "packet":
        console.print(report.packet_line(done))
    if verb == "release":
        console.print(report.outcome_line(done))
        console.print()
        report.print_headline(console, done)
        console.print()
        assert done.tables is not None
        print_sides(sides(table_of_sides(done.tables[LabelAssignment])), console)
        console.print(f"\nrelease: {safe(str(folder.release))}", style="green")
        if text := report.notice(report.headline(done.tables[SummaryCount].collect())):
            console.print(text)


@app.command()
@with_releasing("run")
@with_asking
@with_where
def run(
    data: Data = DATA,
    raw: Raw = None,
    oracle: Oracle = None,
    judge: JudgeName = None,
    model: Model = None,
    unmatched: Unmatched = None,
    to: Annotated[str, typer.Option("--to", help=f"Last stage: {', '.join(VERBS)}.")] = "release",
    where: Where = HERE,
    json_out: Json = False,
    debug: Debug = False,
    asking: Asking = NOTHING,
    releasing: Releasing = NOTHING,
) -> None:
    """Everything that is stale, from raw sessions to the release."""
    if to not in VERBS:
        raise UsageError(f"--to {to}: there is no such stage. Use one of: {', '.join(VERBS)}.")
    how = {"judge": judge, "model": model, "unmatched": unmatched}
    carry_out(to, data, json_out, debug, raw, oracle, **how, **where, **asking, **releasing)


def add_construct_verb(verb: str, text: str) -> None:
    """A verb that needs no judge."""

    @app.command(verb, help=text)
    @with_where
    def command(
        data: Data = DATA,
        raw: Raw = None,
        oracle: Oracle = None,
        where: Where = HERE,
        json_out: Json = False,
        debug: Debug = False,
    ) -> None:
        carry_out(verb, data, json_out, debug, raw, oracle, **where)


def add_judged_verb(verb: str, text: str) -> None:
    """A verb that may ask the judge."""

    @app.command(verb, help=text)
    @with_releasing(verb)
    @with_asking
    @with_where
    def command(
        data: Data = DATA,
        raw: Raw = None,
        oracle: Oracle = None,
        judge: JudgeName = None,
        model: Model = None,
        unmatched: Unmatched = None,
        where: Where = HERE,
        json_out: Json = False,
        debug: Debug = False,
        asking: Asking = NOTHING,
        releasing: Releasing = NOTHING,
    ) -> None:
        how = {"judge": judge, "model": model, "unmatched": unmatched}
        carry_out(verb, data, json_out, debug, raw, oracle, **how, **where, **asking, **releasing)


add_construct_verb("normalize", "Raw sessions to trajectories of steps.")
add_construct_verb("enrich", "Steps to event descriptors, aligned across source models.")
add_construct_verb("fuse", "Join oracle outcomes; prints the coverage.")
add_construct_verb("slice", "Process-risk score and risk slice.")
add_construct_verb("onset", "Onset candidates.")


@app.command()
@with_where
def packet(
    data: Data = DATA,
    raw: Raw = None,
    oracle: Oracle = None,
    unmatched: Unmatched = None,
    where: Where = HERE,
    json_out: Json = False,
    debug: Debug = False,
) -> None:
    """Annotation packets."""
    carry_out("packet", data, json_out, debug, raw, oracle, unmatched=unmatched, **where)


@app.command()
@with_asking
@with_where
def annotate(
    data: Data = DATA,
    stage: Annotated[str | None, typer.Option("--stage", help="Stop after FullTax stage a, b1, b2 or c.")] = None,
    raw: Raw = None,
    oracle: Oracle = None,
    judge: JudgeName = None,
    model: Model = None,
    unmatched: Unmatched = None,
    where: Where = HERE,
    json_out: Json = False,
    debug: Debug = False,
    pass_: second_pass.Pass = 1,
    plan: Annotated[bool, typer.Option("--dry-run", help="Print calls, tokens and USD; send nothing.")] = False,
    again: AskAgain = None,
    asking: Asking = NOTHING,
) -> None:
    """FullTax: stages A, B1, B2, C, checks and repairs; --pass 2 for an independent second judge."""
    verb = "annotate" if stage is None else f"stage-{stage}"
    if verb not in VERBS:
        raise UsageError(f"--stage {stage}: FullTax has no such stage. Use a, b1, b2 or c.")
    if not plan and second_pass.ended(DataFolder(data), pass_, judge):
        output().print("the second pass is ended and its tables are gone; the ledger keeps its answers")
        return
    how = {"unmatched": unmatched}
    who = second_pass.judge_flags(pass_, judge, model)
    if plan and again is not None:
        raise UsageError("--ask-again: `openclawbench ledger stats` says how many they are. Leave --dry-run out.")
    if plan:
        dry_run_.show(data, verb, json_out, pass_, raw=raw, oracle=oracle, **who, **how, **where, **asking)
        return
    if again is not None:
        flags = {**who, **how, **where, **asking}
        begin_rounds(DataFolder(data), settings(DataFolder(data), raw=raw, **flags), pass_, again)
    carry_out(verb, data, json_out, debug, raw, oracle, annotation_pass=pass_, **who, **how, **where, **asking)


add_judged_verb("merge", "One record a trajectory: label, context, provenance.")
add_judged_verb("release", "Release files, label files, summaries, checksums.")


@app.command()
def demo(data: Data = Path("data/demo"), debug: Debug = False) -> None:
    """The committed example from raw sessions to a release, and one label traced to its raw lines."""
    raw, oracle = demo_.example()
    carry_out("release", data, False, debug, str(raw), oracle, judge="rules")
    folder = DataFolder(data)
    demo_.trace_one(current(folder, settings(folder)), output())


@app.command()
def status(
    data: Data = DATA, raw: Raw = None, oracle: Oracle = None, json_out: Json = False, debug: Debug = False
) -> None:
    """Which stages are up to date, what came in, what no rule knows."""
    folder = DataFolder(data)
    chosen = settings(folder, raw=raw, oracle=oracle and str(oracle))
    found = current(folder, chosen)
    if json_out:
        print(json.dumps(status_report.as_data(found, commands(chosen)), indent=1, ensure_ascii=False))
    else:
        status_report.print_status(found, commands(chosen), output())


@app.command()
def trace(
    id_: Annotated[str, typer.Argument(metavar="ID", help="Trajectory id.")],
    step: Annotated[int | None, typer.Argument(help="Step number; all steps without it.")] = None,
    data: Data = DATA,
    raw: Raw = None,
    debug: Debug = False,
) -> None:
    """The raw records behind a step, byte for byte."""
    folder = DataFolder(data)
    found = current(folder, settings(folder, raw=raw))
    print_raw(raw_records(found, find(found, id_), step))


@app.command()
def show(
    id_: Annotated[str, typer.Argument(metavar="ID", help="Trajectory id.")],
    data: Data = DATA,
    full: Annotated[bool, typer.Option("--full", help="Whole texts.")] = False,
    no_label: Annotated[
        bool, typer.Option("--no-label", help="For a blind review: no label, evidence, flags, risk or outcome.")
    ] = False,
    debug: Debug = False,
) -> None:
    """A trajectory to read: steps, descriptors, label, evidence marked."""
    folder = DataFolder(data)
    found = current(folder, settings(folder))
    show_(found, find(found, id_), output(), full, not no_label)


@app.command()
def doctor(
    raw_dir: Annotated[Path | None, typer.Argument(help="A folder to look at; nothing is written.")] = None,
    data: Data = DATA,
    json_out: Json = False,
    debug: Debug = False,
) -> None:
    """The settings in force and where each came from; what would be done with each file of RAW_DIR."""
    if raw_dir is None:
        in_force = doctor_.in_force(settings(DataFolder(data)))
        if json_out:
            print(json.dumps(in_force, indent=1, ensure_ascii=False, default=str))
        else:
            doctor_.print_settings(in_force, output())
        return
    rows = doctor_.examine(raw_dir)
    if json_out:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        doctor_.print_examined(rows, output())
    if any(row["disposition"] == "quarantined" for row in rows):
        raise typer.Exit(NEEDS_A_PERSON)


app.command()(explain)
app.command()(export)
app.command()(whatif)
app.command("diff")(diff)
app.command("push")(push)
ARGUMENTS_OF_BENCH = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
app.command("bench", context_settings=ARGUMENTS_OF_BENCH)(bench)


def version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        print(f"openclawbench {__version__}")
        raise typer.Exit


@app.callback()
def common(
    _version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of the program itself."""


def main() -> None:
    """Entry point: errors become one sentence and an exit status."""
    carried_out(app, debug="--debug" in sys.argv[1:])


if __name__ == "__main__":
    main()
