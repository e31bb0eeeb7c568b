"""Calls and results as other programs spell them in sessions of this format: `tool_use` blocks with `input`, results in
messages of role `tool`. OpenClaw itself takes these blocks for calls when it loads a session."""

import msgspec

from pipeline.sources.openclaw_records import Block, Message, blocks_of

CALL_BLOCKS = ("tool_use", "toolUse", "functionCall")  # a call's arguments stand under `input`, or where they should
RESULT_ROLE = "tool"
RESULT_BLOCKS = ("tool_result", "toolResult")
CONTENT = msgspec.json.Decoder(list[Block] | str | None)
NAME = msgspec.json.Decoder(str)
IS_ERROR = {b"true": True, b"false": False}


def as_call(block: Block) -> Block:
    """The same block, its arguments where a `toolCall` block has them."""
    if not bytes(block.arguments):
        block.arguments = block.input
    return block


def results_of(message: Message) -> list[Message]:
    """The results in a message of role `tool`, each as OpenClaw writes one: one for every result block, what stands
    beside these with the first; the whole message where there is none."""
    blocks = blocks_of(message)
    made = [result_of(block) for block in blocks if block.type in RESULT_BLOCKS]
    if not made:
        message.toolCallId = message.toolCallId or text_in(message.tool_call_id)
        return [message]
    others = [block for block in blocks if block.type not in RESULT_BLOCKS]
    if others:
        made[0].content = blocks_of(made[0]) + others
    return made


def result_of(block: Block) -> Message:
    """A result block as a tool result; content that is neither text nor blocks as its JSON text."""
    return Message(
        role="toolResult",
        content=content_in(block.content) or block.text,
        toolCallId=text_in(block.tool_use_id),
        isError=IS_ERROR.get(bytes(block.is_error)),
    )


def content_in(raw: msgspec.Raw) -> list[Block] | str | None:
    """Text or blocks; any other JSON value as it is written, null where it is absent."""
    written = bytes(raw)
    try:
        return CONTENT.decode(written) if written else None
    except msgspec.ValidationError:
        return written.decode("utf-8", "backslashreplace")


def text_in(raw: msgspec.Raw) -> str | None:
    """A JSON string; null for all else."""
    try:
        return NAME.decode(bytes(raw) or b"null")
    except msgspec.ValidationError:
        return None
