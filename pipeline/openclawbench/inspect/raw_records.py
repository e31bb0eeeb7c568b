"""From a step back to its raw records, byte for byte."""

from typing import Any

from openclawbench.errors import NotFound, UnreadableInput
from openclawbench.inspect.find import Key, rows_for
from openclawbench.intake.raw_entry import RawEntry
from openclawbench.intake.scan import entry_content
from openclawbench.records.session import Step, Trajectory
from openclawbench.runtime.run import Run
from openclawbench.sources.openclaw.sqlite_store import BrokenStore


def raw_records(run: Run, key: Key, step_id: int | None) -> list[tuple[dict[str, Any], bytes]]:
    """(pointer, bytes) of each raw record of a step, or of all steps if `step_id` is None.

    A pointer has step_id, part, source_file, line, offset, length. Raises NotFound for a step that does not
    exist, and UnreadableInput if the file has changed since it was read.
    """
    trajectory = rows_for(run, Trajectory, key)[0]
    steps = sorted(rows_for(run, Step, key), key=lambda step: int(step["step_id"]))
    if step_id is not None:
        steps = [step for step in steps if step["step_id"] == step_id]
        if not steps:
            raise NotFound(f"{key.trajectory_id}: has no step {step_id}; it has {trajectory['num_steps']}.")
    sources = {None: (trajectory, *source_bytes(run, trajectory))}
    records = []
    for step in steps:
        for raw in step["raw"]:
            if raw["file"] not in sources:
                other = whole_file(run, raw["file"])
                sources[raw["file"]] = (other, *source_bytes(run, other))
            source, entry, content = sources[raw["file"]]
            pointer = {name: value for name, value in raw.items() if name != "file"}
            records.append(
                ({"step_id": step["step_id"], **pointer, **place_of(entry, source, raw)}, record_in(content, raw))
            )
    return records


def whole_file(run: Run, path: str) -> dict[str, Any]:
    """The `source_*` columns of a file that continues a session. Raises UnreadableInput if it is not there."""
    entry = next((entry for entry in run.intake.entries_at(path) if entry.member is None), None)
    if entry is None:
        raise UnreadableInput(f"{path}: is not there any more. Run `openclawbench run` again.")
    place = {"source_file": path, "source_member": None, "source_base_line": 1, "source_base_offset": 0}
    return place | {"source_sha256": entry.sha256}


def removed_records(run: Run, key: Key) -> list[tuple[dict[str, Any], bytes]]:
    """(pointer, bytes) of each record that the program took out of the session's file and a copy still holds. `step_id`
    is None. Raises UnreadableInput if the copy has changed since it was read."""
    records: list[tuple[dict[str, Any], bytes]] = []
    for removed in rows_for(run, Trajectory, key)[0]["removed_records"]:
        entry, content = source_bytes(run, removed)
        raw = {name: removed[name] for name in ("part", "line", "offset", "length")}
        records.append(({"step_id": None, **raw, **place_of(entry, removed, raw)}, record_in(content, raw)))
    return records


def place_of(entry: RawEntry, source: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    """Where a raw record is in its file. `source`: the `source_*` columns of what it is of."""
    file = source["source_file"]
    if entry.member is not None and entry.length is None:
        file = f"{file}#{entry.member}"
    line, offset = raw["line"] + source["source_base_line"] - 1, raw["offset"] + source["source_base_offset"]
    return {"source_file": file, "line": line, "offset": offset}


def record_in(content: bytes, raw: dict[str, Any]) -> bytes:
    """The bytes of a raw record."""
    return content[raw["offset"] : raw["offset"] + raw["length"]]


def source_bytes(run: Run, source: dict[str, Any]) -> tuple[RawEntry, bytes]:
    """Where a session is, and its bytes, decompressed, or from its database or table. `source`: the `source_*` columns
    of a trajectory, or of a removed record. Raises UnreadableInput if they have changed."""
    path = source["source_file"]
    member, offset = source["source_member"], source["source_base_offset"]
    candidates = [
        entry
        for entry in run.intake.entries_at(path)
        if entry.member == member and entry.sha256 == source["source_sha256"]
    ]
    if not candidates:
        raise UnreadableInput(f"{path}: has changed since it was read. Run `openclawbench run` again.")
    try:
        return candidates[0], entry_content(run.intake.raw, path, member, offset, candidates[0].length)
    except (OSError, ValueError, BrokenStore) as error:
        raise UnreadableInput(f"{path}: {error}. Name the raw folder with --raw.") from error
