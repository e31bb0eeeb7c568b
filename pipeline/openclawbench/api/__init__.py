"""The library: what the command line does, from Python. `import openclawbench` gives the same names.

docs/library.md shows them. Nothing here prints. A name is loaded on first use, so that a command loads what it needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openclawbench.api.data import Data, RawRecord, StepView, TrajectoryView, explain, open_data
    from openclawbench.api.explanation import ExplainedValue, Explanation, Mark, Rule
    from openclawbench.api.release import Release, open_release, validate
    from openclawbench.api.run_result import RunResult, RunSettings, SourceCounts, run
    from openclawbench.api.schemas import schema
    from openclawbench.errors import OpenClawBenchError
    from openclawbench.release.validate.findings import Finding, Findings
    from openclawbench.workspace.progress import Progress

NAMES = {  # module -> its public names
    "api.data": ("Data", "RawRecord", "StepView", "TrajectoryView", "explain", "open_data"),
    "api.explanation": ("ExplainedValue", "Explanation", "Mark", "Rule"),
    "api.release": ("Release", "open_release", "validate"),
    "api.run_result": ("RunResult", "RunSettings", "SourceCounts", "run"),
    "api.schemas": ("schema",),
    "errors": ("OpenClawBenchError",),
    "release.validate.findings": ("Finding", "Findings"),
    "workspace.progress": ("Progress",),
}

__all__ = [
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


def __getattr__(name: str) -> Any:
    """Load a name of the library on first use."""
    for module, names in NAMES.items():
        if name in names:
            return getattr(import_module(f"openclawbench.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
