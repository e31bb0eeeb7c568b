"""The command line: every command in its panel. A command is a module of commands/.

Exit status: 0 done, 1 a person is needed, 2 wrong use, 3 stopped.
"""

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from openclawbench.cli.commands import stages
from openclawbench.cli.commands.annotate import annotate
from openclawbench.cli.commands.audit.commands import app as audit
from openclawbench.cli.commands.bench import app as bench
from openclawbench.cli.commands.collect.commands import app as collect
from openclawbench.cli.commands.demo import demo
from openclawbench.cli.commands.detect.commands import app as detect
from openclawbench.cli.commands.diff import diff
from openclawbench.cli.commands.doctor import doctor
from openclawbench.cli.commands.exam import exam
from openclawbench.cli.commands.explain import explain
from openclawbench.cli.commands.export import export
from openclawbench.cli.commands.ledger import app as ledger
from openclawbench.cli.commands.push import push
from openclawbench.cli.commands.report.commands import app as report
from openclawbench.cli.commands.show import show
from openclawbench.cli.commands.status import status
from openclawbench.cli.commands.trace import trace
from openclawbench.cli.commands.validate import validate
from openclawbench.cli.commands.view import view
from openclawbench.cli.commands.whatif import whatif
from openclawbench.cli.exit import run_program
from openclawbench.cli.help import PanelGroup
from openclawbench.cli.options import with_debug
from openclawbench.version import __version__

Command = Callable[..., None] | typer.Typer
PANELS: dict[str, dict[str, Command]] = {
    "Pipeline": {
        "demo": demo,
        "collect": collect,
        "run": stages.run,
        "status": status,
        "doctor": doctor,
        "normalize": stages.normalize,
        "enrich": stages.enrich,
        "fuse": stages.fuse,
        "slice": stages.slice_,
        "onset": stages.onset,
        "packet": stages.packet,
        "annotate": annotate,
        "merge": stages.merge,
    },
    "Inspect": {
        "show": show,
        "trace": trace,
        "explain": explain,
        "whatif": whatif,
        "report": report,
        "export": export,
    },
    "Release": {"release": stages.release, "validate": validate, "diff": diff, "push": push},
    "Review": {"view": view, "audit": audit},
    "Judge": {"exam": exam, "ledger": ledger},
    "Detectors": {"detect": detect},
    "Developer": {"bench": bench},
}
STAGE_HELP = {
    "normalize": "Raw sessions to trajectories of steps.",
    "enrich": "Steps to event descriptors, aligned across source models.",
    "fuse": "Join oracle outcomes; prints the coverage.",
    "slice": "Process-risk score and risk slice.",
    "onset": "Onset candidates.",
    "packet": "Annotation packets.",
    "merge": "One record a trajectory: label, context, provenance.",
    "release": "Release files, label files, summaries, checksums.",
}


class Commands(PanelGroup):
    """The commands in the order of PANELS."""

    order = tuple(name for commands in PANELS.values() for name in commands)


app = typer.Typer(
    name="openclawbench",
    cls=Commands,
    help="Turns raw OpenClaw agent sessions into process-anomaly labels, each with its evidence and a quality tier.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def print_version(wanted: bool) -> None:
    """Print the version and exit."""
    if wanted:
        print(f"openclawbench {__version__}")
        raise typer.Exit


@app.callback()
def common(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=print_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Options of the program itself."""


def main() -> None:
    """The program's entry: errors become one sentence and an exit status."""
    run_program(app, debug="--debug" in sys.argv[1:])


for panel, commands in PANELS.items():
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            for registered in command.registered_commands:
                assert registered.callback is not None
                registered.callback = with_debug(registered.callback)
            app.add_typer(command, name=name, rich_help_panel=panel)
        else:
            app.command(name, help=STAGE_HELP.get(name), rich_help_panel=panel)(with_debug(command))

if __name__ == "__main__":
    main()
