"""`openclawbench demo`: the example from raw sessions to a release, and one label followed back to its raw lines."""

from pathlib import Path

import polars as pl
from rich.console import Console

from openclawbench.base.resources import resource
from openclawbench.base.terminal import one_line, output, safe
from openclawbench.cli.commands.stages import run_to
from openclawbench.cli.options import Data, Debug
from openclawbench.cli.render.trajectory import print_trajectory
from openclawbench.inspect.find import Key, find, rows_of
from openclawbench.inspect.raw_records import raw_records
from openclawbench.records.fulltax import Annotation
from openclawbench.records.session import Trajectory
from openclawbench.records.tiers import REVIEW
from openclawbench.release.baseline_notice import RULES_NOTICE
from openclawbench.runtime.run import Run
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import open_run

CHARACTERS = 240  # of a raw line


def demo(data: Data = Path("data/demo"), debug: Debug = False) -> None:
    """The committed example from raw sessions to a release, and one label traced to its raw lines."""
    raw, oracle = example()
    run_to("release", data, False, debug=debug, raw=str(raw), oracle=str(oracle), judge="rules")
    folder = DataFolder(data)
    trace_one_label(open_run(folder, settings(folder)), output())


def example() -> tuple[Path, Path]:
    """The raw folder and the oracle folder of the example, relative to the working folder where possible."""
    root, working_folder = resource("example"), Path.cwd()
    root = root.relative_to(working_folder) if root.is_relative_to(working_folder) else root
    return root / "raw", root / "oracle"


def trace_one_label(run: Run, console: Console) -> None:
    """Print one label and the raw lines of its trajectory."""
    key = longest_anomaly(run)
    console.print("\nOne label, back to its raw lines\n")
    if key is None:
        console.print("no trajectory of the example that needs no review is anomalous")
    else:
        print_trajectory(run, key, console, full=False)
        console.print(f"\nopenclawbench trace {safe(key.trajectory_id)} --data {safe(str(run.data.root))}")
        for pointer, data in raw_records(run, key, None):
            text = safe(data.decode("utf-8", "backslashreplace"))
            rest = f" [… {len(text) - CHARACTERS} more characters]" if len(text) > CHARACTERS else ""
            place = f"step {pointer['step_id']} {pointer['part']} {pointer['source_file']}:{pointer['line']}"
            console.print(f"  {one_line(place)}\n    {text[:CHARACTERS]}{rest}")
    console.print(f"\n{RULES_NOTICE}")


def longest_anomaly(run: Run) -> Key | None:
    """The anomalous trajectory with the most steps that needs no review; ties by key."""
    decided = pl.col("is_anomalous") & (pl.col("quality_tier") != REVIEW)
    steps = rows_of(run, Trajectory).select(*TRAJECTORY_KEY, "num_steps")
    rows = rows_of(run, Annotation).filter(decided).join(steps, on=TRAJECTORY_KEY).select(*TRAJECTORY_KEY, "num_steps")
    keys = rows.collect().sort("num_steps", *TRAJECTORY_KEY, descending=[True, False, False])
    return find(run, f"{keys[0, 0]}/{keys[0, 1]}") if keys.height else None
