"""What the blocks of an OpenClaw message say: texts, calls, images as placeholders, details without long strings."""

import hashlib
import json
from base64 import b64decode
from collections.abc import Callable
from typing import Any

from openclawbench.sources.io.json_values import loaded
from openclawbench.sources.openclaw.dialect import CALL_BLOCKS, as_call, image_source
from openclawbench.sources.openclaw.records import Block, Message, blocks_of

RESULT_BLOCKS = ("text", "image")
QUOTED = json.encoder.encode_basestring_ascii
DETAIL_STRING = 300  # characters: longer strings of a result's details repeat its text


def parts_of(message: Message) -> tuple[list[Block], str | None, str | None, list[str | None]]:
    """(calls, thinking, text, types of blocks that are none of these) of an agent message, in its blocks' order."""
    calls: list[Block] = []
    unknown: list[str | None] = []
    thinking: list[str] = []
    texts: list[str] = []
    for block in blocks_of(message):
        if block.type == "toolCall":
            calls.append(block)
        elif block.type == "text":
            texts.append(block.text or "")
        elif block.type == "thinking":
            thinking.append(block.thinking or "")
        elif block.type in CALL_BLOCKS:
            calls.append(as_call(block))
        else:
            unknown.append(block.type)
    return calls, joined_lines(thinking), joined_lines(texts), unknown


def texts_of(message: Message) -> list[str]:
    """The texts of an agent message's blocks, in order."""
    return [block.text or "" for block in blocks_of(message) if block.type == "text"]


def joined_lines(texts: list[str]) -> str | None:
    """Texts that are not empty, with a newline between; null where all is blank."""
    if not texts:
        return None
    text = texts[0] if len(texts) == 1 else "\n".join(filter(None, texts))
    return text if text and not text.isspace() else None


def narration_position(message: Message, call: Block) -> str:
    """Whether text stands before or after the first call, or on both sides."""
    blocks = blocks_of(message)
    before = after = passed = False
    for block in blocks:
        if block is call:
            passed = True
        elif block.type == "text" and block.text and not block.text.isspace():
            before, after = before or not passed, after or passed
    return "both" if before and after else "before" if before else "after"


def result_text(message: Message, unknown: Callable[[str | None], None] | None = None) -> str | None:
    """Text of a tool result or user message; an image becomes a typed placeholder with its size and digest. `unknown`
    takes the type of each block that is neither."""
    blocks = blocks_of(message)
    if len(blocks) == 1 and blocks[0].type == "text":
        text = blocks[0].text
        return text if text and not text.isspace() else None
    if unknown is not None:
        for block in blocks:
            if block.type not in RESULT_BLOCKS:
                unknown(block.type)
    return joined_lines([image_placeholder(block) if block.type == "image" else block.text or "" for block in blocks])


def image_placeholder(block: Block) -> str:
    """`[image <type> <bytes> bytes sha256:<digest>]`; `[image <address>]` for one that is elsewhere."""
    written, kind = block.data, block.mimeType
    if written is None and bytes(block.source):
        source = image_source(block.source)
        if source.data is None and source.url is not None:
            return f"[image {source.url}]"
        written, kind = source.data, source.media_type
    try:
        data = b64decode(written or "", validate=True)
    except ValueError:
        data = (written or "").encode()
    return f"[image {kind or 'unknown'} {len(data)} bytes sha256:{hashlib.sha256(data).hexdigest()[:16]}]"


def as_text(value: Any) -> str | None:
    """A message that may be any JSON value, as text."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def slim_details(raw: bytes) -> str | None:
    """Details of a result as JSON text without the long strings (they repeat the result's text); null if absent."""
    if not raw or raw == b"null":
        return None
    if len(raw) <= DETAIL_STRING:
        return raw.decode("utf-8", "backslashreplace")
    try:
        value = loaded(raw)
        if not isinstance(value, dict):
            return None
        texts = ((key, short_text(one)) for key, one in value.items())
        return "{" + ", ".join([f"{QUOTED(key)}: {text}" for key, text in texts if text is not None]) + "}"
    except (ValueError, RecursionError):
        return None


def short_text(value: Any) -> str | None:
    """The JSON text of a value as `json.dumps` writes it, in a third of its time; null where it is too long to keep."""
    if type(value) is str:
        if len(value) > DETAIL_STRING:
            return None
        text = QUOTED(value)
    else:
        text = str(value) if type(value) is int else json.dumps(value)
    return text if len(text) <= DETAIL_STRING else None
