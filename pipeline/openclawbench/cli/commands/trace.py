"""`openclawbench trace`: the raw records behind a step."""

import sys
from typing import Annotated

import typer

from openclawbench.base.terminal import one_line, safe
from openclawbench.cli.options import DATA, Data, TrajectoryId


def trace(
    trajectory: TrajectoryId,
    step: Annotated[int | None, typer.Argument(help="Step number; all steps without it.")] = None,
    data: Data = DATA,
    raw: Annotated[str | None, typer.Option("--raw", help="Raw sessions, if they have moved.")] = None,
) -> None:
    """The raw records behind a step, byte for byte: pointers on stderr, bytes on stdout. Without a step also
    those that the program took out of the session's file and a copy of it still holds."""
    from openclawbench.api import open_data

    view = open_data(data, raw=raw, may_be_new=True).trajectory(trajectory)
    for record in view.raw(step) + (view.removed() if step is None else []):
        place = f"{record.source_file}:{record.line} byte {record.offset}"
        of = "removed" if record.step_id is None else f"step {record.step_id}"
        print(f"{of} {record.part}: {one_line(place)}", file=sys.stderr, flush=True)
        if sys.stdout.isatty():
            print(safe(record.content.decode("utf-8", "backslashreplace")))
        else:
            sys.stdout.buffer.write(record.content + b"\n")
            sys.stdout.buffer.flush()
