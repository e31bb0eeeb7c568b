"""Scan: every file under the raw folder as session candidates; files that have not changed are not opened again."""

import json
from collections import defaultdict
from collections.abc import Collection
from itertools import chain
from pathlib import Path

import msgspec

from openclawbench.base.code_digest import code_digest
from openclawbench.base.session_names import packed_variants
from openclawbench.intake.file_scanner import FileScanner
from openclawbench.intake.raw_entry import RawEntry, ScannedFile, escaped
from openclawbench.intake.raw_folder import Stamp, files_below, whole_content
from openclawbench.intake.raw_object_store import Raw, listed, local_file
from openclawbench.rules.loading.rule_file import canonical_digest
from openclawbench.rules.tables import TableRules
from openclawbench.sources.io.file_encodings import decompressed
from openclawbench.sources.openclaw.sqlite_store import is_store, member_content
from openclawbench.sources.tables.open_table import member_value
from openclawbench.storage.data_folder import DataFolder, write_atomic
from openclawbench.storage.object_store import ObjectStore

RUN_MANIFEST = "run_manifest.jsonl"


class SavedScan(msgspec.Struct):
    """The last scan, kept so that files that have not changed are not opened again."""

    raw: str = ""
    version: str = ""
    files: dict[str, ScannedFile] = {}


def scan(data: DataFolder, raw: Raw, save: bool) -> list[RawEntry]:
    """Every entry in the order of paths; files that have not changed since the last saved scan are not opened again.

    A file counts as unchanged when its size, times and inode, and those of its sidecars, are what they were.
    """
    cache_file = data.shared_file("scan.json")
    rules = TableRules.load()
    where = str(raw if isinstance(raw, ObjectStore) else raw.resolve())
    version = canonical_digest([code_digest(__name__), rules.digest])
    cached = saved_scan(cache_file)
    former_files = cached.files if (cached.raw, cached.version) == (where, version) else {}
    below = listed(raw).items() if isinstance(raw, ObjectStore) else files_below(str(raw))
    stamps: dict[str, Stamp | None] = dict(sorted(below, key=lambda item: item[0].split("/")))
    for manifest in packed_variants(RUN_MANIFEST):
        stamps.pop(manifest, None)
    changed = [name for name, stamp in stamps.items() if name not in former_files or former_files[name].stamp != stamp]
    scanner = FileScanner(raw, stamps, changed, rules)
    files = {escaped(name): scanner.scan_file(name, former_files.get(name)) for name in stamps}
    fresh = SavedScan(where, version, files)
    if fresh != cached and save:
        write_atomic(cache_file, [msgspec.json.encode(fresh)])
        data.share(cache_file)
    return with_sidecar_use(files.values())


def saved_scan(path: Path) -> SavedScan:
    """The last scan; an empty one where the file does not exist or is broken."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=SavedScan)
    except (OSError, ValueError):
        return SavedScan()


def with_sidecar_use(files: Collection[ScannedFile]) -> list[RawEntry]:
    """All entries; the context of a sidecar says what sessions took of it."""
    use: dict[str, set[str]] = defaultdict(set)
    for path, words in chain.from_iterable(file.sidecar_use for file in files):
        use[escaped(path)].add(words)
    entries = []
    for entry in chain.from_iterable(file.entries for file in files):
        if entry.context is None and entry.path in use:
            context = json.dumps({"gave": sorted(use[entry.path])})
            entries.append(msgspec.structs.replace(entry, context=context))
        else:
            entries.append(entry)
    return entries


def entry_content(raw: Raw, path: str, member: str | None, base_offset: int, length: int | None) -> bytes:
    """The bytes of one entry again. Raises OSError, ValueError or BrokenStore where they cannot be read."""
    if member is not None and length is None:
        file = local_file(raw, path)
        return member_content(file, member) if is_store(file) else member_value(file, member)
    content = decompressed(raw.read(path)) if isinstance(raw, ObjectStore) else whole_content(f"{raw}/{path}")[0]
    return content[:] if length is None else content[base_offset : base_offset + length]
