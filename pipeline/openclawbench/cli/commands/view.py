"""`openclawbench view`: the auditor's workbench in the browser."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from openclawbench.base.terminal import output, safe
from openclawbench.cli.options import DATA, Data, choices
from openclawbench.errors import MissingExtra

DEMO = DATA / "demo"  # what `openclawbench demo` makes
ROLES = ("auditor", "reviewer", "adjudicator")


def view(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="A data folder, or a copy of a release; default: data, or data/demo."),
    ] = None,
    data: Data = DATA,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help="0: any free one; default: 8642, or any if that is taken."),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the browser.")] = False,
    role: Annotated[
        str,
        typer.Option(
            "--role", help="auditor sees everything; reviewer only drawn rows, blind.", autocompletion=choices(*ROLES)
        ),
    ] = "auditor",
    name: Annotated[str | None, typer.Option("--name", help="Whose verdicts these are; default: the account.")] = None,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; another than this machine's needs people and --origin.")
    ] = "127.0.0.1",
    origin: Annotated[
        str | None, typer.Option("--origin", help="https://… under which a shared server is reached.")
    ] = None,
    add_reviewer: Annotated[
        str | None,
        typer.Option("--add-reviewer", metavar="NAME", help="Add a person with --role; asks for a password."),
    ] = None,
) -> None:
    """The workbench in the browser: read trajectories, follow labels to their raw lines, give verdicts."""
    try:
        from openclawbench.workbench.pages.login import add_person
        from openclawbench.workbench.server import prepare, serve
    except ModuleNotFoundError as error:
        raise MissingExtra(f"view: needs {error.name}. Install it: pip install 'openclawbench[view]'.") from error
    folder = folder or (data if data != DATA or (data / "work").is_dir() else DEMO)
    if add_reviewer is not None:
        password = typer.prompt("Password", hide_input=True, confirmation_prompt=sys.stdin.isatty())
        add_person(folder / "review" / "reviewers.toml", add_reviewer, role, password)
        output().print(safe(f"{add_reviewer} can log in as {role}"))
        return
    opened = prepare(folder, port, role, name, host, origin)
    console = output()

    def tell(address: str) -> None:
        console.print(f"{safe(str(folder))}: {safe(address)}")
        console.print("The address lets one browser in. Ctrl+C ends it.")
        sys.stdout.flush()

    serve(opened, tell, open_browser)
    console.print("The workbench has ended. Verdicts are on disk.")
