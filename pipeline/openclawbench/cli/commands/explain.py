"""`openclawbench explain`: why a value is what it is."""

import json
from typing import Annotated

import typer

from openclawbench.base.terminal import output
from openclawbench.cli.options import DATA, Data, TrajectoryId
from openclawbench.cli.render.explain import print_explanation
from openclawbench.inspect.explain.explain import explain as explain_trajectory
from openclawbench.inspect.find import find
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import open_run


def explain(
    trajectory: TrajectoryId,
    step: Annotated[int | None, typer.Argument(help="Step number; a line for each step without it.")] = None,
    data: Data = DATA,
    json_out: Annotated[
        bool, typer.Option("--json", help="Print results as JSON, with the whole of every rule.")
    ] = False,
) -> None:
    """For each descriptor, flag, score and candidate the rule behind it, and the marked text that made it hold."""
    folder = DataFolder(data)
    run = open_run(folder, settings(folder))
    explanation = explain_trajectory(run, find(run, trajectory), step)
    if json_out:
        print(json.dumps(explanation, indent=1, ensure_ascii=False))
    else:
        print_explanation(explanation, output(), step is not None)
