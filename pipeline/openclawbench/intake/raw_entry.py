"""Entries of the scan: one session candidate each, a file under the raw folder or a part of one."""

import os
from typing import Any

import msgspec

from openclawbench.intake.raw_folder import Stamp
from openclawbench.rules.loading.rule_file import canonical_digest

WHOLE_FILE: dict[str, Any] = {"member": None, "base_line": 1, "base_offset": 0, "length": None}


class RawEntry(msgspec.Struct, frozen=True):
    """One session candidate: a file, or a member of one that holds several."""

    source_model: str
    path: str
    member: str | None
    base_line: int
    base_offset: int
    length: int | None  # bytes of a line member; None: to the end
    size: int
    stamp: Stamp | None  # of a file that is one session, taken before its digest
    sha256: str | None
    adapter: str | None  # name of the adapter that reads it
    session_id: str | None
    identity: str
    context: str | None
    error: str | None


class ScannedFile(msgspec.Struct):
    """The content of a file when it was last opened, with the stamps of its sidecars at that time."""

    stamp: Stamp | None
    sidecars: dict[str, Stamp | None]
    reader: str | None  # name of the adapter, or STORE, STORE_LOG
    entries: list[RawEntry]
    sidecar_use: list[tuple[str, str]] = []  # (sidecar, what a session of this file used of it, in words)


def entries_key(entries: list[RawEntry]) -> str:
    """Digest of what a shard's entries hold."""
    rows = [
        [e.source_model, e.path, e.member, e.base_line, e.base_offset, e.sha256, e.adapter, e.context, e.error]
        for e in entries
    ]
    return canonical_digest(rows)


def escape_name(name: str) -> str:
    """A file name as text, with bytes that are not UTF-8 written as `\\xNN`."""
    return name if is_encodable(name) else os.fsencode(name).decode("utf-8", "backslashreplace")


def is_encodable(name: str) -> bool:
    """True for a file name that is UTF-8."""
    return name.isascii() or os.fsencode(name).decode("utf-8", "backslashreplace") == name
