"""`explain` and `show` print values of sessions and oracle rows: none of them makes a line of its own."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from child import Ran
from rich.console import Console

import openclawbench.cli.render.trajectory as showing
from openclawbench.cli.render.explain import print_explanation
from openclawbench.inspect.explain.explain import explain
from openclawbench.inspect.find import rows_for, trajectory_keys
from openclawbench.runtime.run import Run
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import open_run

pytestmark = pytest.mark.slow

FORGED = "FORGED by tool.read (describe.toml:90)"
KEYS = {"record"}  # words of the program that are looked up, not printed
INDENT = 14


def with_line_ends(value: Any, name: str = "") -> Any:
    """The same with a forged line behind every string at any depth."""
    if isinstance(value, dict):
        return {key: with_line_ends(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_line_ends(inner, name) for inner in value]
    return f"{value}\n{FORGED}\r\n\n{FORGED}" if isinstance(value, str) and name not in KEYS else value


@pytest.fixture(scope="module")
def run(example: Ran) -> Run:
    folder = DataFolder(example.data)
    return open_run(folder, settings(folder))


def printed(print_to: Callable[[Console], None]) -> list[str]:
    """Lines on a terminal that is wide enough to wrap nothing."""
    shown = io.StringIO()
    print_to(Console(file=shown, markup=False, width=100_000, soft_wrap=True))
    return shown.getvalue().split("\n")


def test_no_value_that_explain_prints_makes_a_line(run: Run) -> None:
    seen = 0
    for key in trajectory_keys(run):
        actual_with_line_ends = with_line_ends(explain(run, key, None))
        for one_step in (False, True):
            lines = printed(lambda console: print_explanation(actual_with_line_ends, console, one_step))  # noqa: B023
            assert [line for line in lines if line.lstrip().startswith("FORGED")] == []
            seen += sum("FORGED" in line for line in lines)
    assert seen > 1000


def test_no_value_that_show_prints_makes_a_line_of_its_own(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(showing, "rows_for", lambda *of: with_line_ends(rows_for(*of)))
    seen = 0
    for key in trajectory_keys(run):
        lines = printed(lambda console: showing.print_trajectory(run, key, console, full=True))  # noqa: B023
        forged = [line for line in lines if line.lstrip().startswith("FORGED")]
        assert [line for line in forged if not line.startswith(" " * INDENT)] == []
        seen += sum("FORGED" in line for line in lines)
    assert seen > 1000
