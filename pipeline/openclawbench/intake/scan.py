"""Scan: every file under the raw folder as session candidates; files that have not changed are not opened again."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

import msgspec

from openclawbench.base.code_digest import code_digest
from openclawbench.base.session_names import packed_variants
from openclawbench.intake.file_scanner import FileScanner
from openclawbench.intake.raw_entry import RawEntry, ScannedFile, escape_name
from openclawbench.intake.raw_folder import Stamp, files_below, whole_content
from openclawbench.intake.raw_object_store import Raw, list_objects, local_file
from openclawbench.intake.saved_scan import SavedScan, order
from openclawbench.rules.intake.tables import TableRules
from openclawbench.rules.loading.rule_file import canonical_digest
from openclawbench.sources.io.file_encodings import decompressed
from openclawbench.sources.openclaw.sqlite_store import is_store, member_content
from openclawbench.sources.tables.open_table import member_value
from openclawbench.storage.data_folder import DataFolder
from openclawbench.storage.object_store import ObjectStore
from openclawbench.storage.spilled_values import SpilledList

RUN_MANIFEST = "run_manifest.jsonl"


def scan(data: DataFolder, raw: Raw, save: bool) -> Collection[RawEntry]:
    """Every entry in the order of paths; files that have not changed since the last saved scan are not opened again.
    `save`: keep the scan for the next run.

    A file counts as unchanged when its size, times and inode, and those of its sidecars, are what they were.
    """
    rules = TableRules.load()
    where = str(raw if isinstance(raw, ObjectStore) else raw.resolve())
    version = canonical_digest([code_digest(__name__), rules.digest])
    below = list_objects(raw).items() if isinstance(raw, ObjectStore) else files_below(str(raw))
    stamps: dict[str, Stamp | None] = dict(sorted(below, key=lambda item: order(item[0])))
    for manifest in packed_variants(RUN_MANIFEST):
        stamps.pop(manifest, None)
    saved = SavedScan(data, f"{escape_name(where)} {version}", stamps)
    changed = [name for name in stamps if name not in saved.unchanged]
    scanner = FileScanner(raw, stamps, changed, rules, saved.same_names)
    files = ((name, scanner.scan_file(name, former), former) for name, former in saved.files())
    return entries_of(scanned for _, scanned, _ in (saved.saving(files) if save else files))


def entries_of(files: Iterable[ScannedFile]) -> Collection[RawEntry]:
    """All entries; the context of a sidecar says what sessions used of it."""
    entries = SpilledList[RawEntry]()
    use: dict[str, set[str]] = defaultdict(set)
    for file in files:
        for entry in file.entries:
            entries.append(entry)
        for path, words in file.sidecar_use:
            use[escape_name(path)].add(words)
    return SpilledList(with_use(entry, use) for entry in entries) if use else entries


def with_use(entry: RawEntry, use: Mapping[str, set[str]]) -> RawEntry:
    """An entry, with what sessions used of it. `use`: path of a sidecar -> in words."""
    if entry.context is not None or entry.path not in use:
        return entry
    return msgspec.structs.replace(entry, context=json.dumps({"gave": sorted(use[entry.path])}))


def entry_content(raw: Raw, path: str, member: str | None, base_offset: int, length: int | None) -> bytes:
    """The bytes of one entry again. Raises OSError, ValueError or BrokenStore where they cannot be read."""
    if member is not None and length is None:
        file = local_file(raw, path)
        return member_content(file, member) if is_store(file) else member_value(file, member)
    content = decompressed(raw.read(path)) if isinstance(raw, ObjectStore) else whole_content(f"{raw}/{path}")[0]
    return content[:] if length is None else content[base_offset : base_offset + length]
