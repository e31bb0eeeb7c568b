"""Benchmarks: a made-up corpus of any size, and what each part of the program costs on it. The package knows nothing of
them; `openclawbench bench` loads them from a checkout."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUN_MODULE = (
    "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)


def command_of(module: str) -> list[str]:
    """How a module of this folder is run in a process of its own, as `python -m` runs it: arguments come behind."""
    return [sys.executable, "-P", "-c", RUN_MODULE, str(ROOT), f"benchmarks.{module}"]
