"""The command line: every command in its panel. A command is a module of commands/, loaded when it is called.

Exit status: 0 done, 1 a person is needed, 2 wrong use, 3 stopped.
"""

import sys
from typing import Annotated, Any

import typer

from openclawbench.cli.exit import run_program
from openclawbench.cli.help import Command, PanelGroup
from openclawbench.version import __version__

PANELS: dict[str, dict[str, Command]] = {
    "Pipeline": {
        "demo": Command(
            "demo",
            "demo",
            "The committed example from raw sessions to a release, and one label traced to its raw lines.",
        ),
        "collect": Command(
            "collect.commands",
            "app",
            "From BFCL tasks to scored sessions: plan, real OpenClaw agents, BFCL's evaluator.",
        ),
        "run": Command("stages", "run", "Everything that is stale, from raw sessions to the release."),
        "status": Command("status", "status", "Which stages are up to date, what came in, what no rule knows."),
        "doctor": Command(
            "doctor",
            "doctor",
            "The settings in force and where each came from; what would be done with each file of RAW_DIR.",
        ),
        "normalize": Command("stages", "normalize", "Raw sessions to trajectories of steps."),
        "enrich": Command("stages", "enrich", "Steps to event descriptors, aligned across source models."),
        "fuse": Command("stages", "fuse", "Join oracle outcomes; prints the coverage."),
        "slice": Command("stages", "slice_", "Process-risk score and risk slice."),
        "onset": Command("stages", "onset", "Onset candidates."),
        "packet": Command("stages", "packet", "Annotation packets."),
        "annotate": Command(
            "annotate",
            "annotate",
            "FullTax: stages A, B1, B2, C, checks and repairs; --pass 2 for an independent second judge.",
        ),
        "merge": Command("stages", "merge", "One record a trajectory: label, context, provenance."),
    },
    "Inspect": {
        "show": Command("show", "show", "A trajectory to read: steps, descriptors, label, evidence marked."),
        "trace": Command(
            "trace", "trace", "The raw records behind a step, byte for byte: pointers on stderr, bytes on stdout."
        ),
        "explain": Command(
            "explain",
            "explain",
            "For each descriptor, flag, score and candidate the rule behind it, and the marked text that made it hold.",
        ),
        "whatif": Command("whatif", "whatif", "What other rules would change, without touching the work tables."),
        "report": Command(
            "report.commands",
            "app",
            "Reports over the work tables, written to work/reports/; `statistics` and `gap` over a release.",
        ),
        "export": Command(
            "export",
            "export",
            "A stage's table as JSONL, Parquet or CSV; or labelled trajectories for other tools (--to). "
            "A key blocks it, as it blocks a release.",
        ),
    },
    "Release": {
        "release": Command("stages", "release", "Release files, label files, summaries, checksums."),
        "validate": Command(
            "validate",
            "validate",
            "Check a release against itself: derive it again from its texts, answers and rules, and compare.",
        ),
        "diff": Command(
            "diff", "diff", "Two releases: what was added, removed, changed and why; label flips, tier and split moves."
        ),
        "push": Command(
            "push", "push", "Upload a release to the Hugging Face Hub, if `validate` finds nothing wrong with it."
        ),
    },
    "Review": {
        "view": Command(
            "view",
            "view",
            "The workbench in the browser: read trajectories, follow labels to their raw lines, give verdicts.",
        ),
        "audit": Command("audit.commands", "app", "Human audit: samples to review, sheets, review records."),
    },
    "Judge": {
        "exam": Command(
            "exam",
            "exam",
            "Measure a judge on pairs of recorded sessions with known labels: score card, result page, certificate.",
        ),
        "ledger": Command(
            "ledger", "app", "The answers of a language model: what they cost, and whether they are sound."
        ),
    },
    "Detectors": {
        "detect": Command(
            "detect.commands",
            "app",
            "Detectors over the labels of a release: ask a model, fit baselines, score, compare.",
        ),
    },
    "Settings": {
        "config": Command(
            "config.commands", "app", "The settings in force, and which data folders may say where to send."
        ),
    },
    "Developer": {
        "bench": Command(
            "bench", "app", "Benchmarks: a made-up corpus of any size, and what it costs (in a checkout)."
        ),
    },
}


class Commands(PanelGroup):
    """The commands of PANELS."""

    def __init__(self, **options: Any) -> None:
        super().__init__(PANELS, **options)


app = typer.Typer(
    name="openclawbench",
    cls=Commands,
    help="Turns raw OpenClaw agent sessions into process-anomaly labels, each with its evidence and a quality tier.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
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


if __name__ == "__main__":
    main()
