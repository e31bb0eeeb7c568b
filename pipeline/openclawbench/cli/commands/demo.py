"""`openclawbench demo`: the example from raw sessions to a release, and one label followed back to its raw lines."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from openclawbench.base.resources import resource
from openclawbench.base.terminal import one_line, output, pluralize, safe
from openclawbench.cli.commands.stages import run_to
from openclawbench.cli.options import Data, Debug

if TYPE_CHECKING:
    from openclawbench.api import Data as OpenedData
    from openclawbench.api import TrajectoryView

CHARACTERS = 240  # of a raw line
Files = Annotated[
    Path | None,
    typer.Option("--files", help="Only copy sessions, outcomes and rule files to try things with into this folder."),
]


def demo(data: Data = Path("data/demo"), files: Files = None, debug: Debug = False) -> None:
    """The committed example from raw sessions to a release, and one label traced to its raw lines."""
    from openclawbench.api import open_data
    from openclawbench.workspace.example_files import write_example_files

    if files is not None:
        for part, number in write_example_files(files).items():
            output().print(f"{safe(str(files / part))}: {pluralize(number, 'file')}", highlight=False)
        return
    raw, oracle = example()
    run_to("release", data, False, debug=debug, raw=str(raw), oracle=str(oracle), judge="rules")
    trace_one_label(open_data(data), output())


def example() -> tuple[Path, Path]:
    """The raw folder and the oracle folder of the example, relative to the working folder where possible."""
    root, working_folder = resource("example"), Path.cwd()
    root = root.relative_to(working_folder) if root.is_relative_to(working_folder) else root
    return root / "raw", root / "oracle"


def trace_one_label(data: "OpenedData", console: Console) -> None:
    """Print one label and the raw lines of its trajectory."""
    from openclawbench.cli.render.trajectory import print_trajectory
    from openclawbench.release.baseline_notice import RULES_NOTICE

    trajectory = longest_anomaly(data)
    console.print("\nOne label, back to its raw lines\n")
    if trajectory is None:
        console.print("no trajectory of the example that needs no review is anomalous")
    else:
        print_trajectory(data.state, trajectory.key, console, full=False)
        console.print(f"\nopenclawbench trace {safe(trajectory.trajectory_id)} --data {safe(str(data.path))}")
        for record in trajectory.raw():
            text = safe(record.content.decode("utf-8", "backslashreplace"))
            rest = f" [… {len(text) - CHARACTERS} more characters]" if len(text) > CHARACTERS else ""
            place = f"step {record.step_id} {record.part} {record.source_file}:{record.line}"
            console.print(f"  {one_line(place)}\n    {text[:CHARACTERS]}{rest}")
    console.print(f"\n{RULES_NOTICE}")


def longest_anomaly(data: "OpenedData") -> "TrajectoryView | None":
    """The anomalous trajectory with the most steps that needs no review; ties by key."""
    import polars as pl

    from openclawbench.inspect.find import rows_of
    from openclawbench.records.fulltax import Annotation
    from openclawbench.records.session import Trajectory
    from openclawbench.records.tiers import REVIEW
    from openclawbench.tables.record import TRAJECTORY_KEY

    decided = pl.col("is_anomalous") & (pl.col("quality_tier") != REVIEW)
    run = data.state
    steps = rows_of(run, Trajectory).select(*TRAJECTORY_KEY, "num_steps")
    rows = rows_of(run, Annotation).filter(decided).join(steps, on=TRAJECTORY_KEY).select(*TRAJECTORY_KEY, "num_steps")
    keys = rows.collect().sort("num_steps", *TRAJECTORY_KEY, descending=[True, False, False])
    return data.trajectory(f"{keys[0, 0]}/{keys[0, 1]}") if keys.height else None
