"""Which of the programs that a collection needs are on this machine, for `doctor`."""

import subprocess
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from openclawbench.base.resources import how_to_install
from openclawbench.base.terminal import flat
from openclawbench.collect.bfcl import INSTALL as INSTALL_BFCL
from openclawbench.collect.bfcl import find_bfcl
from openclawbench.collect.openclaw import INSTALL, INSTALL_NODE, find_node, find_package
from openclawbench.errors import UsageError

VERSION_OF_BFCL = "import importlib.metadata; print(importlib.metadata.version('bfcl-eval'))"
TIMEOUT_S = 60
MISSING = (UsageError, PackageNotFoundError, OSError, subprocess.TimeoutExpired)


def programs_found() -> list[dict[str, Any]]:
    """Rows of program, version, place (both null where it cannot be used), problem (then why) and the command that
    installs it."""
    return [
        program_row("node", lambda: find_node(None), INSTALL_NODE),
        program_row("openclaw", lambda: find_package(None), INSTALL),
        program_row("bfcl-eval", bfcl, INSTALL_BFCL),
        program_row("mcp", lambda: ("this environment", version("mcp")), how_to_install("collect")),
    ]


def program_row(program: str, find: Callable[[], tuple[Path | str, str]], install: str) -> dict[str, Any]:
    """The row of a program. `find`: (place, version), or one of MISSING raised."""
    row = {"program": program, "version": None, "place": None, "problem": None, "install": install}
    try:
        place, number = find()
    except MISSING as error:
        return row | {"problem": flat(str(error)).partition(" Install it: ")[0] or type(error).__name__}
    return row | {"version": number, "place": str(place)}


def bfcl() -> tuple[Path, str]:
    """(the Python that has it, version) of bfcl-eval. UsageError if it is not installed."""
    path = find_bfcl(None)
    command = [str(path), "-c", VERSION_OF_BFCL]
    number = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S).stdout.strip()
    if not number:
        raise UsageError(f"{path}: has no bfcl-eval.")
    return path, number
