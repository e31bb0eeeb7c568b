"""Scan: every file under the raw folder, opened once: digest, identity, members, and what lies beside it."""

import json
import os
from collections import defaultdict
from collections.abc import Collection, Iterator
from itertools import chain
from mmap import mmap
from pathlib import Path
from typing import Any

import msgspec

from openclawbench.base.code_digest import code_digest
from openclawbench.base.session_names import packed_variants
from openclawbench.intake.raw_folder import (
    Stamp,
    files_below,
    read_content,
    read_long,
    reason_of,
    whole_content,
    why_unreadable,
)
from openclawbench.intake.raw_object_store import Fetched, Raw, content_of, listed, local_file
from openclawbench.intake.sidecars import Companions
from openclawbench.rules.loading.rule_file import canonical_digest
from openclawbench.sources.base import IDENTITY, PARENT, Member
from openclawbench.sources.io.file_encodings import decompressed
from openclawbench.sources.io.mmap_files import sha256_of
from openclawbench.sources.openclaw.sqlite_store import BESIDE, LOGS, BrokenStore, StoreNote, member_content, read_store
from openclawbench.sources.registry import PART_OF, FirstRecord, embedded, members, read_first, source_named
from openclawbench.storage.data_folder import DataFolder, write_atomic
from openclawbench.storage.object_store import ObjectStore
from openclawbench.tables.schema import LARGE_BYTES

NO_TRAJECTORY = "a trajectory of a sub-agent that does not say of which format it is. Add its `schema_version`."
DEEPEST = 16  # levels of sub-agents inside sub-agents: each level is read once more for the levels below it
TOO_DEEP = f"a trajectory of a sub-agent more than {DEEPEST} levels inside others. Put it into a file of its own."
RUN_MANIFEST = "run_manifest.jsonl"
WHOLE_FILE: dict[str, Any] = {"member": None, "base_line": 1, "base_offset": 0, "length": None}
STORE, STORE_LOG = "openclaw_sqlite", "openclaw_sqlite_log"  # what reads a file that no adapter reads


class RawEntry(msgspec.Struct, frozen=True):
    """One session candidate: a file, or a member of one that holds several."""

    source_model: str
    path: str
    member: str | None
    base_line: int
    base_offset: int
    length: int | None  # bytes of a line member; null: to the end
    size: int
    stamp: Stamp | None  # of a file that is one session, as it was before it was digested
    sha256: str | None
    session_id: str | None
    identity: str
    context: str | None
    error: str | None


class ScannedFile(msgspec.Struct):
    """What a file held when it was last opened, and the stamps of the files beside it that were read for context."""

    stamp: Stamp | None
    companions: dict[str, Stamp | None]
    source: str | None  # adapter that reads it, or STORE, STORE_LOG
    entries: list[RawEntry]
    gave: list[tuple[str, str]] = []  # files beside it, and what its sessions took of each, in words


class SavedScan(msgspec.Struct):
    """The last scan, kept so that files that have not changed are not opened again."""

    raw: str = ""
    version: str = ""
    files: dict[str, ScannedFile] = {}


def scan(data: DataFolder, raw: Raw, save: bool) -> list[RawEntry]:
    """Every entry in the order of paths; files that have not changed since the last saved scan are not opened again.

    A file counts as unchanged when its size, times and inode, and those of the files beside it that were read for
    context, are what they were.
    """
    cache_file = data.shared_file("scan.json")
    where, version = str(raw if isinstance(raw, ObjectStore) else raw.resolve()), code_digest(__name__)
    cached = saved_scan(cache_file)
    known = cached.files if (cached.raw, cached.version) == (where, version) else {}
    below = listed(raw).items() if isinstance(raw, ObjectStore) else files_below(str(raw))
    stamps: dict[str, Stamp | None] = dict(sorted(below, key=lambda found: found[0].split("/")))
    for manifest in packed_variants(RUN_MANIFEST):
        stamps.pop(manifest, None)
    changed = [name for name, stamp in stamps.items() if name not in known or known[name].stamp != stamp]
    scanner = FileScanner(raw, stamps, changed)
    files = {escaped(name): scanner.file(name, known.get(name)) for name in stamps}
    fresh = SavedScan(where, version, files)
    if fresh != cached and save:
        write_atomic(cache_file, [msgspec.json.encode(fresh)])
        data.share(cache_file)
    return with_taken(files.values())


def with_taken(files: Collection[ScannedFile]) -> list[RawEntry]:
    """All entries; of files that are no sessions, and of which sessions took something, the context says what."""
    taken: dict[str, set[str]] = defaultdict(set)
    for path, what in chain.from_iterable(file.gave for file in files):
        taken[escaped(path)].add(what)
    entries = []
    for entry in chain.from_iterable(file.entries for file in files):
        if entry.context is None and entry.path in taken:
            told = json.dumps({"gave": sorted(taken[entry.path])})
            entries.append(msgspec.structs.replace(entry, context=told))
        else:
            entries.append(entry)
    return entries


