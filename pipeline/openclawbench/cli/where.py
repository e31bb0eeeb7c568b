"""The options that say where work is done, for every command that brings stages up to date."""

from collections.abc import Callable

from openclawbench.cli.options import Values, with_options
from openclawbench.runtime.engines.choice import ENGINES

Where = Values
HERE: Where = {}
OPTIONS = {
    "engine": (str, f"{', '.join(ENGINES)}: where shards are computed."),
    "workers": (int, "Processes at most; one for each processor without it."),
    "ray_address": (str, "host:port of a Ray cluster that runs; one of this machine alone without it."),
    "parts": (str, "s3://bucket/prefix: where parts of tables are kept, if not in the data folder."),
    "endpoint_url": (str, "Address of S3-compatible storage that is not AWS's."),
    "shard": (str, "i/n: only share i (from 0) of n; a run without it afterwards does what needs all of them."),
}


def with_where(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options; they reach its parameter `where` as {setting: value or null}."""
    return with_options("where", OPTIONS)(command)
