"""`openclawbench explain`: why a value is what it is."""

import json
from typing import Annotated

import typer

from openclawbench.base.terminal import output
from openclawbench.cli.options import DATA, Data, TrajectoryId


def explain(
    trajectory: TrajectoryId,
    step: Annotated[int | None, typer.Argument(help="Step number; a line for each step without it.")] = None,
    data: Data = DATA,
    json_out: Annotated[
        bool, typer.Option("--json", help="Print results as JSON, with the whole of every rule.")
    ] = False,
) -> None:
    """For each descriptor, flag, score and candidate the rule behind it, and the marked text that made it hold."""
    from openclawbench.api import open_data
    from openclawbench.cli.render.explain import print_explanation

    explanation = open_data(data, may_be_new=True).explain(trajectory, step).as_dict
    if json_out:
        print(json.dumps(explanation, indent=1, ensure_ascii=False))
    else:
        print_explanation(explanation, output(), step is not None)
