"""Calls, results and images as other programs spell them in sessions of this format: `tool_use` blocks with `input`,
results in messages of role `tool` or `user`, images with a `source`. OpenClaw itself takes `tool_use` blocks for calls
when it loads a session."""

import msgspec

from openclawbench.sources.openclaw.records import Block, Message, blocks_of


class ImageSource(msgspec.Struct, gc=False):
    """An image as the provider's own messages have it."""

    data: str | None = None
    media_type: str | None = None
    url: str | None = None


CALL_BLOCKS = ("tool_use", "toolUse", "functionCall")  # a call's arguments stand under `input`, or where they should
RESULT_ROLE = "tool"
RESULT_BLOCKS = ("tool_result", "toolResult")
CONTENT = msgspec.json.Decoder(list[Block] | str | None)
NAME = msgspec.json.Decoder(str)
SOURCE = msgspec.json.Decoder(ImageSource)
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
    results = [result_of(block) for block in blocks if block.type in RESULT_BLOCKS]
    if not results:
        message.toolCallId = message.toolCallId or text_in(message.tool_call_id)
        return [message]
    others = [block for block in blocks if block.type not in RESULT_BLOCKS]
    if others:
        results[0].content = blocks_of(results[0]) + others
    return results


def results_beside(message: Message) -> tuple[list[Message], Message]:
    """The result blocks in a user's message, each as OpenClaw writes one, and the message without them."""
    content = message.content
    if not isinstance(content, list) or all(block.type not in RESULT_BLOCKS for block in content):
        return [], message
    others = [block for block in content if block.type not in RESULT_BLOCKS]
    results = [result_of(block) for block in content if block.type in RESULT_BLOCKS]
    return results, Message(role=message.role, content=others)


def result_of(block: Block) -> Message:
    """A result block as a tool result; content that is neither text nor blocks as its JSON text."""
    return Message(
        role="toolResult",
        content=content_in(block.content) or block.text,
        toolCallId=text_in(block.tool_use_id),
        isError=IS_ERROR.get(bytes(block.is_error)),
    )


def content_in(raw: msgspec.Raw) -> list[Block] | str | None:
    """Text or blocks; any other JSON value as it is written, None if it is absent."""
    written = bytes(raw)
    try:
        return CONTENT.decode(written) if written else None
    except msgspec.ValidationError:
        return written.decode("utf-8", "backslashreplace")


def image_source(raw: msgspec.Raw) -> ImageSource:
    """Where an image is; blank where that is written in no way that is known."""
    try:
        return SOURCE.decode(bytes(raw) or b"{}")
    except msgspec.ValidationError:
        return ImageSource()


def text_in(raw: msgspec.Raw) -> str | None:
    """A JSON string; None for any other value."""
    try:
        return NAME.decode(bytes(raw) or b"null")
    except msgspec.ValidationError:
        return None
