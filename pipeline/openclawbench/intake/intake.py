"""The root of the flow: the content of raw/ and oracle/, hashed once, sharded by identity so that copies meet."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from mmap import mmap
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.base.gc_control import gc_disabled
from openclawbench.errors import UnreadableInput
from openclawbench.intake.fragments import with_fragments
from openclawbench.intake.licenses import with_licenses
from openclawbench.intake.lineage import collisions, entry_names, family_identity, short_digest, with_parents
from openclawbench.intake.oracles.files import OracleFiles, oracle_files
from openclawbench.intake.oracles.intake import OracleInput, read_oracles
from openclawbench.intake.oracles.sessions import SessionNames
from openclawbench.intake.raw_entry import RawEntry, entries_key
from openclawbench.intake.raw_folder import Stamp, whole_content
from openclawbench.intake.raw_object_store import Fetched, Raw, is_there, run_manifest_at
from openclawbench.intake.rows_by_shard import ByShard, TableByShard
from openclawbench.intake.run_manifest import manifest_rows
from openclawbench.intake.scan import RUN_MANIFEST, entry_content, scan
from openclawbench.records.oracle import OracleRow
from openclawbench.records.session import RunManifestRow, SourceFile
from openclawbench.rules.intake.oracle import OracleRules
from openclawbench.rules.intake.tables import TableRules
from openclawbench.sources.io.file_encodings import decompressed
from openclawbench.sources.io.mmap_files import sha256_of
from openclawbench.sources.openclaw.sqlite_store import BrokenStore
from openclawbench.storage.data_folder import DataFolder
from openclawbench.storage.object_store import ObjectStore
from openclawbench.storage.spilled_values import Multimap, SpilledGroups
from openclawbench.tables.bytes_column import bytes_column
from openclawbench.tables.schema import from_columns, schema

SHARD_BYTES = 32 << 20  # raw bytes per shard of a new data folder
SHARDS_MIN, SHARDS_MAX = 16, 4096
KEPT = (
    "source_model",
    "path",
    "member",
    "base_line",
    "base_offset",
    "sha256",
    "adapter",
    "identity",
    "context",
)  # fields of an entry
Row = dict[str, Any]
Places = Multimap[int]  # (source model, name or session id) -> shards


@dataclass
class Intake:
    """Everything that enters: per shard, raw files, run manifest rows and oracle rows."""

    raw: Raw
    entries: ByShard[RawEntry]
    manifest_rows: TableByShard
    oracle_rows: TableByShard
    sizes: dict[int, int]  # shard -> raw bytes
    faults: list[dict[str, Any]]
    shards: int
    categories: list[dict[str, Any]] = field(default_factory=list)  # OracleCategory: of BFCL trees
    warnings: list[dict[str, Any]] = field(default_factory=list)  # of the oracle: shown to the user, not a fault
    unused: list[dict[str, Any]] = field(default_factory=list)  # files of the oracle folder that give no outcome
    counts: dict[str, int] = field(
        default_factory=dict
    )  # oracle files by kind; manifest rows that name no session here

    def key(self, record: type[Any], shard: int) -> str | None:
        """Digest of what a shard holds of a source table; None if it holds nothing."""
        if record is SourceFile:
            entries = self.entries.get(shard, [])
            return entries_key(entries)[:24] if entries else None
        digest = self.rows_of(record).digests.get(shard)
        return None if digest is None else digest[:24]

    def only(self, shard: int) -> "Intake":
        """The inputs of one shard."""
        return Intake(
            raw=self.raw,
            entries=self.entries.only(shard),
            manifest_rows=self.manifest_rows.only(shard),
            oracle_rows=self.oracle_rows.only(shard),
            sizes={shard: self.sizes.get(shard, 0)},
            faults=[],
            shards=self.shards,
        )

    def size(self) -> int:
        """Raw bytes."""
        return sum(self.sizes.values())

    def entries_at(self, path: str) -> list[RawEntry]:
        """Entries of one file."""
        return [entry for entries in self.entries.values() for entry in entries if entry.path == path]

    def rows(self, record: type[Any]) -> int:
        """Rows of a source table over all shards."""
        return self.entries.rows() if record is SourceFile else self.rows_of(record).rows()

    def rows_of(self, record: type[Any]) -> TableByShard:
        """The rows of the run manifest, or of the oracle."""
        return self.manifest_rows if record is RunManifestRow else self.oracle_rows

    def read(self, record: type[Any], shard: int) -> pl.LazyFrame:
        """One shard of a source table."""
        if record is SourceFile:
            entries = self.entries.get(shard, [])
            errors: list[str | None] = []
            contents = bytes_column("content", self.contents(entries, errors))
            columns = {name: [getattr(entry, name) for entry in entries] for name in KEPT}
            table = from_columns(columns | {"error": errors}, schema(SourceFile)).with_columns(contents)
            return table.select(list(SourceFile.model_fields)).lazy()
        return self.rows_of(record).table(shard).lazy()

    def contents(self, entries: list[RawEntry], errors: list[str | None]) -> Iterator[bytes | mmap | None]:
        """The bytes of files, one after the other. `errors` receives the reason for each file that cannot be read."""
        read_file = lru_cache(maxsize=1)(file_reader(self.raw, entries))
        for entry in entries:
            content, error = self.content(entry, read_file)
            errors.append(error)
            yield content

    def content(
        self, entry: RawEntry, read_file: Callable[[str], tuple[bytes | mmap, Stamp | None]]
    ) -> tuple[bytes | mmap | None, str | None]:
        """The bytes of a file, or the reason why they cannot be read. A file that changed or vanished since the scan
        counts as unreadable, not as wrong.

        `read_file` keeps the file read last, so that one of many sessions is not read again for each of them.
        """
        content: bytes | mmap | None = None
        error, stamp = entry.error, None
        if entry.sha256 is None:  # there was nothing to be read
            return None, error
        if error is None:
            try:
                if entry.member is not None and entry.length is None:
                    content = entry_content(self.raw, entry.path, entry.member, 0, None)
                else:
                    content, stamp = read_file(entry.path)
            except (OSError, ValueError, BrokenStore, StopIteration) as failure:
                error = str(failure)
            if content is not None and entry.length is not None:
                content = content[entry.base_offset : entry.base_offset + entry.length]
            # A file whose stamp is that of its digest is not digested again, which saves a third of reading it.
            unchanged = stamp is not None and stamp == entry.stamp
            if content is not None and not unchanged and sha256_of(content) != entry.sha256:
                content, error = None, "the file changed while it was being read; run again."
        return content, error


@gc_disabled()
def take_in(
    data: DataFolder,
    raw: Raw,
    oracle: Path | None,
    save: bool,
    models: Mapping[str, str] | None = None,
    accept_noncommercial: bool = False,
    packed: Path | None = None,
) -> Intake:
    """Scan the inputs; `save` keeps the scan for the next run. `models`: model folder of a BFCL tree -> source model.
    `accept_noncommercial`: whether sessions are read whose licence allows no commercial use. `packed`: folder of the
    files that hold the rows, for an Intake that another process is to use; without it they have no names.

    Raises UnreadableInput if raw/ is not there or holds the data folder, or if a named oracle path is not there.
    """
    if isinstance(raw, Path) and raw.is_file():
        raise UnreadableInput(f"{raw}: is a file. Name the folder that holds <source_model>/ folders.")
    if not is_there(raw):
        raise UnreadableInput(
            f"{raw}: there is no such folder. Put sessions under {raw}/<source_model>/ or name --raw."
        )
    if isinstance(raw, Path) and data.root.resolve().is_relative_to(raw.resolve()):
        raise UnreadableInput(
            f"{raw}: holds the data folder {data.root}, so a run would read what runs write. Name the folder of the "
            "sessions alone with --raw, or another --data."
        )
    scanned = with_licenses(scan(data, raw, save), raw, accept_noncommercial, TableRules.load())
    entries = with_fragments(with_parents(scanned))
    if not entries:
        raise UnreadableInput(f"{raw}: holds no files. Put sessions under {raw}/<source_model>/ or name --raw.")
    faults = collisions(entries)
    shards = shard_count(data, sum(entry.size for entry in entries), save)
    rules = OracleRules.load()
    by_shard, sizes, names, places = assign_shards(entries, shards, rules, packed and packed / "entries")
    del entries  # packed by now: what follows has its own of every session
    own = run_manifest_at(data, raw, RUN_MANIFEST)
    manifest, outcomes = outcomes_of(own, oracle, names, models or {}, rules, faults)
    lost = sum((row["source_model"], row["native_session_basename"]) not in places for row in manifest)
    return Intake(
        raw=raw,
        entries=by_shard,
        manifest_rows=TableByShard(
            RunManifestRow,
            assign_rows(manifest, "native_session_basename", places, shards),
            packed and packed / "manifest",
        ),
        oracle_rows=TableByShard(
            OracleRow, assign_rows(outcomes.rows, "basename", places, shards), packed and packed / "oracle"
        ),
        sizes=sizes,
        categories=outcomes.categories,
        faults=faults + outcomes.faults,
        shards=shards,
        warnings=outcomes.warnings,
        unused=outcomes.unused,
        counts=outcomes.files | {"manifest_rows_without_session": lost},
    )


def assign_shards(
    entries: Iterable[RawEntry], shards: int, rules: OracleRules, path: Path | None
) -> tuple[ByShard[RawEntry], dict[int, int], SessionNames, Places]:
    """The entries of each shard and their bytes, their names as rows of an oracle may write them, and where each name
    is."""
    by_shard, sizes = SpilledGroups[RawEntry](), Counter[int]()
    names, places = SessionNames(rules), Places()
    for entry in entries:
        shard = shard_of(f"{entry.source_model}\0{family_identity(entry)}", shards)
        by_shard.add(shard, entry)
        sizes[shard] += entry.size
        if entry.session_id is not None:
            for name in entry_names(entry):
                places.add((entry.source_model, name), shard)
                names.add(entry.source_model, name, entry.session_id, entry.identity)
            places.add((entry.source_model, f"id:{entry.session_id}"), shard)
    return ByShard(by_shard, path), dict(sizes), names, places


def outcomes_of(
    own: list[Path],
    oracle: Path | None,
    names: SessionNames,
    models: Mapping[str, str],
    rules: OracleRules,
    faults: list[dict[str, Any]],
) -> tuple[Collection[Row], OracleInput]:
    """(run manifest rows, what the oracle says). `own`: the run manifest of the raw folder."""
    files = OracleFiles(Path()) if oracle is None else oracle_files(oracle, rules)
    warnings: list[dict[str, Any]] = []
    manifest = manifest_rows([*own, *files.manifests], names, rules, faults, warnings)
    oracles = read_oracles(files, manifest, names, models, rules)
    oracles.warnings[:0] = warnings
    oracles.files["run_manifest"] = len({path.resolve() for path in (*own, *files.manifests)})
    return manifest, oracles


def file_reader(raw: Raw, entries: list[RawEntry]) -> Callable[[str], tuple[bytes | mmap, Stamp | None]]:
    """How to read the files of these entries, in their order: bytes, and the stamp as the folder has it."""
    if not isinstance(raw, ObjectStore):
        return lambda path: whole_content(f"{raw}/{path}")
    fetched = Fetched(raw, [entry.path for entry in entries], {entry.path: entry.size for entry in entries})
    return lambda path: (decompressed(fetched.read(path)), None)


def assign_rows(rows: Iterable[Row], column: str, places: Places, shards: int) -> SpilledGroups[Row]:
    """Shard -> the rows that its sessions may join; a row that names no session here is placed by its own hash.
    `shards` of a row is the number of its shards."""
    rows_by_shard = SpilledGroups[Row]()
    for row in rows:
        model, name = row["source_model"], row[column] or ""
        at = set(places.get((model, name)))
        if row.get("session_id"):
            at.update(places.get((model, f"id:{row['session_id']}")))
        placed = row | {"shards": len(at) or 1}
        for shard in at or {shard_of(f"{model}\0{name}", shards)}:
            rows_by_shard.add(shard, placed)
    return rows_by_shard


def shard_of(identity: str, shards: int) -> int:
    """Stable on every machine."""
    return short_digest(identity) % shards


def shard_count(data: DataFolder, size: int, save: bool) -> int:
    """Number of shards: chosen once from the raw size, then fixed for the life of the data folder, and of the parts in
    object storage."""
    stored_count = data.layout().get("shards")
    count = stored_count if isinstance(stored_count, int) else SHARDS_MIN
    while not stored_count and count * SHARD_BYTES < size and count < SHARDS_MAX:
        count *= 2
    return data.fixed_shards(count, save)


SOURCES = (SourceFile, RunManifestRow, OracleRow)
