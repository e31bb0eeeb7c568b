"""A collection without OpenClaw and BFCL: programs that stand in for the two, as far as a test needs them."""

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A program in the place of Node, which records sessions as the names of the tasks say (stand_in_node.py)."""
    path = tmp_path / "bin" / "node"
    path.parent.mkdir()
    program = Path(__file__).with_name("stand_in_node.py")
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{program}" "$@"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def openclaw_package(tmp_path: Path) -> Path:
    """A folder in the place of the npm package."""
    folder = tmp_path / "openclaw"
    folder.mkdir()
    (folder / "package.json").write_text(json.dumps({"name": "openclaw", "version": "2026.6.11"}))
    return folder


@pytest.fixture
def bfcl_python(tmp_path: Path) -> Path:
    """A Python in the place of the one that has bfcl-eval: it has a package of that name (stand_in_bfcl/)."""
    path = tmp_path / "bfcl-python"
    path.write_text(
        f'#!/bin/sh\nPYTHONPATH="{Path(__file__).with_name("stand_in_bfcl")}" exec "{sys.executable}" "$@"\n'
    )
    path.chmod(0o755)
    return path


@pytest.fixture
def installed(node: Path, openclaw_package: Path, bfcl_python: Path) -> dict[str, str]:
    """The environment in which the program finds all three."""
    return {
        "OPENCLAWBENCH_NODE": str(node),
        "OPENCLAWBENCH_OPENCLAW": str(openclaw_package),
        "OPENCLAWBENCH_BFCL_PYTHON": str(bfcl_python),
        "TEST_LOG": str(node.parent / "log"),
        "PATH": os.environ["PATH"],
        "XDG_CONFIG_HOME": os.environ["XDG_CONFIG_HOME"],
    }
