"""The command `explain`: why a value is what it is."""

import json
from pathlib import Path
from typing import Annotated

import typer

from openclawbench.base.terminal import output
from openclawbench.cli.session import current
from openclawbench.cli.settings import settings
from openclawbench.inspect.explain.explain import explain as explained
from openclawbench.inspect.explain.render import print_explained
from openclawbench.inspect.find import find
from openclawbench.storage.data_folder import DataFolder


def explain(
    id_: Annotated[str, typer.Argument(metavar="ID", help="Trajectory id, MODEL/ID, or the beginning of an id.")],
    step: Annotated[int | None, typer.Argument(help="Step number; a line for each step without it.")] = None,
    data: Annotated[Path, typer.Option("--data", envvar="OPENCLAWBENCH_DATA", help="Read only.")] = Path("data"),
    json_out: Annotated[
        bool, typer.Option("--json", help="Print results as JSON, with the whole of every rule.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """For each descriptor, flag, score and candidate the rule behind it, and the marked text that made it hold."""
    folder = DataFolder(data)
    run = current(folder, settings(folder))
    found = explained(run, find(run, id_), step)
    if json_out:
        print(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        print_explained(found, output(), step is not None)