def saved_scan(path: Path) -> SavedScan:
    """The last scan; an empty one where there is none, or a torn one."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=SavedScan)
    except (OSError, ValueError):
        return SavedScan()


def escaped(name: str) -> str:
    """A file name as text: bytes that are no UTF-8 written out."""
    return name if is_encodable(name) else os.fsencode(name).decode("utf-8", "backslashreplace")


class FileScanner:
    """Opens files; companions that many sessions share are read once."""

    def __init__(self, raw: Raw, stamps: dict[str, Stamp | None], changed: list[str]) -> None:
        """`changed`: names that will be opened, in this order, as far as that is known."""
        self.raw = raw
        sizes = {name: stamp[0] for name in changed if (stamp := stamps[name])}
        self.fetched = Fetched(raw, changed, sizes) if isinstance(raw, ObjectStore) else None
        self.stamps = stamps
        self.names = frozenset(stamps)
        self.companions = Companions(self.companion_bytes)
        self.reader: str | None = None  # what reads the file that was opened last
        self.gave: list[tuple[str, str]] = []  # as of ScannedFile, for that file
        self.stores: set[str] = set()

    def file(self, name: str, known: ScannedFile | None) -> ScannedFile:
        """What a file holds; the known where nothing has changed."""
        found = known if known is not None and self.is_same(name, known) else self.opened(name)
        if found.source == STORE:
            self.stores.add(name)
        return found

    def is_same(self, name: str, known: ScannedFile) -> bool:
        """True where neither a file nor what was read beside it has changed, and it could be read."""
        stamp = self.stamps[name]
        if stamp is None or known.stamp != stamp or any(entry.error for entry in known.entries):
            return False
        beside = self.beside(name, known.source)
        return beside == set(known.companions) and all(self.stamps[one] == known.companions[one] for one in beside)

    def beside(self, name: str, reader: str | None) -> set[str]:
        """What is read beside a file: of a store its logs, for what is in them is in no other file; of a log the
        store."""
        if reader == STORE:
            return {name + suffix for suffix in BESIDE if name + suffix in self.names}
        if reader == STORE_LOG:
            return {store_of(name)} & self.names
        source = source_named(reader) if reader else None
        return set(source.companions(name, self.names).values()) if source else set()

    def opened(self, name: str) -> ScannedFile:
        """What a file holds that is looked at now."""
        used: dict[str, Stamp | None] = {}
        self.reader, self.gave = None, []
        entries = list(self.entries(name, self.stamps[name], used))
        return ScannedFile(self.stamps[name], used, self.reader, entries, self.gave)

    def entries(self, name: str, stamp: Stamp | None, used: dict[str, Stamp | None]) -> Iterator[RawEntry]:
        """The session candidates of one file."""
        if stamp is None:
            yield self.entry(name, 0, error=why_unreadable(local_file(self.raw, name)))
            return
        if not is_encodable(name):
            yield self.entry(name, stamp[0], error="its name is not UTF-8. Rename it and run again.")
            return
        if name.endswith(LOGS) and store_of(name) in self.stores:
            yield self.log_entry(name, stamp[0], used)
            return
        try:
            if (long := self.long(name, stamp[0])) is not None:
                first, sha256 = long
                context = self.context(name, first, used)
                yield self.entry(name, stamp[0], sha256=sha256, first=first, context=context, stamp=stamp)
                return
            content = self.content(name)
        except (OSError, ValueError) as error:
            yield self.entry(name, stamp[0], error=reason_of(error))
            return
        if content is None:
            yield from self.store_entries(name, stamp[0], used)
            return
        first = read_first(content)
        inside = members(content, first)
        if inside is None:
            context = self.context(name, first, used)
            yield self.entry(name, stamp[0], sha256=sha256_of(content), first=first, context=context, stamp=stamp)
            if hasattr(first.source, "embedded"):
                yield from self.embedded(name, content, first, "", Member("", 1, 0, len(content)))
        for one in inside or []:
            part = content[one.offset : one.offset + one.length]
            place = {"member": one.name, "base_line": one.line, "base_offset": one.offset, "length": one.length}
            inner = read_first(part)
            of = {PART_OF: first.source.name} if inner.source is None and first.source else None
            yield self.entry(name, one.length, sha256=sha256_of(part), first=inner, context=of, place=place)

    def embedded(
        self, name: str, content: bytes, parent: FirstRecord, within: str, place: Member
    ) -> Iterator[RawEntry]:
        """The sessions inside a session, and those inside them. `content`: of the file; `place`: of the session."""
        part = content[place.offset : place.offset + place.length]
        for one in embedded(part, parent):
            inner = Member(f"{within}{one.name}", place.line + one.line - 1, place.offset + one.offset, one.length)
            data = content[inner.offset : inner.offset + inner.length]
            first = read_first(data)
            where = {"member": inner.name, "base_line": inner.line, "base_offset": inner.offset, "length": inner.length}
            known, deep = first.source is parent.source, inner.name.count(".") >= DEEPEST
            if deep or not known:
                why = TOO_DEEP if deep else NO_TRAJECTORY
                yield self.entry(name, inner.length, sha256=sha256_of(data), place=where, error=why)
                continue
            context = {PARENT: parent.identity} | (first.source.context(first.value, name, {}) if first.source else {})
            yield self.entry(name, inner.length, sha256=sha256_of(data), first=first, context=context, place=where)
            yield from self.embedded(name, content, first, f"{inner.name}.", inner)

    def content(self, name: str) -> bytes | None:
        """A file's bytes, decompressed; null for an SQLite database. OSError or ValueError where they can't be had."""
        if self.fetched is not None:
            return content_of(self.fetched.read(name))
        return read_content(f"{self.raw}/{name}")

    def long(self, name: str, size: int) -> tuple[FirstRecord, str] | None:
        """The first record and the digest of a very large file whose beginning says enough; null for any other. OSError
        as read_long."""
        return read_long(f"{self.raw}/{name}", size) if size >= LARGE_BYTES and self.fetched is None else None

    def store_entries(self, name: str, size: int, used: dict[str, Stamp | None]) -> Iterator[RawEntry]:
        """The sessions of an SQLite store, and what there is to say of it."""
        self.reader = STORE
        used.update({path: self.stamps[path] for path in self.beside(name, STORE)})
        try:
            for one in read_store(local_file(self.raw, name)):
                if isinstance(one, StoreNote):
                    noted = {"reason": one.reason, "what": one.what, "records": one.records}
                    yield self.entry(name, 0, context={"noted": noted}, place={"member": one.table})
                elif one.error is not None:
                    yield self.entry(name, 0, error=one.error, place={"member": one.session_id})
                else:
                    yield self.entry(
                        name,
                        len(one.content),
                        sha256=sha256_of(one.content),
                        first=read_first(one.content),
                        context={"store": True, "index": one.context},
                        place={"member": one.session_id},
                    )
        except BrokenStore as error:
            yield self.entry(name, size, error=f"an SQLite database that cannot be read as a store: {error}")

    def log_entry(self, name: str, size: int, used: dict[str, Stamp | None]) -> RawEntry:
        """A log of a store, which is read with the store and changes while an agent is at work."""
        self.reader = STORE_LOG
        used[store_of(name)] = self.stamps[store_of(name)]
        return self.entry(name, size, context={"noted": {"reason": "store_log", "what": store_of(name), "records": 1}})

    def entry(
        self,
        name: str,
        size: int,
        sha256: str | None = None,
        first: FirstRecord | None = None,
        context: dict[str, Any] | None = None,
        place: dict[str, Any] | None = None,
        error: str | None = None,
        stamp: Stamp | None = None,
    ) -> RawEntry:
        """One row of the scan."""
        where = WHOLE_FILE | place if place else WHOLE_FILE
        known = first is not None and first.source is not None
        name = escaped(name)
        return RawEntry(
            source_model=name.split("/", 1)[0] if "/" in name else "",
            path=name,
            **where,
            size=size,
            stamp=stamp,
            sha256=sha256,
            session_id=first.session_id if first and known else None,
            identity=(context or {}).get(IDENTITY, first.identity) if first and known else f"path:{name}",
            context=json.dumps(context, sort_keys=True, ensure_ascii=True) if context else None,
            error=error,
        )

    def context(self, name: str, first: FirstRecord, used: dict[str, Stamp | None]) -> dict[str, Any]:
        """What the adapter makes of the files beside one; `used` gets the stamps of those that it read."""
        if first.source is None:
            return {}
        self.reader = first.source.name
        wanted = first.source.companions(name, self.names)
        used.update({path: self.stamps.get(path) for path in wanted.values()})
        found = {key: self.companions.value(path) for key, path in wanted.items()}
        made = first.source.context(first.value, name, found)
        if wanted and (gave := getattr(first.source, "gave", None)):
            self.gave += [(wanted[key], what) for key, what in gave(first.value, name, found, made).items()]
        return made

    def companion_bytes(self, name: str) -> bytes | mmap:
        """The bytes of a file beside a session. OSError or ValueError where they can't be had."""
        if self.stamps.get(name) is None:
            raise OSError(f"{name}: no file")
        if self.fetched is not None:
            return decompressed(self.fetched.read(name))
        return whole_content(f"{self.raw}/{name}")[0]


def store_of(log: str) -> str:
    """Name of the store that a log of this name is of."""
    return log.rpartition("-")[0]


def is_encodable(name: str) -> bool:
    """True for a file name that is UTF-8."""
    return name.isascii() or os.fsencode(name).decode("utf-8", "backslashreplace") == name


def entry_content(raw: Raw, path: str, member: str | None, base_offset: int, length: int | None) -> bytes:
    """The bytes of one entry again. OSError, ValueError or BrokenStore where they can't be had."""
    if member is not None and length is None:
        return member_content(local_file(raw, path), member)
    content = decompressed(raw.read(path)) if isinstance(raw, ObjectStore) else whole_content(f"{raw}/{path}")[0]
    return content[:] if length is None else content[base_offset : base_offset + length]


def entries_key(entries: list[RawEntry]) -> str:
    """Digest of what a shard's entries hold."""
    rows = [
        [e.source_model, e.path, e.member, e.base_line, e.base_offset, e.sha256, e.context, e.error] for e in entries
    ]
    return canonical_digest(rows)
