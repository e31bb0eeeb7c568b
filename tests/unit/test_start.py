"""What is loaded before anything is done: for `--version` and `--help` neither polars nor pydantic, and no command."""

import subprocess
import sys

import pytest
import typer
from typer.core import TyperGroup

from openclawbench.cli import choices
from openclawbench.cli.app import PANELS, app
from openclawbench.collect.plan import SCRIPTED
from openclawbench.detect.settings import PROTOCOLS
from openclawbench.flow import VERBS
from openclawbench.fulltax.answers.parsing import OUTCOMES
from openclawbench.inspect.export.sessions import FORMS
from openclawbench.inspect.export.tables import FORMATS, TABLES
from openclawbench.inspect.whatif.whatif import KINDS
from openclawbench.release.labels.places import CUT_NAMES, SIDES

COMMANDS = {name: command for commands in PANELS.values() for name, command in commands.items()}
LOADED = """
import sys
from openclawbench.__main__ import main
try:
    main()
except SystemExit:
    print(*sys.modules, file=sys.stderr)
"""


def loaded(*arguments: str) -> set[str]:
    """Modules that are loaded when a command line has been carried out in a process of its own."""
    command = [sys.executable, "-P", "-c", LOADED, *arguments]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stderr.split())


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ()])
def test_the_program_starts_without_polars_pydantic_and_commands(arguments: tuple[str, ...]) -> None:
    modules = loaded(*arguments)
    assert "openclawbench.cli.app" in modules
    assert not modules & {"polars", "pydantic", "numpy"}
    assert not [name for name in modules if name.startswith("openclawbench.cli.commands.")]


def test_the_library_is_loaded_by_its_first_use() -> None:
    code = "import sys, openclawbench; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert not set(ended.stdout.split()) & {"polars", "pydantic", "numpy"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_help_of_each_command_begins_with(name: str) -> None:
    program = typer.main.get_command(app)
    assert isinstance(program, TyperGroup)
    command = program.commands[name]
    assert command.name == name
    assert " ".join((command.help or "").split()).startswith(COMMANDS[name].help)


def test_options_offer_what_the_program_knows() -> None:
    assert choices.ANSWER_FAULTS == OUTCOMES
    assert tuple(CUT_NAMES) == choices.CUTS
    assert choices.PROTOCOLS == PROTOCOLS
    assert tuple(KINDS) == choices.RULE_FILES
    assert choices.SCRIPTED == SCRIPTED
    assert choices.SIDES == SIDES
    assert tuple(VERBS) == choices.STAGES
    assert tuple(TABLES) == choices.TABLES
    assert choices.TABLE_FORMATS == FORMATS
    assert choices.TRAJECTORY_FORMS == FORMS


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"bench"}))
def test_the_help_of_a_command_loads_no_polars(name: str) -> None:
    """But for the benchmarks, which are beside the package."""
    assert not loaded(name, "--help") & {"polars", "numpy", "openclawbench.flow"}
