"""The command `export`: a stage's table, or labelled trajectories in the forms that other tools open."""

from pathlib import Path
from typing import Annotated

import typer

from openclawbench.base.terminal import errors, one_line, output, safe
from openclawbench.cli import export_tables as tables
from openclawbench.cli.export_interchange import FORMS, export_sessions
from openclawbench.cli.session import current
from openclawbench.cli.settings import settings
from openclawbench.errors import UsageError
from openclawbench.inspect.find import left_out
from openclawbench.storage.data_folder import DataFolder

NEEDS_A_PERSON = 1
Stage = Annotated[str | None, typer.Argument(help=f"One of: {', '.join(tables.TABLES)}.")]


def export(
    stage: Stage = None,
    data: Annotated[Path, typer.Option("--data", envvar="OPENCLAWBENCH_DATA", help="Read only.")] = Path("data"),
    kind: Annotated[str, typer.Option("--format", help="jsonl, parquet or csv.")] = "jsonl",
    form: Annotated[str | None, typer.Option("--to", help=f"Labelled trajectories: {', '.join(FORMS)}.")] = None,
    to: Annotated[Path | None, typer.Option("-o", "--output", help="File, else stdout; a new folder for --to.")] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """A stage's table as JSONL, Parquet or CSV; or labelled trajectories for other tools (--to)."""
    if (stage is None) == (form is None):
        raise UsageError("export: name a stage, or a form with --to.")
    if stage is not None:
        tables.refuse_binary(kind, to)
    folder = DataFolder(data)
    found = current(folder, settings(folder))
    if stage is not None:
        tables.write(tables.encoded(tables.table(found, stage), kind), to)
    elif form is not None:
        written, empty = export_sessions(found, form, to)
        output().print(safe(f"{written} trajectories written to {to}; {empty} say nothing and are left out"))
    if said := left_out(found, tables.TABLES[stage or "merge"]):
        errors().print(one_line(said))
        raise typer.Exit(NEEDS_A_PERSON)
