"""The command `whatif`: what other rules would move."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from openclawbench.base.terminal import errors, output, safe
from openclawbench.cli.session import current
from openclawbench.cli.settings import settings
from openclawbench.inspect.whatif.render import Tally, print_report
from openclawbench.inspect.whatif.rules import differs, passed_over, read_own
from openclawbench.inspect.whatif.splits import split_again
from openclawbench.inspect.whatif.whatif import RULES, moved, question, rows, shards_that_are_fresh
from openclawbench.records.session import Step, Trajectory
from openclawbench.rules.release import ReleaseRules
from openclawbench.storage.data_folder import DataFolder

KINDS = RULES | {ReleaseRules.FILE: ReleaseRules}
OwnRules = Annotated[
    list[Path],
    typer.Option("--rules", help=f"A rule file, or a folder of them; may repeat. One of: {', '.join(KINDS)}."),
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
    own = read_own(rules, KINDS)
    folder = DataFolder(data)
    run = current(folder, settings(folder))
    changed = {file: one for file, (_, one) in own.items() if differs(one)}
    asked = question({file: one for file, one in changed.items() if file in RULES}, packets)
    shards = shards_that_are_fresh(run, asked)
    if left := len(run.keys[Trajectory]) - len(shards):
        errors().print(safe(f"{left} of {len(run.keys[Trajectory])} shards are not up to date and left out"))
    tally = Tally(examples)
    for changes in moved(run, asked, shards):
        tally.add(changes)
    sides: dict[str, Any] | None = None
    if ReleaseRules.FILE in changed:
        moved_sides, sides = split_again(run, changed[ReleaseRules.FILE])
        tally.add(moved_sides)
    found: dict[str, Any] = {
        "rules": [{"path": str(path), "file": file, "differs": differs(one)} for file, (path, one) in own.items()],
        "passed_over": [str(path) for path in passed_over(rules, KINDS)],
        "stages": [*(stage.name for stage in asked.stages), *([] if sides is None else ["split"])],
        "shards": len(shards),
        "shards_left_out": left,
        "trajectories": rows(run, Trajectory, shards),
        "steps": rows(run, Step, shards),
        "moved": tally.moved,
        "changes": tally.as_data(),
        "sides": sides,
    }
    if json_out:
        print(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        print_report(found, output())
