"""FileScanner: opens each raw file once and finds its session candidates, with digest, identity and context."""

import json
from collections.abc import Iterator
from dataclasses import replace
from mmap import mmap
from typing import Any

import msgspec

from openclawbench.intake.raw_entry import WHOLE_FILE, RawEntry, ScannedFile, escape_name, is_encodable
from openclawbench.intake.raw_folder import Stamp, read_content, read_long, reason_of, whole_content, why_unreadable
from openclawbench.intake.raw_object_store import Fetched, Raw, content_of, local_file
from openclawbench.intake.sidecars import SidecarReader
from openclawbench.rules.intake.tables import TableRules
from openclawbench.sources.adapter_calls import AdapterFailure, call_hook
from openclawbench.sources.base import IDENTITY, PARENT, SHARE, TEXT, Member, Source
from openclawbench.sources.identification import FileFormat, identify
from openclawbench.sources.io.file_encodings import decompressed
from openclawbench.sources.io.mmap_files import sha256_of
from openclawbench.sources.openclaw.sqlite_store import BESIDE, LOGS, BrokenStore, StoreNote, read_store
from openclawbench.sources.registry import PART_OF, source_named
from openclawbench.sources.sidecars import table_row
from openclawbench.sources.sidecars.harbor import CONVERTED, trajectory_beside
from openclawbench.sources.tables.facts import (
    ScoreRanges,
    add_outcome,
    facts_of,
    identity_of,
    source_model_of,
    table_name,
)
from openclawbench.sources.tables.open_table import find_table
from openclawbench.sources.tables.rows import NO_RUN, SessionTable, TableRow, explain_row
from openclawbench.storage.object_store import ObjectStore
from openclawbench.tables.bytes_column import LARGE_BYTES

UNKNOWN_SUBAGENT = "a trajectory of a sub-agent that does not say of which format it is. Add its `schema_version`."
DEEPEST = 16  # levels of sub-agents inside sub-agents: each level is read again for the levels below it
TOO_DEEP = f"a trajectory of a sub-agent more than {DEEPEST} levels inside others. Put it into a file of its own."
STORE, STORE_LOG, TABLE = "openclaw_sqlite", "openclaw_sqlite_log", "table"  # readers of files that no adapter reads


