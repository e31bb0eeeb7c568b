"""`openclawbench show`: a trajectory to read."""

from typing import Annotated

import typer

from openclawbench.base.terminal import output
from openclawbench.cli.options import DATA, Data, TrajectoryId
from openclawbench.cli.render.trajectory import print_trajectory
from openclawbench.inspect.find import find
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import open_run


def show(
    trajectory: TrajectoryId,
    data: Data = DATA,
    full: Annotated[bool, typer.Option("--full", help="Whole texts.")] = False,
    no_label: Annotated[
        bool, typer.Option("--no-label", help="For a blind review: no label, evidence, flags, risk or outcome.")
    ] = False,
) -> None:
    """A trajectory to read: steps, descriptors, label, evidence marked."""
    folder = DataFolder(data)
    run = open_run(folder, settings(folder))
    print_trajectory(run, find(run, trajectory), output(), full, not no_label)
