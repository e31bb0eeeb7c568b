"""The library: what the command line does, from Python. `import openclawbench` gives the same names.

docs/library.md shows them. Nothing here prints.
"""

from openclawbench.api.data import Data, RawRecord, StepView, TrajectoryView, explain, open_data
from openclawbench.api.explanation import ExplainedValue, Explanation, Mark, Rule
from openclawbench.api.release import Release, open_release, validate
from openclawbench.api.run_result import RunResult, RunSettings, SourceCounts, run
from openclawbench.api.schemas import schema
from openclawbench.errors import OpenClawBenchError
from openclawbench.release.validate.findings import Finding, Findings

__all__ = [
    "Data",
    "ExplainedValue",
    "Explanation",
    "Finding",
    "Findings",
    "Mark",
    "OpenClawBenchError",
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
