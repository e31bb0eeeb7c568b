"""The library's public names are those that are promised, and importing it costs nothing."""

import subprocess
import sys

import openclawbench
from openclawbench import api
from openclawbench.api.run_result import RunSettings
from openclawbench.workspace.settings import SETTABLE

NAMES = [
    "Data",
    "ExplainedValue",
    "Explanation",
    "Finding",
    "Findings",
    "Mark",
    "OpenClawBenchError",
    "Progress",
    "RawRecord",
    "Release",
    "Rule",
    "RunResult",
    "RunSettings",
    "SourceCounts",
    "StepView",
    "TrajectoryView",
    "explain",
    "open_data",
    "open_release",
    "run",
    "schema",
    "validate",
]


def test_the_public_names_are_the_promised_ones() -> None:
    assert sorted(api.__all__) == NAMES
    assert sorted(openclawbench.__all__) == sorted([*NAMES, "__version__"])
    assert all(getattr(openclawbench, name) is getattr(api, name) for name in NAMES)
    assert all(getattr(api, name).__doc__ for name in NAMES)


def test_the_settings_of_a_run_are_those_of_the_command_line() -> None:
    assert RunSettings.__annotations__.keys() | {"raw", "oracle"} == SETTABLE


def test_the_import_loads_no_library() -> None:
    code = "import sys, openclawbench; print([name for name in ('polars', 'pydantic', 'rich') if name in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
