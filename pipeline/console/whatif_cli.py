"""The command `whatif`: what other rules would move."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import pipeline.run
from pipeline.console.settings import settings
from pipeline.console.terminal import errors, output, safe
from pipeline.console.whatif import RULES, moved, question, rows, shards_that_are_fresh
from pipeline.console.whatif_report import Tally, print_report
from pipeline.console.whatif_rules import differs, passed_over, read_own
from pipeline.console.work import current
from pipeline.records.session import Step, Trajectory
from pipeline.store import DataFolder

OwnRules = Annotated[
    list[Path],
    typer.Option("--rules", help=f"A rule file, or a folder of them; may repeat. One of: {', '.join(RULES)}."),
]


def whatif(
    rules: OwnRules,
    data: Annotated[Path, typer.Option("--data", envvar="OPENCLAWBENCH_DATA", help="Read only.")] = Path("data"),
    examples: Annotated[int, typer.Option("--examples", min=0, help="Examples of each value that changes.")] = 3,
    packets: Annotated[
        bool, typer.Option("--packets", help="Also which packets change, so that a judge would be asked again.")
    ] = False,
    json_out: Annotated[bool, typer.Option("--json", help="Print results as JSON.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """What other rules would change, without touching the work tables."""
    pipeline.run.DEBUG = debug
    own = read_own(rules, RULES)
    folder = DataFolder(data)
    run = current(folder, settings(folder))
    asked = question({file: one for file, (_, one) in own.items() if differs(one)}, packets)
    shards = shards_that_are_fresh(run, asked)
    if left := len(run.keys[Trajectory]) - len(shards):
        errors().print(safe(f"{left} of {len(run.keys[Trajectory])} shards are not up to date and left out"))
    tally = Tally(examples)
    for changes in moved(run, asked, shards):
        tally.add(changes)
    found: dict[str, Any] = {
        "rules": [{"path": str(path), "file": file, "differs": differs(one)} for file, (path, one) in own.items()],
        "passed_over": [str(path) for path in passed_over(rules, RULES)],
        "stages": [stage.name for stage in asked.stages],
        "shards": len(shards),
        "shards_left_out": left,
        "trajectories": rows(run, Trajectory, shards),
        "steps": rows(run, Step, shards),
        "moved": tally.moved,
        "changes": tally.as_data(),
    }
    if json_out:
        print(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        print_report(found, output())
