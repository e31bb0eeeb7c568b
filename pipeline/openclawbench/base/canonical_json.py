"""One way to write a record as JSON: fields in declared order, UTF-8, no blanks. Digests and released lines use it."""

import hashlib
import re
from typing import Any

import msgspec
from pydantic import BaseModel

LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def canonical_json(value: Any) -> str:
    """JSON text of a record or of plain data."""
    return canonical_bytes(value).decode()


def canonical_bytes(value: Any) -> bytes:
    """The UTF-8 bytes of canonical_json."""
    return msgspec.json.encode(value.model_dump() if isinstance(value, BaseModel) else value)


def escape_lone_surrogates(value: Any) -> Any:
    """The same plain data with each half of an emoji in its texts written as its six characters: a text that holds one
    cannot be encoded, and the answer of a judge with one is kept."""
    if isinstance(value, list):
        return [escape_lone_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {escape_lone_surrogates(name): escape_lone_surrogates(item) for name, item in value.items()}
    if isinstance(value, str):
        return LONE_SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", value)
    return value


def sha256_text(text: str) -> str:
    """Hex digest of a text's UTF-8 bytes."""
    return sha256_bytes(text.encode())


def sha256_bytes(content: bytes) -> str:
    """Hex digest of bytes."""
    return hashlib.sha256(content).hexdigest()
