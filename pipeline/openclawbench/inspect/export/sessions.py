"""`openclawbench export --to atif|scout|pi -o DIR`: labelled trajectories in the formats of other tools."""

import hashlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.base.terminal import UNSAFE
from openclawbench.errors import NotFound, StageFailed, UsageError
from openclawbench.inspect.find import Parts, advice, fresh
from openclawbench.records.release import Master
from openclawbench.records.session import Step, Trajectory, UserTurn
from openclawbench.release.interchange.atif import as_atif
from openclawbench.release.interchange.atif_check import fault
from openclawbench.release.interchange.pi import as_pi
from openclawbench.release.interchange.scout import SCHEMA, as_scout
from openclawbench.release.interchange.session import Labelled, encode_json
from openclawbench.release.privacy.gate import Gate
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.runtime.run import Run
from openclawbench.storage.data_folder import write_atomic
from openclawbench.storage.temporary_folder import filled_whole
from openclawbench.tables.record import TRAJECTORY_KEY, Record

FORMS = ("atif", "scout", "pi")
LONGEST_NAME = 180  # characters of a file name, before its ending
TABLES: tuple[type[Record], ...] = (Trajectory, Step, UserTurn, Master)
ROW_GROUP = 50  # transcripts


def export_sessions(run: Run, form: str, to: Path | None) -> tuple[int, int]:
    """Write every trajectory that is up to date. Returns (number written, number left out because they are empty).

    atif, pi: DIR/<source_model>/<trajectory_id>.json or .jsonl. scout: DIR/transcripts-<shard>.parquet. Raises
    UsageError if the form is unknown or the folder is not empty: files of an earlier export would look like part of it;
    and ReleaseBlocked if a text blocks a release. The folder then has no files.
    """
    if form not in FORMS:
        raise UsageError(f"export --to {form}: there is no such form. Use one of: {', '.join(FORMS)}.")
    if to is None:
        raise UsageError(f"export --to {form}: name a folder with -o.")
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise UsageError(f"{to}: is not an empty folder. Name a new one.")
    synthetic = NormalizeRules.load().synthetic_prefixes[0]
    gate = Gate(PrivacyRules.load(overrides=run.overrides), f"export --to {form}")
    write = {"atif": write_atif, "scout": write_scout, "pi": write_pi}[form]
    written = skipped = 0
    with filled_whole(to) as folder:
        for shard, rows in shards(run):
            count = write(folder, shard, let_out(rows, gate), synthetic)
            written, skipped = written + count, skipped + len(rows) - count
    return written, skipped


def let_out(sessions: list[Labelled], gate: Gate) -> list[Labelled]:
    """The same trajectories as a release would hold them. Raises ReleaseBlocked."""
    rows = iter(gate.let_out([row for session in sessions for row in session.rows]))
    return [session.with_rows(rows) for session in sessions]


def shards(run: Run) -> Iterator[tuple[str, list[Labelled]]]:
    """(shard, its trajectories by key), one shard in memory at a time. Raises NotFound if no shard is up to date."""
    parts = {record: fresh(run, record) for record in TABLES}
    complete_shards = set.intersection(*(set(part) for part in parts.values()))
    if not complete_shards:
        raise NotFound(f"{run.data.root}: Master {advice(run)}")
    for shard in sorted(complete_shards, key=lambda name: f"{name:>9}"):
        trajectories, steps, turns, masters = (rows(run, record, parts[record], shard) for record in TABLES)
        steps_by_turn = []
        for key in sorted(trajectories):
            mine = sorted(steps.get(key, []), key=lambda step: step["step_id"])
            user_turns = sorted(turns.get(key, []), key=lambda turn: turn["user_turn"])
            steps_by_turn.append(Labelled(trajectories[key][0], mine, user_turns, masters[key][0]))
        yield str(shard), steps_by_turn


def rows(run: Run, record: type[Record], parts: Parts, shard: int | str) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Rows of one part, by key."""
    frame = run.data.scan(record, {shard: parts[shard]}).collect()
    rows_by_key: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in frame.iter_rows(named=True):
        rows_by_key.setdefault((row[TRAJECTORY_KEY[0]], row[TRAJECTORY_KEY[1]]), []).append(row)
    return rows_by_key


def write_atif(to: Path, _shard: str, sessions: list[Labelled], synthetic: str) -> int:
    """One document per trajectory. Raises StageFailed if a document does not follow the format."""
    written = 0
    for session in sessions:
        document = as_atif(session, synthetic)
        if document is None:
            continue
        data = encode_json(document)
        if wrong := fault(data):
            raise StageFailed(f"{session.trajectory['trajectory_id']}: made no ATIF document: {wrong}")
        write_atomic(path_of(to, session, ".json"), [data, b"\n"])
        written += 1
    return written


def write_pi(to: Path, _shard: str, sessions: list[Labelled], synthetic: str) -> int:
    """One session file per trajectory."""
    for session in sessions:
        write_atomic(path_of(to, session, ".jsonl"), as_pi(session, synthetic))
    return len(sessions)


def write_scout(to: Path, shard: str, sessions: list[Labelled], synthetic: str) -> int:
    """One Parquet file per shard, in small row groups."""
    if sessions:
        buffer = io.BytesIO()
        frame = pl.DataFrame([as_scout(session, synthetic) for session in sessions], schema=SCHEMA, orient="row")
        frame.write_parquet(buffer, compression="zstd", row_group_size=ROW_GROUP)
        write_atomic(to / f"transcripts-{shard:0>5}.parquet", [buffer.getvalue()])
    return len(sessions)


def path_of(to: Path, session: Labelled, ending: str) -> Path:
    """The path of a trajectory's file: never outside the folder, whatever its id is."""
    row = session.trajectory
    return to / file_name(row["source_model"]) / f"{file_name(row['trajectory_id'])}{ending}"


def file_name(text: str) -> str:
    """An id as a file name: separators and control characters as `_`, no leading dot; if that changes or cuts the id,
    the beginning of its digest makes the name unique."""
    named = UNSAFE.sub("_", text).translate(str.maketrans("/\\\n\t:", "_____"))
    named = f"_{named[1:]}" if named.startswith(".") else named
    while len(named.encode()) > LONGEST_NAME:
        named = named[:-1]
    return named if named == text else f"{named}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
