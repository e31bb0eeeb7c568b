"""What a session file tells of its session, record by record: copies, backups and rewrites of it are compared by this.

Equal ids are the same record, equal `responseId`s with the same words the same message, equal `toolCallId`s the same
result. What a repair in place changes is not compared: failed messages, inserted results, names of providers, blank
words, broken images."""

import json
from collections.abc import Iterable
from functools import partial
from hashlib import blake2b
from typing import Any

from openclawbench.rules.intake.normalize import NormalizeRules, RepairedRules
from openclawbench.sources.base import History, Told
from openclawbench.sources.io.json_values import load_json
from openclawbench.sources.io.timestamps import iso_time
from openclawbench.sources.openclaw.branches import LeafMove, Node, active_branch, with_leaf_moves
from openclawbench.sources.openclaw.records import FAILED

BLANK = {"type": "text", "text": ""}
CALLS = ("toolCall", "tool_use", "toolUse", "functionCall")


def history_of(records: Iterable[bytes], rules: NormalizeRules) -> History:
    """What these records tell, the header first. The active branch is told in order; what is off it is only known."""
    values = [value_of(record) for record in records]
    records_told = [told_in(at, value, rules) for at, value in enumerate(values)]
    body = [at for at, value in enumerate(values) if value.get("type") != "session"]
    leaves = [index for index, at in enumerate(body) if values[at].get("type") == "leaf" and "targetId" in values[at]]
    moves = {index: leaf_move(values[body[index]]) for index in leaves}
    branch = active_branch(with_leaf_moves([node_of(values[at]) for at in body], moves))
    on_branch = [records_told[body[index]] for index in branch.active]
    return History(
        active=[record for record in on_branch if record is not None],
        known={record.key for record in records_told if record is not None},
        end=max((time for value in values if (time := iso_time(value.get("timestamp")))), default=""),
    )


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


def leaf_move(value: dict[str, Any]) -> LeafMove:
    """Where a session goes on after a `leaf` record."""
    target = value.get("targetId")
    ends = (None if name is None else str(name) for name in (target, value.get("appendParentId", target)))
    return LeafMove(*ends)


def told_in(at: int, value: dict[str, Any], rules: NormalizeRules) -> Told | None:
    """What a record tells; None for a header, and for one that a repair takes out, puts in or writes anew."""
    repaired = rules.repaired
    if value.get("type") == "session" or not does_last(value, repaired):
        return None
    record_with = partial(Told, at=at, id=text_in(value.get("id")), time=iso_time(value.get("timestamp")))
    message = value.get("message")
    if value.get("type") != "message" or not isinstance(message, dict):
        rest = {key: part for key, part in value.items() if key != "parentId"}
        return record_with(key=digest(rest), kind="other")
    role, content = message["role"], content_as_compared(message, repaired)
    if role == "assistant":
        is_model = message.get("model") not in rules.injected_models and bool(speech := speech_in(content))
        if is_model:
            return record_with(
                key=digest(["model", message.get("responseId") or value.get("id"), speech]), kind="model"
            )
    if role == "toolResult" and text_in(message.get("toolCallId")) is not None:
        return record_with(key=digest(["result", message["toolCallId"]]), kind="result", size=len(str(content)))
    if role == "user":
        words = "\n".join(block["text"] for block in content if is_text(block)) if isinstance(content, list) else ""
        is_person = rules.turns.person_speaks(words)
        return record_with(key=digest(["user", value.get("id"), content]), kind="user" if is_person else "program")
    compared = {key: part for key, part in message.items() if key not in repaired.renamed}
    return record_with(key=digest([value.get("id"), compared | {"content": content}]), kind="other")


def speech_in(content: Any) -> list[Any]:
    """The words and calls of a model's message, without thoughts; empty where it has neither."""
    speech: list[Any] = []
    for block in content if isinstance(content, list) else []:
        if is_text(block) and block["text"].strip():
            speech.append(block["text"].strip())
        elif isinstance(block, dict) and block.get("type") in CALLS:
            speech.append([block.get(name) for name in ("id", "name", "arguments", "input")])
    return speech


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


def is_text(block: Any) -> bool:
    """True for a text block."""
    return isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)


def is_blank(block: Any, rules: RepairedRules) -> bool:
    """True for a text block without words, and for what is written in its place."""
    return is_text(block) and (not block["text"].strip() or block["text"] in rules.blank_user_texts)


def text_in(value: Any) -> str | None:
    """A text that is not empty; None for any other value."""
    return value if isinstance(value, str) and value else None


def digest(value: Any) -> bytes:
    """Digest of a JSON value, whatever the order of its keys."""
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).digest()
