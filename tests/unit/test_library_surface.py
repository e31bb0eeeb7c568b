"""The library's public names are those that are promised, and importing it costs nothing."""

import subprocess
import sys
from typing import Literal, get_args, get_origin, get_type_hints

import openclawbench
from openclawbench import api
from openclawbench.api.run_result import RunSettings
from openclawbench.workspace.configuration.setting_table import SETTINGS

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
    assert (
        RunSettings.__annotations__.keys() | {"raw", "oracle", "rules", "prompts", "prompt_versions"} == SETTINGS.keys()
    )
    for name, annotation in get_type_hints(RunSettings).items():
        kind, none = get_args(annotation)[:-1], get_args(annotation)[-1]
        choices = get_args(kind[0]) if get_origin(kind[0]) is Literal else ()
        assert (set(choices), none) == (set(SETTINGS[name].choices), type(None)), name
        assert choices or kind == (SETTINGS[name].type,)


def test_the_import_loads_no_library() -> None:
    code = "import sys, openclawbench; print([name for name in ('polars', 'pydantic', 'rich') if name in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
