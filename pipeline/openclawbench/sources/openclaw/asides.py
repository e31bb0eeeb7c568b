"""What a harness writes as messages of their own though it belongs to the agent's next action: the thoughts of a turn,
its plan, what is said between calls. OpenClaw's own loop has them in the action's message, its Codex harness not."""

from typing import Any

import msgspec

from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.io.jsonl import RawLine
from openclawbench.sources.openclaw.records import FAILED, Block, Message


class Stretch(msgspec.Struct):
    """One agent message and the results that follow it, up to the next message that a model wrote."""

    row: RawLine | None = None
    message: Message | None = None
    calls: list[Block] = []
    thinking: str | None = None
    text: str | None = None
    user_turn: int | None = None
    time: str | None = None
    results: list[Any] = []
    followed: bool = False  # something other than its results came after it
    unknown: bool = False  # it has content blocks of unknown types
    runner_text: str | None = None  # rule of a text in it that the program wrote in the agent's place
    model: str | None = None
    usage: dict[str, Any] | None = None  # MessageUsage
    is_mirror: bool = False  # no record of a model: what a delivery left of a reply, or a gateway of an aborted one
    speech_rows: list[RawLine] = []  # messages before it that belong to its first action
    is_said_before: bool = False  # some of its text is in these


class Aside(msgspec.Struct, gc=False):
    """A message that belongs to the next action of its turn. `stretch`: what it is where none comes."""

    stretch: Stretch
    thinking: str | None
    text: str | None


def aside_of(stretch: Stretch, rules: NormalizeRules) -> Aside | None:
    """A message as an aside; None if it is an action of its own."""
    message, text = stretch.message, stretch.text
    if message is None or stretch.calls or stretch.unknown or message.stopReason in FAILED:
        return None
    if text is None:
        return None if stretch.thinking is None or has_used(message) else Aside(stretch, stretch.thinking, None)
    if is_between(message):
        return Aside(stretch, stretch.thinking, text)
    rule = next((rule for rule in rules.asides if text.startswith(rule.heading)), None)
    if rule is None or message.stopReason != "stop":
        return None
    thought = text if rule.keep_heading else text[len(rule.heading) :].strip()
    if not has_used(message):
        stretch.thinking, stretch.text = thought, None
    return Aside(stretch, thought, None)


def is_between(message: Message) -> bool:
    """True for what an agent said between its actions: a harness names the segment of the stream that it was."""
    mark = message.openclawStreamFallback
    return isinstance(mark, dict) and mark.get("source") == "segment" and "itemId" in mark and not has_used(message)


def gather(asides: list[Aside], action: Stretch) -> list[Stretch]:
    """Give an action what was written before it; the replies among that. What is said before a reply is one itself."""
    replies = []
    thoughts: list[str] = []
    texts: list[str] = []
    rows: list[RawLine] = []
    for aside in asides:
        thoughts += [aside.thinking] if aside.thinking else []
        if aside.text is not None and not action.calls:
            aside.stretch.thinking, aside.stretch.speech_rows = join(thoughts), rows
            replies.append(aside.stretch)
            thoughts, rows = [], []
            continue
        texts += [aside.text] if aside.text else []
        rows += [aside.stretch.row] if aside.stretch.row is not None else []
    action.thinking = join([*thoughts, *([action.thinking] if action.thinking else [])])
    action.text = join([*texts, *([action.text] if action.text else [])])
    action.speech_rows, action.is_said_before = rows, bool(texts)
    return replies


def join(texts: list[str]) -> str | None:
    """Texts with a blank line between; None if there is none."""
    return "\n\n".join(texts) or None


def has_used(message: Message) -> bool:
    """True if a message reports tokens or a cost."""
    return any(value for value in (message.usage or {}).values() if isinstance(value, int | float))
