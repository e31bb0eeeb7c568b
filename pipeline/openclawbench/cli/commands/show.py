"""`openclawbench show`: a trajectory to read."""

from typing import Annotated

import typer

from openclawbench.base.terminal import output
from openclawbench.cli.options import DATA, Data, TrajectoryId


def show(
    trajectory: TrajectoryId,
    data: Data = DATA,
    full: Annotated[bool, typer.Option("--full", help="Whole texts.")] = False,
    no_label: Annotated[
        bool, typer.Option("--no-label", help="For a blind review: no label, evidence, flags, risk or outcome.")
    ] = False,
) -> None:
    """A trajectory to read: steps, descriptors, label, evidence marked."""
    from openclawbench.api import open_data
    from openclawbench.cli.render.trajectory import print_trajectory

    opened = open_data(data, may_be_new=True)
    print_trajectory(opened.state, opened.trajectory(trajectory).key, output(), full, not no_label)
