"""The root of the flow: what lies in raw/ and oracle/, hashed once, sharded by identity so that copies meet."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from pipeline.errors import UnreadableInput
from pipeline.lineage import collisions, entry_name, with_parents
from pipeline.oracles.jsonl import read_oracle
from pipeline.records.oracle import OracleRow
from pipeline.records.session import RunManifestRow, SourceFile
from pipeline.rules.base import canonical_digest
from pipeline.scan import RUN_MANIFEST, RawEntry, entries_key, entry_content, scan, whole_content
from pipeline.sources.jsonl import pieces
from pipeline.sources.names import basename
from pipeline.sources.sqlite_store import BrokenStore
from pipeline.store import DataFolder
from pipeline.tables import from_records, shared_bytes

SHARD_BYTES = 8 << 20  # raw bytes a shard when a data folder is new
SHARDS_MIN, SHARDS_MAX = 16, 4096


@dataclass
class Intake:
    """Everything that enters: per shard, raw files, run manifest rows and oracle rows."""

    raw: Path
    entries: dict[int, list[RawEntry]]
    manifest_rows: dict[int, list[dict[str, Any]]]
    oracle_rows: dict[int, list[dict[str, Any]]]
    faults: list[dict[str, Any]]
    shards: int

    def key(self, record: type[Any], shard: int) -> str | None:
        """Digest of what a shard holds of a source table; null where it holds nothing."""
        if record is SourceFile:
            entries = self.entries.get(shard, [])
            return entries_key(entries)[:24] if entries else None
        rows = (self.manifest_rows if record is RunManifestRow else self.oracle_rows).get(shard, [])
        return canonical_digest(rows)[:24] if rows else None

    def only(self, shard: int) -> "Intake":
        """What enters at one shard."""
        entries, manifest, oracle = self.entries.get(shard), self.manifest_rows.get(shard), self.oracle_rows.get(shard)
        return Intake(
            raw=self.raw,
            entries={shard: entries} if entries else {},
            manifest_rows={shard: manifest} if manifest else {},
            oracle_rows={shard: oracle} if oracle else {},
            faults=[],
            shards=self.shards,
        )

    def size(self) -> int:
        """Raw bytes."""
        return sum(entry.size for entries in self.entries.values() for entry in entries)

    def entries_at(self, path: str) -> list[RawEntry]:
        """Entries of one file."""
        return [entry for entries in self.entries.values() for entry in entries if entry.path == path]

    def rows(self, record: type[Any]) -> int:
        """Rows of a source table over all shards."""
        tables: dict[Any, dict[int, list[Any]]] = {SourceFile: self.entries, RunManifestRow: self.manifest_rows}
        return sum(len(rows) for rows in tables.get(record, self.oracle_rows).values())

    def read(self, record: type[Any], shard: int) -> pl.LazyFrame:
        """One shard of a source table."""
        if record is SourceFile:
            whole = lru_cache(maxsize=1)(lambda path: whole_content(self.raw / path))
            files = [self.source_file(entry, whole) for entry in self.entries.get(shard, [])]
            contents = shared_bytes("content", [file.pop("content") for file in files])
            return from_records(files, SourceFile).with_columns(contents).lazy()
        rows = (self.manifest_rows if record is RunManifestRow else self.oracle_rows).get(shard, [])
        return from_records(rows, record).lazy()

    def source_file(self, entry: RawEntry, whole: Callable[[str], bytes]) -> dict[str, Any]:
        """The row of a file; a file that changed or vanished since the scan is an unreadable one, not a wrong one.

        `whole` keeps the file read last, so that one of many sessions is not read again for each of them.
        """
        content, error = None, entry.error
        if error is None:
            try:
                if entry.length is None:
                    content = entry_content(self.raw, entry.path, entry.member, 0, None)
                else:
                    content = whole(entry.path)[entry.base_offset : entry.base_offset + entry.length]
            except (OSError, ValueError, BrokenStore, StopIteration) as failure:
                error = str(failure)
            if content is not None and hashlib.sha256(content).hexdigest() != entry.sha256:
                content, error = None, "the file changed while it was being read; run again"
        kept = ("source_model", "path", "member", "base_line", "base_offset", "sha256", "context")
        return {**{name: getattr(entry, name) for name in kept}, "content": content, "error": error}


def read_bytes(path: Path) -> tuple[bytes | None, str | None]:
    """A file's bytes, or the reason why they can't be had."""
    try:
        return path.read_bytes(), None
    except OSError as error:
        return None, error.strerror or type(error).__name__


def take_in(data: DataFolder, raw: Path, oracle: Path | None, save: bool) -> Intake:
    """Scan the inputs; `save` keeps the scan for the next run.

    Raises UnreadableInput where raw/ is not there, or a named oracle path is not.
    """
    if raw.is_file():
        raise UnreadableInput(f"{raw}: is a file. Name the folder that holds <source_model>/ folders.")
    if not raw.is_dir():
        raise UnreadableInput(
            f"{raw}: there is no such folder. Put sessions under {raw}/<source_model>/ or name --raw."
        )
    entries = with_parents(scan(data, raw, save))
    if not entries:
        raise UnreadableInput(f"{raw}: holds no files. Put sessions under {raw}/<source_model>/ or name --raw.")
    faults = collisions(entries)
    shards = shard_count(data, sum(entry.size for entry in entries))
    by_shard: dict[int, list[RawEntry]] = defaultdict(list)
    places: dict[tuple[str, str], set[int]] = defaultdict(set)  # (source model, basename or session id) -> shards
    sessions: dict[tuple[str, str], set[str]] = defaultdict(set)  # (source model, basename) -> identities
    for entry in entries:
        shard = shard_of(f"{entry.source_model}\0{entry.identity}", shards)
        by_shard[shard].append(entry)
        name = (entry.source_model, entry_name(entry))
        if entry.session_id is not None:
            places[name].add(shard)
            places[entry.source_model, f"id:{entry.session_id}"].add(shard)
            sessions[name].add(entry.identity)
    manifest = manifest_rows(raw, faults)
    oracle_found = oracle_rows(oracle, faults) if oracle else []
    for row in oracle_found:
        row["sessions_named"] = len(sessions.get((row["source_model"], base(row)), ()))
    return Intake(
        raw=raw,
        entries=dict(by_shard),
        manifest_rows=spread(manifest, places, shards),
        oracle_rows=spread(oracle_found, places, shards),
        faults=faults,
        shards=shards,
    )


def base(row: dict[str, Any]) -> str:
    """Basename that a manifest or oracle row names; empty where it names none."""
    return basename(row["native_session_basename"] or "")


def spread(
    rows: list[dict[str, Any]], places: dict[tuple[str, str], set[int]], shards: int
) -> dict[int, list[dict[str, Any]]]:
    """Rows go where the sessions they may join are; a row that names no session here goes by its own hash."""
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        model = row["source_model"]
        at = set(places.get((model, base(row)), ()))
        if row.get("session_id"):
            at |= places.get((model, f"id:{row['session_id']}"), set())
        for shard in at or {shard_of(f"{model}\0{base(row)}", shards)}:
            found[shard].append(row)
    return dict(found)


def shard_of(identity: str, shards: int) -> int:
    """Stable on every machine."""
    return int.from_bytes(hashlib.blake2b(identity.encode(), digest_size=8).digest(), "big") % shards


def shard_count(data: DataFolder, size: int) -> int:
    """Number of shards: chosen once from the raw size, then fixed for the life of the data folder."""
    known = data.layout().get("shards")
    if isinstance(known, int):
        return known
    count = SHARDS_MIN
    while count * SHARD_BYTES < size and count < SHARDS_MAX:
        count *= 2
    return count


def manifest_rows(raw: Path, faults: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Lines of raw/run_manifest.jsonl; none where there is no such file. A broken line is a fault, the rest goes on."""
    path = raw / RUN_MANIFEST
    if not path.exists():
        return []
    content, error = read_bytes(path)
    if content is None:
        raise UnreadableInput(f"{path}: {error}. Make it readable and run again.")
    rows = []
    for number, _, data in pieces(content):
        try:
            value = json.loads(data)
            row = RunManifestRow.model_validate(dict.fromkeys(RunManifestRow.model_fields) | value)
        except (ValueError, TypeError):
            message = f"{path}: line {number}: not a run manifest line. Correct it and run again."
            faults.append({"reason": "run_manifest_malformed", "file": str(path), "line": number, "message": message})
            continue
        rows.append(row.model_dump())
    return rows


def oracle_rows(oracle: Path, faults: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of an oracle file, or of every *.jsonl below a folder. UnreadableInput where the path is not there."""
    if not oracle.exists():
        raise UnreadableInput(f"{oracle}: there is no such oracle file or folder. Name an existing one.")
    files = sorted(oracle.rglob("*.jsonl")) if oracle.is_dir() else [oracle]
    rows = []
    for path in files:
        content, error = read_bytes(path)
        if content is None:
            raise UnreadableInput(f"{path}: {error}. Make it readable and run again.")
        for one in read_oracle(content, path.name):
            if one.record is None:
                place = {"reason": one.reason, "file": str(path), "line": one.line, "message": one.message}
                faults.append(place)
            else:
                row_id = f"{path.name}:{one.line}"
                rows.append({**one.record.model_dump(), "row_id": row_id, "sessions_named": 0})
    return rows


SOURCES = (SourceFile, RunManifestRow, OracleRow)
