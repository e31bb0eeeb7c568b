"""FORMATS: every source adapter, and what a file's first record says about it: format, session id, identity."""

import hashlib
import json
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from openclawbench.sources.aec_bench.chat_messages import ChatMessages
from openclawbench.sources.aec_bench.conversation import AecConversation
from openclawbench.sources.aec_bench.trajectory import AecTrajectory
from openclawbench.sources.atif.adapter import Atif
from openclawbench.sources.base import Member, Source
from openclawbench.sources.io.file_encodings import is_packed
from openclawbench.sources.io.jsonl import BOM, escape_invalid_bytes, escape_surrogates, is_utf8, pieces
from openclawbench.sources.llm_benchmark import LlmBenchmark
from openclawbench.sources.openclaw.adapter import OpenClaw
from openclawbench.sources.openclaw.session_index import is_index
from openclawbench.sources.openclaw.sqlite_store import MAGIC
from openclawbench.sources.run_artifact.adapter import RunArtifact

FORMATS: tuple[Source, ...] = (
    OpenClaw(),
    RunArtifact(),
    LlmBenchmark(),
    AecTrajectory(),
    AecConversation(),
    Atif(),
    ChatMessages(),
)
DECODER = json.JSONDecoder()
QUICK = msgspec.json.Decoder()
DEEPEST = 100  # brackets, in a first record that the fast parser is given
HEAD_BYTES = 1 << 20  # of a very long session, in which its first record is looked for
PART_OF = "part_of"  # key of the context of a part that no source claims: the source of its file
WHOLE_JSON = 64 << 20  # bytes: a larger file is not tried as one JSON document


@dataclass(frozen=True)
class FirstRecord:
    """The first record of a file. `value` is null where it is no JSON; `source` where no adapter claims it."""

    value: Any
    source: Source | None
    session_id: str | None
    identity: str  # equal for copies of one session; also decides the shard


def members(content: bytes, first: FirstRecord) -> list[Member] | None:
    """The sessions inside a file that holds several; null where the file itself is the session."""
    split = getattr(first.source, "members", None)
    parts = None if split is None else split(content)
    return None if parts is None else list(parts)


def embedded(content: bytes, first: FirstRecord) -> list[Member]:
    """The sessions that a session holds inside itself, each read as one of its own."""
    find = getattr(first.source, "embedded", None)
    return [] if find is None else list(find(first.value, content))


def skipped(context: dict[str, Any], value: Any) -> str | None:
    """Reason for which a part of a file of several sessions is none of them, as the file's source tells it; null where
    it does not. `context`: of the part, which names that source if no source claims the part itself."""
    told = getattr(source_named(context.get(PART_OF, "")), "skipped", None)
    return None if told is None else told(value)


def source_named(name: str) -> Source | None:
    """The adapter of this name, else null."""
    return next((one for one in FORMATS if one.name == name), None)


def why_unclaimed(first: Any) -> str | None:
    """What a first record lacks that is nearly one of a format; null where it is of none."""
    told = (getattr(one, "why_not", lambda first: None)(first) for one in FORMATS)
    return next((why for why in told if why), None)


def first_line(content: bytes) -> bytes:
    """The first non-blank line, without a byte-order mark; empty where there is none."""
    if content.startswith(b"{") and (end := content.find(b"\n")) > 0:
        return content[:end]
    return next((data for _, _, data in pieces(content)), b"")


def read_first(content: bytes) -> FirstRecord:
    """Look at a file's first record: its first line, or the whole of it where that is one JSON document.

    Never raises: what can't be read has its own digest as identity.
    """
    head = first_line(content)
    value = decode(head)
    if value is None and head.lstrip().startswith(b"{") and len(content) <= WHOLE_JSON:
        head = content
        value = decode(head)
    source = next((one for one in FORMATS if one.detect(value)), None)
    if source is None:
        return FirstRecord(value, None, None, hashlib.sha256(head).hexdigest())
    if head is not content and (wanted := getattr(source, "identity_lines", 1)) > 1:
        head = b"\n".join(data for _, _, data in islice(pieces(content), wanted))
    return FirstRecord(value, source, *source.identity(value, head))


def first_of_long(path: str, head: bytes, size: int) -> FirstRecord | None:
    """The first record of a very large file that begins so, where that says enough: its source has a way to read it
    that takes little memory, or no source claims it whatever follows. Null where it has to be looked at as a whole."""
    begins = head.removeprefix(BOM).lstrip()[:1]
    if is_packed(head) or head.startswith(MAGIC) or not begins:
        return None
    ends, may_be_json = b"\n" in head, begins in (b"{", b"[")
    if not ends and may_be_json and not is_index(path):
        return None
    first = read_first(head)
    if first.source is not None:
        return first if hasattr(first.source, "parse_long") else None
    is_record = ends and (first.value is not None or size > WHOLE_JSON)
    return first if is_record or is_index(path) or not may_be_json else None


def decode(data: bytes) -> Any:
    """The JSON value at the beginning of the bytes, else null."""
    if data.count(b"[") + data.count(b"{") > DEEPEST:  # the fast parser goes deeper than what writes JSON again can
        return decode_anything(data)
    try:
        return QUICK.decode(data)
    except (ValueError, RecursionError):
        return decode_anything(data)


def decode_anything(data: bytes) -> Any:
    """The JSON value at the beginning of the bytes, whatever follows it and whatever stands in it, else null."""
    clean = escape_surrogates(data.removeprefix(BOM))
    try:
        text = (clean if is_utf8(clean) else escape_invalid_bytes(clean)).decode()
        return DECODER.raw_decode(text.lstrip())[0]
    except (ValueError, RecursionError):
        return None
