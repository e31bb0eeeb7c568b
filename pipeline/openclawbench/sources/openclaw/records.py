"""Shapes of an OpenClaw session's lines, all generations: every field optional, unknown fields ignored."""

from typing import Any

import msgspec

from openclawbench.sources.io.json_values import STANDARD
from openclawbench.sources.io.jsonl import UnexpectedShape

# Records that describe the session; any other type is counted under unknown_type.
METADATA = (
    "model_change",
    "thinking_level_change",
    "custom",
    "custom_message",
    "compaction",
    "branch_summary",
    "label",
    "session_info",
    "reset",
    "leaf",
)
RECORDS = (*METADATA, "session", "message")
FAILED = ("error", "aborted")  # stop reasons


class Block(msgspec.Struct, gc=False):
    """A content block of a message."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw(b"")
    data: str | None = None
    mimeType: str | None = None
    input: msgspec.Raw = msgspec.Raw(b"")  # this and the next four: see dialect.py
    content: msgspec.Raw = msgspec.Raw(b"")
    tool_use_id: msgspec.Raw = msgspec.Raw(b"")
    is_error: msgspec.Raw = msgspec.Raw(b"")
    source: msgspec.Raw = msgspec.Raw(b"")


class Kind(msgspec.Struct, gc=False):
    """A content block; only its type is read."""

    type: str | None = None


class Message(msgspec.Struct, gc=False):
    """The message of a `message` record."""

    role: str | None = None
    content: list[Block] | str | None = None
    api: str | None = None
    provider: str | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None
    stopReason: str | None = None
    errorMessage: Any = None
    responseId: Any = None
    timestamp: Any = None
    toolCallId: str | None = None
    tool_call_id: msgspec.Raw = msgspec.Raw(b"")
    toolName: str | None = None
    isError: bool | None = None
    details: msgspec.Raw = msgspec.Raw(b"")
    openclawAbort: Any = None
    openclawStreamFallback: Any = None


class SessionRecord(msgspec.Struct, gc=False):
    """One record of a session file."""

    type: str | None = None
    id: Any = None
    parentId: Any = msgspec.UNSET
    timestamp: Any = None
    version: Any = None
    message: Message | None = None
    customType: str | None = None
    data: Any = None
    modelId: str | None = None
    targetId: Any = msgspec.UNSET  # this and the next: of a `leaf` record
    appendParentId: Any = msgspec.UNSET


class Bare(msgspec.Struct, gc=False):
    """A record; only its type, its time and its place in the tree are read."""

    type: str | None = None
    id: Any = None
    parentId: Any = msgspec.UNSET
    timestamp: Any = None


class Outline(msgspec.Struct, gc=False):
    """A record without its message: what says whether a session is a plain chain of records."""

    type: str | None = None
    id: Any = None
    parentId: Any = msgspec.UNSET
    version: Any = None
    customType: str | None = None
    data: Any = None
    targetId: Any = msgspec.UNSET
    appendParentId: Any = msgspec.UNSET


NULL = msgspec.Raw(b"null")


class LooseMessage(Message, gc=False):
    """A message whose values of any kind are left as they are written."""

    content: msgspec.Raw = NULL  # type: ignore[assignment]
    usage: msgspec.Raw = NULL  # type: ignore[assignment]
    errorMessage: msgspec.Raw = NULL
    timestamp: msgspec.Raw = NULL


class LooseSessionRecord(SessionRecord, gc=False):
    """A record whose values of any kind are left as they are written."""

    id: msgspec.Raw = NULL
    parentId: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    timestamp: msgspec.Raw = NULL
    version: msgspec.Raw = NULL
    message: LooseMessage | None = None
    data: msgspec.Raw = NULL


TYPED = ("text", "thinking", "toolCall", "image")  # blocks that are read: their fields must be as they should
LINE = msgspec.json.Decoder(SessionRecord)
BLOCK = msgspec.json.Decoder(Block)
CONTENT = msgspec.json.Decoder(list[msgspec.Raw] | str | None)
BARE = msgspec.json.Decoder(Bare)
KIND = msgspec.json.Decoder(Kind)
LOOSE = msgspec.json.Decoder(LooseSessionRecord)
OUTLINE = msgspec.json.Decoder(Outline)


def decode_line(data: bytes) -> SessionRecord:
    """A record; ValueError if the bytes are not valid JSON, UnexpectedShape where they are but not a record's."""
    try:
        return LINE.decode(data)
    except msgspec.ValidationError as error:
        return decode_loosely(data, error)


def decode_loosely(data: bytes, refused: msgspec.ValidationError) -> SessionRecord:
    """A record with a number beyond all bounds (1e400), which the standard parser reads and the fast one refuses, or
    of an unknown type, or with a content block of one, whose fields may be anything. UnexpectedShape where it was
    refused for something else."""
    try:
        line = LOOSE.decode(data)
        read_values(line)
        if line.message is not None:
            read_values(line.message)
            line.message.content = content_of(line.message.content)  # type: ignore[assignment]
            msgspec.convert(line.message.usage, dict[str, Any] | None)
    except (msgspec.ValidationError, RecursionError):
        if (bare := of_unknown_type(data)) is not None:
            return bare
        raise UnexpectedShape(f"a record of unexpected shape: {refused}") from refused
    return line


def of_unknown_type(data: bytes) -> SessionRecord | None:
    """A record of an unknown type, whose content is not read; None for any other."""
    try:
        bare = BARE.decode(data)
    except (msgspec.ValidationError, RecursionError):
        return None
    if bare.type is None or bare.type in RECORDS:
        return None
    return SessionRecord(type=bare.type, id=bare.id, parentId=bare.parentId, timestamp=bare.timestamp)


def content_of(raw: msgspec.Raw) -> list[Block] | str | None:
    """The content of a message; of a block of an unknown type that has a field of another kind only its type."""
    content = CONTENT.decode(raw)
    return [loose_block(block) for block in content] if isinstance(content, list) else content


def loose_block(raw: msgspec.Raw) -> Block:
    """A block. ValidationError if it is of a type that is read and has a field that is not as it should be."""
    try:
        return BLOCK.decode(raw)
    except msgspec.ValidationError:
        kind = KIND.decode(raw).type
        if kind is None or kind in TYPED:
            raise
        return Block(type=kind)


def read_values(loose: msgspec.Struct) -> None:
    """Read the parts that were left as written, except those that are passed on as written."""
    for name in loose.__struct_fields__:
        value = getattr(loose, name)
        if isinstance(value, msgspec.Raw) and name not in ("details", "content", "tool_call_id"):
            setattr(loose, name, STANDARD.decode(bytes(value).decode("utf-8")))


def decode_outline(data: bytes) -> Outline:
    """A record's outline; ValueError if the bytes are not valid JSON or no record."""
    try:
        return OUTLINE.decode(data)
    except msgspec.ValidationError:
        line = decode_line(data)
    ends = line.targetId, line.appendParentId
    return Outline(line.type, line.id, line.parentId, line.version, line.customType, line.data, *ends)


def blocks_of(message: Message) -> list[Block]:
    """Content as blocks; a plain string is one text block."""
    if isinstance(message.content, str):
        return [Block(type="text", text=message.content)]
    return message.content or []
