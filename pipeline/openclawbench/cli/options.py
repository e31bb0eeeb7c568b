"""Options that several commands have in common.

Settings that every stage verb takes are declared in groups; `with_settings` gives a command the options of some groups
and passes what the user typed as one parameter, `flags`.
"""

import inspect
import os
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, NamedTuple

import typer

from openclawbench.base.terminal import safe
from openclawbench.cli.complete import complete_trajectory
from openclawbench.workspace.judges import JUDGES
from openclawbench.workspace.settings import ALLOWED_VALUES

DATA = Path("data")
DataOption = typer.Option("--data", envvar="OPENCLAWBENCH_DATA", help="The data folder, the only one written to.")
Data = Annotated[Path, DataOption]
Json = Annotated[bool, typer.Option("--json", help="Print results as JSON.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks.")]
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


class Setting(NamedTuple):
    """An option that stands for a setting of the same name."""

    type: type
    help: str
    choices: tuple[str, ...] = ()


Flags = dict[str, Any]  # setting -> value; null for an option that was not given
NO_FLAGS: Flags = {}
Group = Mapping[str, Setting]
INPUTS: Group = {
    "raw": Setting(str, "Raw sessions: RAW/<source_model>/**/*.jsonl; s3://… too."),
    "oracle": Setting(str, "Outcomes: a JSONL file, a BFCL tree, or a folder of them."),
    "noncommercial": Setting(
        str,
        "Sessions whose licence allows no commercial use: refuse (the default) or accept.",
        ALLOWED_VALUES["noncommercial"],
    ),
}
JUDGE: Group = {
    "judge": Setting(str, "rules, the embedded baseline, or openai, a language model.", JUDGES),
    "model": Setting(str, "Language model to ask."),
}
PACKET: Group = {
    "unmatched": Setting(
        str, "Sessions without an outcome: exclude (from slices) or review.", ALLOWED_VALUES["unmatched"]
    ),
    "blind": Setting(bool, "Show the judge neither outcome nor risk, slice or onset candidates."),
}
ENGINE: Group = {
    "engine": Setting(
        str, f"{', '.join(ALLOWED_VALUES['engine'])}: where shards are computed.", ALLOWED_VALUES["engine"]
    ),
    "workers": Setting(int, "Maximum number of processes; default: one per processor."),
    "ray_address": Setting(str, "host:port of a running Ray cluster; default: one on this machine."),
    "parts": Setting(str, "s3://bucket/prefix for parts of tables; default: the data folder."),
    "endpoint_url": Setting(str, "Address of S3-compatible storage other than AWS."),
    "shard": Setting(str, "i/n: only share i (from 0) of n. A last run without it does what needs every share."),
}
ASKING: Group = {
    "base_url": Setting(str, "Address of the OpenAI-compatible endpoint; default: OPENAI_BASE_URL."),
    "concurrency": Setting(int, "Requests in flight."),
    "rpm": Setting(float, "Maximum number of requests a minute."),
    "tpm": Setting(float, "Maximum number of tokens a minute."),
    "budget_usd": Setting(float, "USD that the ledger may hold at most; beyond, exit status 3."),
    "budget_tokens": Setting(int, "Tokens that the ledger may hold at most; beyond, exit status 3."),
    "price_in": Setting(float, "USD per million prompt tokens, instead of the price table."),
    "price_out": Setting(float, "USD per million answer tokens."),
    "price_cached": Setting(float, "USD per million prompt tokens from the provider's cache."),
    "transport": Setting(str, "aiohttp, or openai: the client library.", ("aiohttp", "openai")),
    "batch": Setting(bool, "Ask in batches (OpenAI's Batch API): cheaper, within a day."),
}
PRIVACY: Group = {
    "on_keys": Setting(
        str,
        "Text that leaves and looks like a key: block (the default), redact or report.",
        ALLOWED_VALUES["on_keys"],
    ),
    "on_personal": Setting(
        str,
        "E-mail addresses, telephone, account and card numbers, user names in paths: report (the default), redact or "
        "block.",
        ALLOWED_VALUES["on_personal"],
    ),
}
RELEASING: Group = {
    **PRIVACY,
    "jsonl": Setting(str, "JSONL files of the release: plain (the default), gz or zst.", ALLOWED_VALUES["jsonl"]),
}


def with_settings(*groups: Group) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of these groups. It receives them in its parameter `flags`."""
    settings = {name: setting for group in groups for name, setting in group.items()}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        parameters = [parameter for name, parameter in signature.parameters.items() if name != "flags"]
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option_of(name, setting))
            for name, setting in settings.items()
        ]

        @wraps(command)
        def call(*args: Any, **values: Any) -> None:
            flags = {name: values.pop(name, None) for name in settings}
            command(*args, **values, flags=flags)

        call.__signature__ = signature.replace(parameters=[*parameters, *added])  # type: ignore[attr-defined]
        return call

    return decorate


def with_debug(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option --debug, which `main` reads. One that declares it passes it on and stays as it is."""
    signature = inspect.signature(command)
    if "debug" in signature.parameters:
        return command
    parameter = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Debug)

    @wraps(command)
    def call(*args: Any, debug: bool, **values: Any) -> None:
        command(*args, **values)

    call.__signature__ = signature.replace(parameters=[*signature.parameters.values(), parameter])  # type: ignore[attr-defined]
    return call


def option_of(name: str, setting: Setting) -> Any:
    """The annotation that declares a setting's option to typer."""
    complete = choices(*setting.choices) if setting.choices else None
    flag = f"--{name.replace('_', '-')}"
    if setting.type is bool:
        flag += f"/--no-{flag[2:]}"
    option = typer.Option(flag, help=setting.help, autocompletion=complete)
    return Annotated[setting.type | None, option]


def choices(*values: str) -> Callable[[], list[str]]:
    """What shell completion offers for an option. The command itself says what is wrong with another value."""
    return lambda: list(values)


def data_flag(data: Path) -> str:
    """` --data …` to add to a suggested command; empty if the command finds this data folder by default."""
    default = Path(os.environ.get("OPENCLAWBENCH_DATA", DATA))
    return "" if data == default else f" --data {safe(quote(str(data)))}"
