"""Trace: from a label or a step back to the raw records, byte for byte."""

import sys
from typing import Any

from openclawbench.base.terminal import one_line, safe
from openclawbench.errors import NotFound, UnreadableInput
from openclawbench.inspect.find import Key, rows_for
from openclawbench.intake.scan import entry_content
from openclawbench.records.session import Step, Trajectory
from openclawbench.runtime.run import Run
from openclawbench.sources.openclaw.sqlite_store import BrokenStore


def raw_records(run: Run, key: Key, step_id: int | None) -> list[tuple[dict[str, Any], bytes]]:
    """(pointer, bytes) of every raw record of a step, or of all steps.

    The pointer has step_id, part, source file, sha256, line, offset, length. Raises UnreadableInput where the file has
    changed since it was read: a pointer into other bytes would be a lie.
    """
    trajectory = rows_for(run, Trajectory, key)[0]
    steps = sorted(rows_for(run, Step, key), key=lambda step: int(step["step_id"]))
    if step_id is not None:
        steps = [step for step in steps if step["step_id"] == step_id]
        if not steps:
            raise NotFound(f"{key.trajectory_id}: has no step {step_id}; it has {trajectory['num_steps']}.")
    content = source_bytes(run, trajectory)
    file = trajectory["source_file"]
    if trajectory["source_format"] == "openclaw_sqlite":
        file = f"{file}#{trajectory['source_member']}"
    found = []
    for step in steps:
        for raw in step["raw"]:
            place = {
                "line": raw["line"] + trajectory["source_base_line"] - 1,
                "offset": raw["offset"] + trajectory["source_base_offset"],
            }
            pointer = {"step_id": step["step_id"], "source_file": file, **raw, **place}
            found.append((pointer, content[raw["offset"] : raw["offset"] + raw["length"]]))
    return found


def source_bytes(run: Run, trajectory: dict[str, Any]) -> bytes:
    """The session's bytes (decompressed, or out of its database), if they still are those that were read."""
    path = trajectory["source_file"]
    member, offset = trajectory["source_member"], trajectory["source_base_offset"]
    known = [e for e in run.intake.entries_at(path) if e.member == member and e.sha256 == trajectory["source_sha256"]]
    if not known:
        raise UnreadableInput(f"{path}: has changed since it was read. Run `openclawbench run` again.")
    try:
        return entry_content(run.intake.raw, path, member, offset, known[0].length)
    except (OSError, ValueError, BrokenStore) as error:
        raise UnreadableInput(f"{path}: {error}. Name the raw folder with --raw.") from error


def print_raw(records: list[tuple[dict[str, Any], bytes]]) -> None:
    """Pointers to stderr, bytes to stdout; on a terminal control characters are written out."""
    for pointer, data in records:
        place = f"{pointer['source_file']}:{pointer['line']} byte {pointer['offset']}"
        print(f"step {pointer['step_id']} {pointer['part']}: {one_line(place)}", file=sys.stderr, flush=True)
        if sys.stdout.isatty():
            print(safe(data.decode("utf-8", "backslashreplace")))
        else:
            sys.stdout.buffer.write(data + b"\n")
            sys.stdout.buffer.flush()
