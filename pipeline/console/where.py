"""The options that say where work is done, for every command that brings stages up to date."""

from collections.abc import Callable

from pipeline.console.options import Values, with_options
from pipeline.engines.choice import ENGINES

Where = Values
HERE: Where = {}
OPTIONS = {
    "engine": (str, f"{', '.join(ENGINES)}: where shards are computed."),
    "workers": (int, "Processes at most; one for each processor without it."),
    "shard": (str, "i/n: only share i (from 0) of n; a run without it afterwards does what needs all of them."),
}


def with_where(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options; they reach its parameter `where` as {setting: value or null}."""
    return with_options("where", OPTIONS)(command)
