"""Which of the programs that a collection needs are on this machine, for `doctor`."""

import subprocess
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from openclawbench.base.resources import how_to_install
from openclawbench.collect.bfcl import INSTALL as INSTALL_BFCL
from openclawbench.collect.bfcl import find_bfcl
from openclawbench.collect.openclaw import INSTALL, INSTALL_NODE, find_node, find_openclaw
from openclawbench.errors import UsageError

VERSION_OF_BFCL = "import importlib.metadata; print(importlib.metadata.version('bfcl-eval'))"
TIMEOUT_S = 60


def programs_found() -> list[dict[str, Any]]:
    """Rows of program, version, place (both null where it is missing) and the command that installs it."""
    rows = []
    for program, find, install in (
        ("node", node, INSTALL_NODE),
        ("openclaw", openclaw, INSTALL),
        ("bfcl-eval", bfcl, INSTALL_BFCL),
        ("mcp", mcp, how_to_install("collect")),
    ):
        try:
            number, place = find()
        except (UsageError, PackageNotFoundError, OSError, subprocess.TimeoutExpired):
            number, place = None, None
        rows.append({"program": program, "version": number, "place": place, "install": install})
    return rows


def node() -> tuple[str, str]:
    """(version, place) of a Node that is new enough."""
    path = find_node(None)
    return printed([str(path), "--version"]), str(path)


def openclaw() -> tuple[str, str]:
    """(version, place) of OpenClaw."""
    found = find_openclaw(None, None)
    return found.version, str(found.package)


def bfcl() -> tuple[str, str]:
    """(version of bfcl-eval, the Python that has it)."""
    path = find_bfcl(None)
    number = printed([str(path), "-c", VERSION_OF_BFCL])
    if not number:
        raise UsageError(f"{path}: has no bfcl-eval.")
    return number, str(path)


def mcp() -> tuple[str, str]:
    """(version, place) of the package of the MCP server."""
    return version("mcp"), "this environment"


def printed(command: list[str]) -> str:
    """What a command prints."""
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S).stdout.strip()