class FileScanner:
    """Opens raw files. Sidecars that many sessions share are read once."""

    def __init__(
        self,
        raw: Raw,
        stamps: dict[str, Stamp | None],
        changed: list[str],
        rules: TableRules,
        same_names: bool = False,
    ) -> None:
        """`changed`: names that will be opened, in this order, as far as that is known. `same_names`: the names are
        those of the last scan, so that each file has the sidecars that it had."""
        self.raw = raw
        self.rules = rules
        sizes = {name: stamp[0] for name in changed if (stamp := stamps[name])}
        self.fetched = Fetched(raw, changed, sizes) if isinstance(raw, ObjectStore) else None
        self.stamps = stamps
        self.names, self.same_names = frozenset(stamps), same_names
        self.sidecars = SidecarReader(self.sidecar_bytes)
        self.stores: set[str] = set()
        # Of the file that is being scanned: its reader, the source model of the row that is being read, the stamps of
        # its sidecars, and what was used of these.
        self.reader: str | None = None
        self.source_model: str | None = None
        self.sidecar_stamps: dict[str, Stamp | None] = {}
        self.sidecar_use: list[tuple[str, str]] = []

    def scan_file(self, name: str, former: ScannedFile | None) -> ScannedFile:
        """The content of a file. Returns `former`, of the last scan, if neither the file nor its sidecars changed."""
        scanned = former if former is not None and self.is_unchanged(name, former) else self.open_file(name)
        if scanned.reader == STORE:
            self.stores.add(name)
        return scanned

    def is_unchanged(self, name: str, former: ScannedFile) -> bool:
        """True if a file could be read, and neither it nor its sidecars have changed since."""
        stamp = self.stamps[name]
        if stamp is None or former.stamp != stamp or any(entry.error for entry in former.entries):
            return False
        if not self.same_names and self.find_sidecars(name, former.reader) != set(former.sidecars):
            return False
        return all(self.stamps[path] == sidecar for path, sidecar in former.sidecars.items())

    def find_sidecars(self, name: str, reader: str | None) -> set[str]:
        """Files that are read with a file: with a store its logs, which hold records that are in no other file; with a
        log its store."""
        if reader == STORE:
            return {name + suffix for suffix in BESIDE if name + suffix in self.names}
        if reader == STORE_LOG:
            return {store_of(name)} & self.names
        source = source_named(reader)
        return set(call_hook(source, source.find_sidecars, name, self.names).values()) if source else set()

    def open_file(self, name: str) -> ScannedFile:
        """Read a file. An adapter that fails costs this file alone."""
        self.reader, self.source_model, self.sidecar_stamps, self.sidecar_use = None, None, {}, []
        stamp = self.stamps[name]
        try:
            entries = list(self.find_entries(name, stamp))
        except AdapterFailure as error:
            entries = [self.entry(name, stamp[0] if stamp else 0, error=str(error))]
        return ScannedFile(stamp, self.sidecar_stamps, self.reader, entries, self.sidecar_use)

    def find_entries(self, name: str, stamp: Stamp | None) -> Iterator[RawEntry]:
        """The session candidates of one file."""
        if stamp is None:
            yield self.entry(name, 0, error=why_unreadable(local_file(self.raw, name)))
            return
        size = stamp[0]
        if not is_encodable(name):
            yield self.entry(name, size, error="its name is not UTF-8. Rename it and run again.")
            return
        model, inside, _ = name.partition("/")
        if inside and "\n" in model:  # files of the release lie in a folder of this name, and its checksums are lines
            yield self.entry(name, size, error="the name of its first folder holds a line break. Rename the folder.")
            return
        if name.endswith(LOGS) and store_of(name) in self.stores:
            yield self.log_entry(name, size)
            return
        try:
            if (long := self.read_long(name, size)) is not None:
                identified, sha256 = long
                file = local_file(self.raw, name)
                if identified.source is None and (table := find_table(file, identified.first, self.rules)):
                    yield from self.table_entries(name, table)
                    return
                context = self.read_context(name, identified)
                yield self.entry(name, size, sha256=sha256, file_format=identified, context=context, stamp=stamp)
                return
            content = self.read_content(name)
        except AdapterFailure:
            raise
        except (OSError, ValueError) as error:
            yield self.entry(name, size, error=reason_of(error))
            return
        if content is None:
            yield from self.store_entries(name, size)
            return
        identified = identify(content)
        source = identified.source
        try:
            table = None if source else find_table(content, identified.first, self.rules)
            if table is not None:
                yield from self.table_entries(name, table)
                return
        except (OSError, ValueError) as error:
            yield self.entry(name, size, error=reason_of(error))
            return
        members = call_hook(source, source.find_members, content) if source else None
        if members is not None:
            yield from (self.member_entry(name, member, content, source) for member in members)
            return
        context = self.read_context(name, identified) if source else self.unclaimed(name, content, identified)
        yield self.entry(name, size, sha256=sha256_of(content), file_format=identified, context=context, stamp=stamp)
        yield from self.embedded_entries(name, content, identified, "", Member("", 1, 0, len(content)))

    def member_entry(self, name: str, member: Member, content: bytes, source: Source | None) -> RawEntry:
        """One part of a file that holds several sessions. `source`: the adapter of the file."""
        part = content[member.offset : member.offset + member.length]
        identified = identify(part)
        context = {PART_OF: source.name} if identified.source is None and source else None
        return self.entry(
            name, member.length, sha256=sha256_of(part), file_format=identified, context=context, place=place_of(member)
        )

    def table_entries(self, name: str, table: SessionTable) -> Iterator[RawEntry]:
        """The sessions in the rows of a table; a row that holds none is an entry with the reason. What a score means is
        known when all rows are read."""
        self.reader = TABLE
        ranges = ScoreRanges()
        entries: list[tuple[RawEntry, dict[str, Any], dict[str, Any]]] = []  # with context and values
        for row in table.rows(self.rules):
            where = {"member": row.member, "base_line": row.line, "base_offset": row.offset, "length": row.length}
            if row.reason is not None:
                noted = {"reason": row.reason, "what": row.problem, "records": 1, table.row_word: row.number}
                entries.append((self.entry(name, len(row.content), context={"noted": noted}, place=where), {}, {}))
                continue
            ranges.note(row.values, self.rules)
            entries += self.row_entries(name, row, where, table.column)
        self.source_model = None
        for entry, context, values in entries:
            if not context:
                yield entry
                continue
            add_outcome(context[table_row.FACTS], values, self.rules, ranges)
            yield msgspec.structs.replace(entry, context=context_text(context))

    def row_entries(
        self, name: str, row: TableRow, where: dict[str, Any], column: str
    ) -> Iterator[tuple[RawEntry, dict[str, Any], dict[str, Any]]]:
        """The session of a row, with its context, to which the outcome is still to be added, and the row's values; and
        those of its sub-agents, where it is bytes of the file."""
        assert row.file_format is not None
        facts = facts_of(row, self.rules)
        self.source_model = source_model_of(facts)
        identity = identity_of(facts, row.file_format.identity)
        session_id = facts.get("id") or row.file_format.session_id
        file_format = replace(row.file_format, identity=identity, session_id=session_id)
        file = name.rpartition("/")[2]
        place = {"table": table_name(name), "column": column, "path": f"{file}#{row.member}"}
        context = {table_row.FACTS: facts, table_row.PLACE: place}
        sha256 = sha256_of(row.content)
        entry = self.entry(name, len(row.content), sha256=sha256, file_format=file_format, context=context, place=where)
        yield entry, context, row.values
        if row.length is not None:
            inside = Member("", 1, 0, row.length)
            for entry in self.embedded_entries(name, row.content, file_format, f"{row.member}.", inside):
                lines, offset = row.line + entry.base_line - 1, row.offset + entry.base_offset
                yield msgspec.structs.replace(entry, base_line=lines, base_offset=offset), {}, {}

    def embedded_entries(
        self, name: str, content: bytes, parent: FileFormat, prefix: str, place: Member
    ) -> Iterator[RawEntry]:
        """The sessions inside a session, and those inside them. `content`: of the file; `place`: of the session."""
        if parent.source is None:
            return
        part = content[place.offset : place.offset + place.length]
        for inside in call_hook(parent.source, parent.source.find_embedded, parent.first, part):
            line, offset = place.line + inside.line - 1, place.offset + inside.offset
            member = Member(f"{prefix}{inside.name}", line, offset, inside.length)
            data = content[offset : offset + inside.length]
            if inside.share is not None:
                yield self.share_entry(name, member, data, parent, inside.share)
                continue
            identified, sha256, where = identify(data), sha256_of(data), place_of(member)
            too_deep = member.name.count(".") >= DEEPEST
            if too_deep or identified.source is not parent.source:
                error = TOO_DEEP if too_deep else identified.failure or UNKNOWN_SUBAGENT
                yield self.entry(name, member.length, sha256=sha256, place=where, error=error)
                continue
            context = call_hook(parent.source, parent.source.read_context, identified.first, name, {})
            context = {PARENT: parent.identity} | context
            yield self.entry(name, member.length, sha256=sha256, file_format=identified, context=context, place=where)
            yield from self.embedded_entries(name, content, identified, f"{member.name}.", member)

    def share_entry(self, name: str, member: Member, data: bytes, parent: FileFormat, share: str) -> RawEntry:
        """The session whose records stand among those of the session around it. `data`: of both."""
        identity = json.dumps([parent.identity, share], ensure_ascii=True)
        file_format = replace(parent, identity=identity, session_id=share or None)
        context, where = {PARENT: parent.identity, SHARE: share}, place_of(member)
        sha256 = sha256_of(data)
        return self.entry(name, member.length, sha256=sha256, file_format=file_format, context=context, place=where)

    def read_content(self, name: str) -> bytes | None:
        """A file's decompressed bytes; null for an SQLite database. Raises OSError or ValueError."""
        if self.fetched is not None:
            return content_of(self.fetched.read(name))
        return read_content(f"{self.raw}/{name}")

    def read_long(self, name: str, size: int) -> tuple[FileFormat, str] | None:
        """Format and digest of a very large file whose beginning says enough; null for any other. Raises OSError."""
        return read_long(f"{self.raw}/{name}", size) if size >= LARGE_BYTES and self.fetched is None else None

    def store_entries(self, name: str, size: int) -> Iterator[RawEntry]:
        """The sessions of an SQLite store, and the notes about it."""
        self.reader = STORE
        self.sidecar_stamps.update({path: self.stamps[path] for path in self.find_sidecars(name, STORE)})
        try:
            for stored in read_store(local_file(self.raw, name)):
                if isinstance(stored, StoreNote):
                    noted = {"reason": stored.reason, "what": stored.what, "records": stored.records}
                    noted |= {"tables": stored.tables} if stored.tables else {}
                    yield self.entry(name, 0, context={"noted": noted}, place={"member": stored.table})
                    continue
                where = {"member": stored.session_id}
                if stored.error is not None:
                    yield self.entry(name, 0, error=stored.error, place=where)
                    continue
                content, context = stored.content, {"store": True, "index": stored.context}
                sha256, identified = sha256_of(content), identify(content)
                yield self.entry(
                    name, len(content), sha256=sha256, file_format=identified, context=context, place=where
                )
        except BrokenStore as error:
            yield self.entry(name, size, error=f"an SQLite database that cannot be read as a store: {error}")

    def log_entry(self, name: str, size: int) -> RawEntry:
        """A log of a store, which is read with the store and changes while an agent runs."""
        self.reader = STORE_LOG
        self.sidecar_stamps[store_of(name)] = self.stamps[store_of(name)]
        return self.entry(name, size, context={"noted": {"reason": "store_log", "what": store_of(name), "records": 1}})

    def entry(
        self,
        name: str,
        size: int,
        sha256: str | None = None,
        file_format: FileFormat | None = None,
        context: dict[str, Any] | None = None,
        place: dict[str, Any] | None = None,
        error: str | None = None,
        stamp: Stamp | None = None,
    ) -> RawEntry:
        """One row of the scan."""
        name = escape_name(name)
        adapter, session_id, identity = None, None, f"path:{name}"
        if file_format is not None and file_format.source is not None:
            adapter, session_id = file_format.source.name, file_format.session_id
            identity = (context or {}).get(IDENTITY, file_format.identity)
        elif file_format is not None:
            error = error or file_format.failure
        return RawEntry(
            source_model=self.source_model or (name.split("/", 1)[0] if "/" in name else ""),
            path=name,
            **(WHOLE_FILE | (place or {})),
            size=size,
            stamp=stamp,
            sha256=sha256,
            adapter=adapter,
            session_id=session_id,
            identity=identity,
            context=context_text(context) if context else None,
            error=error,
        )

    def unclaimed(self, name: str, content: bytes, identified: FileFormat) -> dict[str, Any]:
        """What is known of a file that no adapter claims: why the rows that it has are no runs, and whether Harbor made
        the trajectory of it that lies beside it."""
        no_run = explain_row(content, identified.first, self.rules)
        converted = trajectory_beside(name, self.names) is not None
        return ({NO_RUN: no_run} if no_run else {}) | ({CONVERTED: True} if converted else {})

    def read_context(self, name: str, file_format: FileFormat) -> dict[str, Any]:
        """The sidecars of a file, as its adapter reads them."""
        source = file_format.source
        if source is None:
            return {}
        self.reader = source.name
        paths = call_hook(source, source.find_sidecars, name, self.names)
        self.sidecar_stamps.update({path: self.stamps.get(path) for path in paths.values()})
        values = {
            key: self.sidecars.text(path) if key.startswith(TEXT) else self.sidecars.value(path)
            for key, path in paths.items()
        }
        context = call_hook(source, source.read_context, file_format.first, name, values)
        if paths:
            use = call_hook(source, source.describe_use, file_format.first, name, values, context)
            self.sidecar_use += [(paths[key], words) for key, words in use.items()]
        return context

    def sidecar_bytes(self, name: str) -> bytes | mmap:
        """The bytes of a sidecar. Raises OSError or ValueError if it is unreadable."""
        if self.stamps.get(name) is None:
            raise OSError(f"{name}: no such file")
        if self.fetched is not None:
            return decompressed(self.fetched.read(name))
        return whole_content(f"{self.raw}/{name}")[0]


def place_of(member: Member) -> dict[str, Any]:
    """Columns of a RawEntry that say where its bytes are."""
    return {
        "member": member.name,
        "base_line": member.line,
        "base_offset": member.offset,
        "length": member.length,
    }


def store_of(log: str) -> str:
    """Name of the store that a log of this name is of."""
    return log.rpartition("-")[0]


def context_text(context: dict[str, Any]) -> str:
    """A context as the scan holds it."""
    return json.dumps(context, sort_keys=True, ensure_ascii=True)
