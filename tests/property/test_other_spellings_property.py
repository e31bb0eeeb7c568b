"""A session in the spelling of other programs (`tool_use`, `tool_result`) has the steps of the native one."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from test_steps_property import Drawn, parsed, sessions

Record = dict[str, Any]
CALLS = st.sampled_from(["tool_use", "toolUse", "functionCall"])
RESULTS = st.sampled_from(["tool_result", "toolResult"])


def message_of(record: Record, role: str) -> Record | None:
    """A record's message if it is of this role."""
    message: Record = record.get("message", {})
    return message if message.get("role") == role else None


def unnamed(records: list[Record]) -> list[Record]:
    """Native records, their results without the names of tools, which the other spelling does not have."""
    copied = copy.deepcopy(records)
    for record in copied:
        if result := message_of(record, "toolResult"):
            del result["toolName"]
    return copied


def respelt(record: Record, draw: st.DrawFn) -> Record:
    """A record of the agent with its calls as other programs write them."""
    copied = copy.deepcopy(record)
    for block in (message_of(copied, "assistant") or {"content": []})["content"]:
        if block["type"] == "toolCall" and draw(st.booleans()):
            block["type"] = draw(CALLS)
            if draw(st.booleans()):
                block["input"] = block.pop("arguments")
    return copied


def result_block(result: Record, draw: st.DrawFn) -> Record:
    """A native result as a block."""
    content = result["content"] if draw(st.booleans()) else result["content"][0]["text"]
    block = {"type": draw(RESULTS), "tool_use_id": result["toolCallId"], "content": content}
    return block | {"is_error": result["isError"]}


@st.composite
def spelt_otherwise(draw: st.DrawFn) -> tuple[list[Record], list[Record]]:
    """(native records, the same with some of their calls and results in the other spelling). Several results may stand
    in one message, of role `tool` or `user`; in the latter also what the user says next."""
    drawn: Drawn = draw(sessions())
    native = unnamed(drawn.records)
    others: list[Record] = []
    blocks: list[Record] | None = None  # of the message that is open
    for record in native:
        result, stated_record = message_of(record, "toolResult"), message_of(record, "user")
        if result is not None and draw(st.booleans()):
            if blocks is None or draw(st.booleans()):
                blocks = []
                role = draw(st.sampled_from(["tool", "user"]))
                others.append({"type": "message", "message": {"role": role, "content": blocks}})
            blocks.append(result_block(result, draw))
        elif stated_record is not None and blocks and others[-1]["message"]["role"] == "user" and draw(st.booleans()):
            blocks.insert(draw(st.integers(0, len(blocks))), {"type": "text", "text": stated_record["content"]})
            blocks = None
        else:
            others.append(respelt(record, draw))
            blocks = None
    return native, others


def without_places(rows: list[Record]) -> list[Record]:
    """Steps or user turns without where they stand in the file, and their arguments without blanks."""
    return [{name: value for name, value in row.items() if name not in ("raw", "line")} for row in rows]


@given(spelt_otherwise())
def test_the_steps_are_the_same(spelt: tuple[list[Record], list[Record]]) -> None:
    native, other = (parsed(records) for records in spelt)
    assert without_places(other.steps) == without_places(native.steps)
    assert without_places(other.user_turns) == without_places(native.user_turns)
    assert other.run == native.run
    assert other.unknown_blocks == native.unknown_blocks == {}


@given(spelt_otherwise())
def test_every_record_is_counted_once(spelt: tuple[list[Record], list[Record]]) -> None:
    _, records = spelt
    counts = parsed(records).record_counts
    assert sum(counts.values()) == len(records)
    assert min(counts.values()) >= 0
    together = sum(isinstance(record.get("message", {}).get("content"), list) and is_both(record) for record in records)
    assert counts["user_turn_with_results"] == together


def is_both(record: Record) -> bool:
    """True for a user's message with results and words."""
    kinds = {block["type"] for block in record["message"]["content"]}
    return record["message"]["role"] == "user" and "text" in kinds and len(kinds) > 1
