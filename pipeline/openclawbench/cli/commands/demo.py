"""`openclawbench demo`: the example from raw sessions to a release, and one label followed back to its raw lines."""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from openclawbench.base.resources import resource
from openclawbench.base.terminal import flat, notices, one_line, output, pluralize, safe
from openclawbench.cli.commands.stages import run_to
from openclawbench.cli.options import Data, Debug, Flags, data_flag
from openclawbench.records.vocabulary import ONSETS

if TYPE_CHECKING:
    from openclawbench.api import Data as OpenedData
    from openclawbench.api import TrajectoryView

RECORDED = Path("recorded", "recorded.toml")  # of the example: who answered, when and how
CHARACTERS = 240  # of a text
Files = Annotated[
    Path | None,
    typer.Option("--files", help="Only copy sessions, outcomes and rule files to try things with into this folder."),
]


def demo(data: Data = Path("data/demo"), files: Files = None, debug: Debug = False) -> None:
    """The committed example from raw sessions to a release, and one label traced to its raw lines."""
    from openclawbench import api
    from openclawbench.workspace.example_files import write_example_files

    if files is not None:
        for part, number in write_example_files(files).items():
            output().print(f"{safe(str(files / part))}: {pluralize(number, 'file')}", highlight=False)
        return
    root = example()
    recorded = tomllib.loads((root / RECORDED).read_text(encoding="utf-8"))
    notices().print(one_line(recorded["statement"]))
    judge: Flags = {"judge": "openai", "model": recorded["judge_model"], "batch_files": str((root / RECORDED).parent)}
    run_to("release", data, False, debug=debug, raw=str(root / "raw"), oracle=str(root / "oracle"), **judge)
    opened, console = api.open_data(data), output()
    trajectory = longest_anomaly(opened)
    if trajectory is not None:
        print_evidence(opened, trajectory, console)
    print_next(opened, trajectory, console)


def example() -> Path:
    """The folder of the example, relative to the working folder where possible."""
    root, working_folder = resource("example"), Path.cwd()
    return root.relative_to(working_folder) if root.is_relative_to(working_folder) else root


def print_evidence(data: "OpenedData", trajectory: "TrajectoryView", console: Console) -> None:
    """One anomaly: its label, what it rests on, and the raw line of each piece of evidence."""
    from openclawbench.inspect.find import rows_for
    from openclawbench.records.fulltax import Annotation

    label = rows_for(data.state, Annotation, trajectory.key)[0]
    raw = {(record.step_id, record.part): f"{record.source_file}:{record.line}" for record in trajectory.raw()}
    console.print(f"\nOne anomaly, back to its raw lines: {safe(trajectory.trajectory_id)}\n")
    onsets = ", ".join(f"{name} {label[name]}" for name in ONSETS if label[name] is not None)
    rows = [
        (label["anomaly_type_l2"], f"{label['severity'] or 'no severity'}, {label['recoverability'] or '-'}; {onsets}"),
        ("why", label["annotator_rationale"] or "-"),
        *((cited_place(cited, raw), f"»{cited['quote']}«") for cited in label["evidence_steps"]),
    ]
    for title, text in rows:
        shown = flat(text)
        console.print(f"  {title}: {shown[:CHARACTERS]}{'…' if len(shown) > CHARACTERS else ''}")


def cited_place(cited: dict[str, Any], raw: dict[tuple[int | None, str], str]) -> str:
    """Where a piece of evidence stands: step, field, and file and line of the raw record."""
    number, name = cited["step_id"], cited["field"]
    if name == "user_turn":
        return f"user turn {number}"
    parts = ("result", "call", "reply") if name == "reflection_text" else ("call", "reply", "result")
    line = next((raw[number, part] for part in parts if (number, part) in raw), None)
    return f"step {number} {name}{f', {one_line(line)}' if line else ''}"


def print_next(data: "OpenedData", trajectory: "TrajectoryView | None", console: Console) -> None:
    """Three commands that go on from here."""
    flag = data_flag(data.path)
    commands = {
        f"openclawbench view{flag}": "read, follow labels, give verdicts",
        f"openclawbench validate{flag}": "derive the release again and compare",
    }
    if trajectory is not None:
        commands = {f"openclawbench show{flag} {safe(trajectory.trajectory_id)}": "all steps of it"} | commands
    console.print("\nNext:")
    width = max(map(len, commands))
    for command, purpose in commands.items():
        console.print(f"  {command:<{width}}  # {purpose}")


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
