"""`openclawbench trace`: the raw records behind a step."""

import sys
from typing import Annotated

import typer

from openclawbench.base.terminal import one_line, safe
from openclawbench.cli.options import DATA, Data, TrajectoryId
from openclawbench.inspect.find import find
from openclawbench.inspect.raw_records import raw_records
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import open_run


def trace(
    trajectory: TrajectoryId,
    step: Annotated[int | None, typer.Argument(help="Step number; all steps without it.")] = None,
    data: Data = DATA,
    raw: Annotated[str | None, typer.Option("--raw", help="Raw sessions, if they have moved.")] = None,
) -> None:
    """The raw records behind a step, byte for byte: pointers on stderr, bytes on stdout."""
    folder = DataFolder(data)
    run = open_run(folder, settings(folder, raw=raw))
    for pointer, record in raw_records(run, find(run, trajectory), step):
        place = f"{pointer['source_file']}:{pointer['line']} byte {pointer['offset']}"
        print(f"step {pointer['step_id']} {pointer['part']}: {one_line(place)}", file=sys.stderr, flush=True)
        if sys.stdout.isatty():
            print(safe(record.decode("utf-8", "backslashreplace")))
        else:
            sys.stdout.buffer.write(record + b"\n")
            sys.stdout.buffer.flush()
