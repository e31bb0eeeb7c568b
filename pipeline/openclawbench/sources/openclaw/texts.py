"""What the blocks of an OpenClaw message say: texts, calls, images as placeholders, details without long strings."""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from openclawbench.sources.io.content_text import image_placeholder
from openclawbench.sources.openclaw.dialect import CALL_BLOCKS, RESULT_BLOCKS, as_call, content_in, image_source
from openclawbench.sources.openclaw.records import Block, Message, blocks_of

# Tags of models without a field for thoughts, as the runtime knows them. What is searched for is one tag at a time, so
# that no text takes longer than its length.
THOUGHT = re.compile(r"\s*+<((?:antml:)?(?:think(?:ing)?|thought)|antthinking)(?=[\s/>])[^<>]*>", re.IGNORECASE)
FINAL = re.compile(r"<final(?=[\s/>])[^<>]*>", re.IGNORECASE)
FIRST_FINALS = re.compile(rf"(?:\s*+{FINAL.pattern})++\s*+", re.IGNORECASE)
ANSWER_END = "</final>"
CODE_OR_FINAL_TAG = re.compile(
    r"(?P<code>^[ \t]*(?P<fence>```|~~~).*?(?:^[ \t]*(?P=fence)|\Z)|`[^`\n]+`)|</?final(?=[\s/>])[^<>]*>",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
READ_BLOCKS = ("text", "image", *RESULT_BLOCKS)  # of a tool's result or a user's message


def parts_of(message: Message) -> tuple[list[Block], str | None, str | None, list[str | None]]:
    """(calls, thinking, text, types of blocks that are not one of these) of an agent message, in its blocks' order."""
    calls: list[Block] = []
    unknown: list[str | None] = []
    thinking: list[str] = []
    texts: list[str] = []
    for block in blocks_of(message):
        if block.type == "toolCall":
            calls.append(as_call(block))
        elif block.type == "text":
            thought, rest = without_thought(block.text or "")
            texts.append(rest)
            thinking += [thought] if thought else []
        elif block.type == "thinking":
            thinking.append(block.thinking or "")
        elif block.type in CALL_BLOCKS:
            calls.append(as_call(block))
        else:
            unknown.append(block.type)
    return calls, joined_lines(thinking), joined_lines(texts), unknown


def without_thought(text: str) -> tuple[str | None, str]:
    """What a text thinks at its beginning, in tags that the runtime takes out before it is shown, and the rest; of an
    answer in `<final>`, without these tags, except within code. A thought that is not closed ends where the answer
    begins."""
    thoughts: list[str] = []
    start = 0
    while match := THOUGHT.match(text, start):
        end = closing_tag(match[1].lower()).search(text, match.end()) or FINAL.search(text, match.end())
        if end is None:
            break
        thoughts.append(text[match.end() : end.start()].strip())
        start = end.start() if end[0][1] != "/" else end.end()
    rest = text[start:].lstrip() if start else text
    if first := FIRST_FINALS.match(rest):
        rest = without_final_tags(rest, first.end())
    return "\n".join(filter(None, thoughts)) or None, rest


@cache
def closing_tag(name: str) -> re.Pattern[str]:
    """The pattern of the tag that closes a thought."""
    return re.compile(rf"</{name}\s*+>", re.IGNORECASE)


def without_final_tags(text: str, start: int) -> str:
    """An answer behind its first `<final>`, from `start`, without such tags and the blanks around it. A tag within code
    stays: the answer writes about it. One at the end never does: a fence that is not closed ends with the answer."""
    end = len(text)
    while end > start:
        if text[end - 1].isspace():
            end -= 1
        elif text[max(start, end - len(ANSWER_END)) : end].lower() == ANSWER_END:
            end -= len(ANSWER_END)
        else:
            break
    return CODE_OR_FINAL_TAG.sub(lambda match: match["code"] or "", text[start:end])


def texts_of(message: Message) -> list[str]:
    """The texts of an agent message's blocks, in order."""
    return [block.text or "" for block in blocks_of(message) if block.type == "text"]


def joined_lines(texts: list[str]) -> str | None:
    """Texts that are not empty, with a newline between; None if all is blank."""
    if not texts:
        return None
    text = texts[0] if len(texts) == 1 else "\n".join(filter(None, texts))
    return text if text and not text.isspace() else None


def narration_position(message: Message, call: Block, before: bool = False) -> str:
    """Whether text is before or after the first call, or on both sides. `before`: some is before the message."""
    blocks = blocks_of(message)
    after = passed = False
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
            if block.type not in READ_BLOCKS:
                unknown(block.type)
    return joined_lines([block_text(block) or "" for block in blocks])


def block_text(block: Block) -> str | None:
    """The text of a block of a result or a user's message: an image's placeholder, what a result within it says."""
    if block.type == "image":
        return block_placeholder(block)
    if block.type in RESULT_BLOCKS and not block.text:
        return result_text(Message(content=content_in(block.content)))
    return block.text


def block_placeholder(block: Block) -> str:
    """The placeholder of an image block; `[image <address>]` for an image that is stored elsewhere."""
    if block.data is not None or not bytes(block.source):
        return image_placeholder(block.data, block.mimeType)
    source = image_source(block.source)
    if source.data is None and source.url is not None:
        return f"[image {source.url}]"
    return image_placeholder(source.data, source.media_type)


def as_text(value: Any) -> str | None:
    """A message that may be any JSON value, as text."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
