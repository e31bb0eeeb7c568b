"""`openclawbench export`: a stage's table, or labelled trajectories in the forms that other tools open."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from openclawbench.base.terminal import errors, one_line, output, safe
from openclawbench.cli.choices import TABLE_FORMATS, TABLES, TRAJECTORY_FORMS
from openclawbench.cli.options import DATA, NO_FLAGS, PRIVACY, Data, Flags, choices, with_settings
from openclawbench.cli.write_output import write_output
from openclawbench.errors import NEEDS_A_PERSON, MissingExtra, UsageError

HTML = "html"  # one trajectory as a page
TableName = Annotated[
    str | None,
    typer.Argument(help=f"One of: {', '.join(TABLES)}; with --to html an id.", autocompletion=choices(*TABLES)),
]
Format = Annotated[str, typer.Option("--format", help="jsonl, parquet or csv.", autocompletion=choices(*TABLE_FORMATS))]
Form = Annotated[
    str | None,
    typer.Option(
        "--to",
        help=f"Labelled trajectories: {', '.join(TRAJECTORY_FORMS)}; or {HTML}: "
        "one, which the argument names, as a page.",
        autocompletion=choices(*TRAJECTORY_FORMS, HTML),
    ),
]


@with_settings(PRIVACY)
def export(
    stage: TableName = None,
    data: Data = DATA,
    file_format: Format = "jsonl",
    form: Form = None,
    to: Annotated[Path | None, typer.Option("-o", "--output", help="File, else stdout; a new folder for --to.")] = None,
    flags: Flags = NO_FLAGS,
) -> None:
    """A stage's table as JSONL, Parquet or CSV; or labelled trajectories for other tools (--to). A key blocks it, as it
    blocks a release."""
    from openclawbench.inspect.export.sessions import export_sessions
    from openclawbench.inspect.export.tables import encode, let_out

    if form == HTML:
        export_one(stage, data, to, flags)
        return
    if (stage is None) == (form is None):
        raise UsageError("export: name a stage, or a form with --to.")
    if stage is not None and file_format == "parquet" and to is None and sys.stdout.isatty():
        raise UsageError("export --format parquet: cannot write to a terminal. Name a file with -o.")
    from openclawbench.api import open_data

    opened = open_data(data, may_be_new=True, **flags)
    if stage is not None:
        write_output(encode(let_out(opened.state, stage, opened.table(stage)), file_format), to)
    elif form is not None:
        written, empty = export_sessions(opened.state, form, to)
        output().print(safe(f"{written} trajectories written to {to}; {empty} say nothing and are left out"))
    if missing := opened.stale(stage or "merge"):
        errors().print(one_line(missing))
        raise typer.Exit(NEEDS_A_PERSON)


def export_one(trajectory: str | None, data: Path, to: Path | None, flags: Flags) -> None:
    """One trajectory as one HTML file."""
    if trajectory is None:
        raise UsageError("export --to html: name a trajectory: openclawbench export --to html ID -o FILE.")
    try:
        from openclawbench.workbench.export_page import export_page
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"export --to html: needs {error.name}. Install it: pip install 'openclawbench[view]'."
        ) from error
    from openclawbench.api import open_data
    from openclawbench.release.privacy.rules import PrivacyRules
    from openclawbench.workbench.readers.data_folder import DataReader

    opened = open_data(data, may_be_new=True, **flags)
    chosen, rules = opened.trajectory(trajectory), PrivacyRules.load(overrides=opened.state.overrides)
    page = export_page(DataReader(data), chosen.source_model, chosen.trajectory_id, rules=rules)
    write_output([page.encode("utf-8", "backslashreplace")], to)
