"""What a raw file is, by its first bytes: the adapter that reads it, its session id and its identity.

The scan identifies each file once; the adapter's name and the identity go on with the bytes (SourceFile).
"""

import hashlib
import json
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from openclawbench.sources.adapter_calls import AdapterFailure, call_hook
from openclawbench.sources.base import Source
from openclawbench.sources.io.file_encodings import is_compressed
from openclawbench.sources.io.jsonl import BOM, escape_invalid_bytes, escape_surrogates, is_utf8, pieces
from openclawbench.sources.openclaw.session_index import is_index
from openclawbench.sources.openclaw.sqlite_store import MAGIC
from openclawbench.sources.registry import FORMATS

DECODER = json.JSONDecoder()
QUICK = msgspec.json.Decoder()
DEEPEST = 100  # brackets, in a first record that the fast parser is given
HEAD_BYTES = 1 << 20  # of a very long session, in which its first record is looked for
WHOLE_JSON = 64 << 20  # bytes: a larger file is not tried as one JSON document


@dataclass(frozen=True)
class FileFormat:
    """What a file is.

    `first`: its first record, None if that is not JSON; `source`: None if no adapter claims the file;
    `identity`: equal for copies of one session, it also decides the shard; `failure`: which adapter failed, and how.
    """

    first: Any
    source: Source | None
    session_id: str | None
    identity: str
    failure: str | None = None


def identify(content: bytes, in_row: bool = False) -> FileFormat:
    """What a file is, by its first line, or the whole of it where that is one JSON document. Never raises: a file that
    cannot be read has its own digest as identity. `in_row`: it is a value of a row that says how the run ended."""
    first, head = first_record(content, in_row)
    failure: str | None = None
    for source in FORMATS:
        if source.only_in_rows and not in_row:
            continue
        try:
            if not call_hook(source, source.detect, first):
                continue
            if source.identity_lines > 1 and head is not content:
                head = b"\n".join(data for _, _, data in islice(pieces(content), source.identity_lines))
            return FileFormat(first, source, *call_hook(source, source.identity, first, head))
        except AdapterFailure as error:
            failure = failure or str(error)
    return FileFormat(first, None, None, hashlib.sha256(head).hexdigest(), failure)


def identify_long(path: str, head: bytes, size: int) -> FileFormat | None:
    """What a very large file is that begins with `head`, where that says enough: its adapter reads long sessions, or no
    adapter claims it whatever follows. None if the whole file has to be looked at."""
    begins = head.removeprefix(BOM).lstrip()[:1]
    if is_compressed(head) or head.startswith(MAGIC) or not begins:
        return None
    has_line, may_be_json = b"\n" in head, begins in (b"{", b"[")
    if not has_line and may_be_json and not is_index(path):
        return None
    identified = identify(head)
    if identified.source is not None:
        return identified if identified.source.reads_long else None
    is_record = has_line and (identified.first is not None or size > WHOLE_JSON)
    return identified if is_record or is_index(path) or not may_be_json else None


def first_record(content: bytes, may_be_list: bool = False) -> tuple[Any, bytes]:
    """(first record as a JSON value, its bytes): the first line, or all of a file that is one JSON document; None if
    it is not JSON. `may_be_list`: the document may be a list."""
    line = first_line(content)
    value = decode(line)
    openings = (b"{", b"[") if may_be_list else (b"{",)
    if value is None and line.lstrip().startswith(openings) and len(content) <= WHOLE_JSON:
        return decode(content), content
    return value, line


def first_line(content: bytes) -> bytes:
    """The first non-blank line, without a byte-order mark; empty if every line is blank."""
    if content.startswith(b"{") and (end := content.find(b"\n")) > 0:
        return content[:end]
    return next((data for _, _, data in pieces(content)), b"")


def decode(data: bytes) -> Any:
    """The JSON value at the beginning of the bytes, else null."""
    if data.count(b"[") + data.count(b"{") > DEEPEST:  # the fast parser goes deeper than what writes JSON again can
        return decode_anything(data)
    try:
        return QUICK.decode(data)
    except (ValueError, RecursionError):
        return decode_anything(data)


def decode_anything(data: bytes) -> Any:
    """The JSON value at the beginning of the bytes, whatever follows it, else null."""
    clean = escape_surrogates(data.removeprefix(BOM))
    try:
        text = (clean if is_utf8(clean) else escape_invalid_bytes(clean)).decode()
        return DECODER.raw_decode(text.lstrip())[0]
    except (ValueError, RecursionError):
        return None
