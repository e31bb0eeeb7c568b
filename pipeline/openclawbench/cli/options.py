"""Options that several commands have in common.

Settings that every stage verb takes are declared in groups; `with_settings` gives a command the options of some groups
and passes what the user typed as one parameter, `flags`.
"""

import inspect
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from openclawbench.base.terminal import Verbosity, safe
from openclawbench.cli.complete import complete_trajectory
from openclawbench.workspace.configuration.folder import DEFAULT, enter, refuse_missing_folder
from openclawbench.workspace.configuration.setting_table import SETTINGS, Setting

DATA = DEFAULT
MAKES_ONE = ("demo", "plan")  # commands that a folder may begin with
NEEDS_NONE = ("exam", "doctor", "config_show", "view")  # those that can do without the default folder
DataOption = typer.Option("--data", envvar="OPENCLAWBENCH_DATA", help="The data folder, the only one written to.")
Data = Annotated[Path, DataOption]
Json = Annotated[bool, typer.Option("--json", help="Print results as JSON.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors alone.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print a line for each stage.")]
Date = Annotated[
    str | None, typer.Option("--date", help="Date of the certificate or provenance, YYYY-MM-DD; none by default.")
]
IsDryRun = Annotated[bool, typer.Option("--dry-run", help="Print calls, tokens and USD; send nothing.")]
ReleaseFolder = Annotated[Path, typer.Argument(metavar="RELEASE_DIR", help="A release folder, or any copy of one.")]
TrajectoryId = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="Trajectory id, MODEL/ID, or the beginning of an id or of its last 8 digits.",
        autocompletion=complete_trajectory,
    ),
]


Flags = dict[str, Any]  # setting -> value; null for an option that was not given
NO_FLAGS: Flags = {}
Group = tuple[str, ...]  # names of settings
INPUTS: Group = ("raw", "oracle", "noncommercial")
JUDGE: Group = ("judge", "model")
PACKET: Group = ("unmatched", "blind")
ENGINE: Group = ("engine", "workers", "ray_address", "parts", "endpoint_url", "shard")
ASKING: Group = (
    "base_url",
    "concurrency",
    "rpm",
    "tpm",
    "budget_usd",
    "budget_tokens",
    "price_in",
    "price_out",
    "price_cached",
    "transport",
    "batch",
    "batch_files",
)
PRIVACY: Group = ("on_keys", "on_personal")
RELEASING: Group = ("test_share", *PRIVACY, "jsonl")


def with_settings(*groups: Group) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of these groups. It receives them in its parameter `flags`."""
    settings = {name: SETTINGS[name] for group in groups for name in group}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        parameters = [parameter for name, parameter in signature.parameters.items() if name != "flags"]
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option_of(setting))
            for name, setting in settings.items()
        ]

        @wraps(command)
        def call(*args: Any, **values: Any) -> None:
            flags = {name: values.pop(name, None) for name in settings}
            command(*args, **values, flags=flags)

        call.__signature__ = signature.replace(parameters=[*parameters, *added])  # type: ignore[attr-defined]
        return call

    return decorate


def in_data_folder(command: Callable[..., None]) -> Callable[..., None]:
    """Before a command with --data: refuse a folder that is not there, so that nothing is made for a mistyped name, and
    put its own rules in force. Commands that take --raw find out themselves, because it makes a new folder."""
    signature = inspect.signature(command)
    if "data" not in signature.parameters:
        return command
    default, takes_raw = signature.parameters["data"].default, "raw" in signature.parameters
    name = command.__name__

    @wraps(command)
    def call(*args: Any, **values: Any) -> None:
        data = values.get("data", default)
        names_another = any(values.get(other) is not None for other in ("release", "folder", "raw_dir"))
        if not (takes_raw or names_another or name in MAKES_ONE or (data == default and name in NEEDS_NONE)):
            refuse_missing_folder(data, may_be_new=name == "exam")
        enter(data)
        command(*args, **values)

    return call


def with_common(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of all: -q and -v, and --debug, which `main` reads. A command gets those that it
    declares, as one does that has them already."""
    signature = inspect.signature(command)
    own = signature.parameters
    common = {"quiet": Quiet, "verbose": Verbose, "debug": Debug}
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for name, annotation in common.items()
        if name not in own
    ]

    @wraps(command)
    def call(*args: Any, quiet: bool, verbose: bool, debug: bool, **values: Any) -> None:
        Verbosity.quiet, Verbosity.verbose = quiet, verbose and not quiet
        options = {"quiet": quiet, "verbose": verbose, "debug": debug}
        command(*args, **values, **{name: value for name, value in options.items() if name in own})

    call.__signature__ = signature.replace(parameters=[*own.values(), *added])  # type: ignore[attr-defined]
    return call


def option_of(setting: Setting) -> Any:
    """The annotation that declares a setting's option to typer, its values in place of its type."""
    complete = choices(*setting.choices) if setting.choices else None
    flag = f"{setting.flag}/--no-{setting.flag[2:]}" if setting.type is bool else setting.flag
    shown = f"[{'|'.join(setting.choices)}]" if setting.choices else None
    option = typer.Option(flag, help=setting.help, autocompletion=complete, metavar=shown)
    return Annotated[setting.type | None, option]


def choices(*values: str) -> Callable[[], list[str]]:
    """What shell completion offers for an option. The command itself says what is wrong with another value."""
    return lambda: list(values)


def data_flag(data: Path) -> str:
    """` --data …` to add to a suggested command; empty if the command finds this data folder by default."""
    default = Path(os.environ.get("OPENCLAWBENCH_DATA", DATA))
    return "" if data == default else f" --data {safe(quote(str(data)))}"
