"""Content of messages and results as text: placeholders for images, result details without long strings."""

import hashlib
import json
from base64 import b64decode
from typing import Any

from openclawbench.sources.io.json_values import load_json

QUOTED = json.encoder.encode_basestring_ascii
DETAIL_STRING = 300  # characters: longer strings of a result's details repeat its text


def text_or_json(value: Any) -> str | None:
    """A field that should be text; any other JSON value as its JSON text."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def image_placeholder(data: str | None, media_type: str | None, kind: str = "image") -> str:
    """`[<kind> <media type> <bytes> bytes sha256:<digest>]` of base64 text, or of any other text."""
    try:
        content = b64decode(data or "", validate=True)
    except ValueError:
        content = (data or "").encode()
    return f"[{kind} {media_type or 'unknown'} {len(content)} bytes sha256:{hashlib.sha256(content).hexdigest()[:16]}]"


def slim_details(raw: bytes) -> str | None:
    """Details of a result as JSON text without the long strings (they repeat the result's text); None if absent."""
    if not raw or raw == b"null":
        return None
    if len(raw) <= DETAIL_STRING:
        return raw.decode("utf-8", "backslashreplace")
    try:
        value = load_json(raw)
        if not isinstance(value, dict):
            return None
        texts = ((key, short_text(item)) for key, item in value.items())
        return "{" + ", ".join([f"{QUOTED(key)}: {text}" for key, text in texts if text is not None]) + "}"
    except (ValueError, RecursionError):
        return None


def short_text(value: Any) -> str | None:
    """The JSON text of a value as `json.dumps` writes it, in a third of its time; None if it is too long to keep."""
    if type(value) is str:
        if len(value) > DETAIL_STRING:
            return None
        text = QUOTED(value)
    else:
        text = str(value) if type(value) is int else json.dumps(value)
    return text if len(text) <= DETAIL_STRING else None
