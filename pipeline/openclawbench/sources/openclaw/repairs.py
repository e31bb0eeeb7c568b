"""What a repair by OpenClaw does not change in a session file: a file and its backup are compared by this."""

import json
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from openclawbench.rules.intake.normalize import RepairedRules
from openclawbench.sources.io.json_values import load_json
from openclawbench.sources.openclaw.branches import Node, active_branch
from openclawbench.sources.openclaw.records import FAILED

BLANK = {"type": "text", "text": ""}


def lasting_digests(records: Iterable[bytes], rules: RepairedRules) -> list[bytes]:
    """Digests of the records of the active branch that no repair takes out, puts in or rewrites, without what a repair
    may change in them. A record hangs on the nearest one above it that lasts."""
    values = [value_of(record) for record in records]
    body = [value for value in values if value.get("type") != "session"]
    branch = active_branch([node_of(value) for value in body])
    lasting_records = [body[index] for index in branch.active if does_last(body[index], rules)]
    return [digest(value) for value in values[:1]] + [digest(as_compared(value, rules)) for value in lasting_records]


def value_of(record: bytes) -> dict[str, Any]:
    """A record's JSON object; its bytes as text, in one, where it is not an object."""
    try:
        value = load_json(record)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"record": record.decode("utf-8", "backslashreplace")}


def node_of(value: dict[str, Any]) -> Node:
    """What the tree needs of a record."""
    record_id, parent = value.get("id"), value.get("parentId")
    name = None if record_id is None else str(record_id)
    parts = {key: part for key, part in value.items() if key != "timestamp"}
    return Node(name, None if parent is None else str(parent), "parentId" in value, parts)


def does_last(value: dict[str, Any], rules: RepairedRules) -> bool:
    """False for a message that failed, one without a role, what a repair put in, and what only points to a record."""
    if str(value.get("id")).startswith(rules.inserted_ids) or value.get("type") in rules.taken_along:
        return False
    if value.get("type") != "message":
        return True
    message = value.get("message")
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        return False
    return message["role"] != "assistant" or message.get("stopReason") not in FAILED


def as_compared(value: dict[str, Any], rules: RepairedRules) -> dict[str, Any]:
    """A record without its parent, and without what a repair may change in a message."""
    compared = {key: part for key, part in value.items() if key != "parentId"}
    if isinstance(message := compared.get("message"), dict):
        compared["message"] = {key: part for key, part in message.items() if key not in rules.renamed}
        compared["message"]["content"] = content_as_compared(message, rules)
    return compared


def content_as_compared(message: dict[str, Any], rules: RepairedRules) -> Any:
    """A message's content: images by their place alone, blank words of a user as none."""
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list):
        return content
    compared = [block_as_compared(block, rules) for block in blocks]
    if message.get("role") != "user":
        return compared
    spoken = [block for block in compared if not is_blank(block, rules)]
    return spoken or [BLANK]


def block_as_compared(block: Any, rules: RepairedRules) -> Any:
    """A content block; a broken image is replaced by a text."""
    if not isinstance(block, dict):
        return block
    is_image = block.get("type") == "image" or block.get("text") in rules.removed_images
    return {"type": "image"} if is_image else block


def is_blank(block: Any, rules: RepairedRules) -> bool:
    """True for a text block without words, and for what is written in its place."""
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    return isinstance(text, str) and (not text.strip() or text in rules.blank_user_texts)


def digest(value: dict[str, Any]) -> bytes:
    """Digest of a value, whatever the order of its keys."""
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).digest()
