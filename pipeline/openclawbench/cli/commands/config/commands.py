"""`openclawbench config`: the settings in force, and which data folders are trusted."""

from pathlib import Path
from typing import Annotated

import typer

from openclawbench.base.terminal import one_line, output
from openclawbench.cli.commands.doctor import show_settings
from openclawbench.cli.options import DATA, Data, Json
from openclawbench.errors import UsageError

app = typer.Typer(help="The settings in force, and which data folders may say where to send.", no_args_is_help=True)
Folder = Annotated[Path | None, typer.Argument(metavar="[FOLDER]", help="A data folder; default: that of --data.")]


@app.command("show")
def config_show(data: Data = DATA, json_out: Json = False) -> None:
    """Every setting with its value and where it comes from."""
    show_settings(data, json_out)


@app.command()
def trust(folder: Folder = None, data: Data = DATA) -> None:
    """Let a data folder say where sessions and keys go, and what may be paid, until one of its files changes."""
    from openclawbench.workspace.configuration.trusting import trust_folder

    root = folder or data
    if not root.is_dir():
        raise UsageError(f"{root}: there is no such folder. Name a data folder.")
    lines = trust_folder(root)
    for line in lines or [f"{root}: says nothing that needs trust"]:
        output().print(one_line(line), highlight=False)
