"""The demo's last part: one anomalous label followed back to its raw lines."""

from pathlib import Path

import polars as pl
from rich.console import Console

from openclawbench.base.resources import resource
from openclawbench.base.terminal import one_line, safe
from openclawbench.cli.commands.show import show
from openclawbench.cli.commands.trace import raw_records
from openclawbench.inspect.find import Key, find, rows_of
from openclawbench.records.fulltax import Annotation
from openclawbench.records.session import Trajectory
from openclawbench.records.tiers import REVIEW
from openclawbench.release.notice import RULES_NOTICE
from openclawbench.runtime.run import Run
from openclawbench.tables.record import TRAJECTORY_KEY

CHARACTERS = 240  # of a raw line that the demo prints


def example() -> tuple[Path, Path]:
    """Raw folder and oracle folder of the example that comes with the program."""
    root = resource("example")
    return relative(root / "raw"), relative(root / "oracle")


def relative(path: Path) -> Path:
    """The path as a person in the working folder would write it, where that is possible."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def anomalous(run: Run) -> Key | None:
    """The anomalous trajectory with the most steps that is not in review: there is most to trace; ties by key."""
    accepted = pl.col("is_anomalous") & (pl.col("quality_tier") != REVIEW)
    steps = rows_of(run, Trajectory).select(*TRAJECTORY_KEY, "num_steps")
    found = (
        rows_of(run, Annotation).filter(accepted).join(steps, on=TRAJECTORY_KEY).select(*TRAJECTORY_KEY, "num_steps")
    )
    keys = found.collect().sort("num_steps", *TRAJECTORY_KEY, descending=[True, False, False])
    return find(run, f"{keys[0, 0]}/{keys[0, 1]}") if keys.height else None


def trace_one(run: Run, console: Console) -> None:
    """Show one label and the raw lines of the steps that its evidence cites."""
    key = anomalous(run)
    console.print("\nOne label, back to its raw lines\n")
    if key is None:
        console.print("no trajectory of the example that is not in review is anomalous")
    else:
        show(run, key, console, full=False)
        console.print(f"\nopenclawbench trace {safe(key.trajectory_id)} --data {safe(str(run.data.root))}")
        for pointer, data in raw_records(run, key, None):
            text = safe(data.decode("utf-8", "backslashreplace"))
            more = f" [… {len(text) - CHARACTERS} characters more]" if len(text) > CHARACTERS else ""
            place = f"step {pointer['step_id']} {pointer['part']} {pointer['source_file']}:{pointer['line']}"
            console.print(f"  {one_line(place)}\n    {text[:CHARACTERS]}{more}")
    console.print(f"\n{RULES_NOTICE}")
