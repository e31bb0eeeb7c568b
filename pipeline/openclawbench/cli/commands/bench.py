"""`openclawbench bench`: the benchmarks, which stand beside the package and are there in a checkout only."""

import sys
from importlib import import_module

import typer

from openclawbench.base.resources import checkout


def bench(context: typer.Context) -> None:
    """Benchmarks: a made-up corpus of any size, and what it costs (in a checkout)."""
    root = str(checkout())
    if root not in sys.path:
        sys.path.append(root)
    group = typer.main.get_command(import_module("benchmarks.cli").app)
    group.main(context.args, prog_name=f"{context.find_root().info_name} bench", standalone_mode=False)
