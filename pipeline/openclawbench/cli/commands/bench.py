"""`openclawbench bench`: the benchmarks, which are beside the package and are there in a checkout only."""

import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from openclawbench.base.resources import checkout
from openclawbench.errors import OpenClawBenchError


class Benchmarks(TyperGroup):
    """The commands of benchmarks/cli.py, imported when one is called, listed or completed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of the benchmarks. None outside a checkout while a shell completes."""
        try:
            return benchmarks().list_commands(ctx)
        except OpenClawBenchError:
            if ctx.resilient_parsing:
                return []
            raise

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A benchmark by its name."""
        return benchmarks().get_command(ctx, cmd_name)


def benchmarks() -> TyperGroup:
    """The group of benchmarks/cli.py. Raises UsageError outside a checkout."""
    root = str(checkout())
    if root not in sys.path:
        sys.path.append(root)
    group = typer.main.get_command(import_module("benchmarks.cli").app)
    assert isinstance(group, TyperGroup)
    return group


app = typer.Typer(
    cls=Benchmarks,
    help="Benchmarks: a made-up corpus of any size, and what it costs (in a checkout).",
    no_args_is_help=True,
)
