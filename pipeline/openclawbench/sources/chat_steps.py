"""Chat messages with OpenAI's `tool_calls` -> ReAct steps and user turns: the shapes of messages and their conversion,
shared by adapters of several formats."""

import json
from typing import Any

import msgspec

from openclawbench.sources.io.content_text import text_or_json
from openclawbench.sources.io.jsonl import RawLine, decode_shape
from openclawbench.sources.result_pairing import Called, pair
from openclawbench.sources.stated_end import stated_end
from openclawbench.sources.step_builder import Feedback, Moment, Speech, StepList, not_blank

ROLES = ("system", "developer", "user", "assistant", "tool")


class Function(msgspec.Struct):
    """What a call names."""

    name: Any = None
    arguments: msgspec.Raw = msgspec.Raw(b"")


class Call(msgspec.Struct):
    """An entry of `tool_calls`."""

    id: Any = None
    function: Function | None = None


class Message(msgspec.Struct):
    """One line. Lenient: every field optional; what is not of its type is refused with its line."""

    role: Any = None
    content: Any = None
    reasoning_content: Any = None
    tool_calls: list[Call] | None = None
    tool_call_id: Any = None
    name: Any = None
    timestamp: Any = None
    # Of a tool's message: how the call ended, as its writer names it.
    is_error: Any = None
    isError: Any = None
    error: Any = None
    status: Any = None
    success: Any = None
    exit_code: Any = None
    extra: Any = None
    metadata: Any = None
    additional_kwargs: Any = None


ENDS = ("is_error", "isError", "error", "status", "success", "exit_code", "extra", "metadata", "additional_kwargs")
MESSAGE = msgspec.json.Decoder(Message)


def decode_message(data: bytes) -> Message:
    """A line; ValueError if the bytes are not valid JSON, UnexpectedShape where they are not a message."""
    return decode_shape(MESSAGE, data, "a message")


def take_messages(steps: StepList, rows: list[RawLine]) -> None:
    """All messages of a session, in order."""
    for at, row in enumerate(rows):
        take(steps, row, rows[at + 1 :])
    steps.finish()


def take(steps: StepList, row: RawLine, after: list[RawLine]) -> None:
    """One message, by role; the results of its calls are among those `after` it, up to the next assistant's."""
    message: Message = row.value
    if message.role == "user":
        steps.counts["user_turn"] += 1
        steps.user(content_text(message.content), row)
    elif message.role == "assistant":
        act(steps, row, after)
    elif message.role in ("system", "developer"):
        steps.counts["system"] += 1
    elif message.role != "tool":
        steps.note_role(message.role)


def act(steps: StepList, row: RawLine, after: list[RawLine]) -> None:
    """The steps of an assistant's message: its calls, each with its result; its text, where it calls nothing; and a
    result that fits no call."""
    message: Message = row.value
    text, thinking = not_blank(content_text(message.content)), not_blank(text_or_json(message.reasoning_content))
    moment = steps.moment(None)
    moment.followed = any(row.value.role in ("user", "assistant") for row in after)
    results = stretch(after)
    calls = message.tool_calls or []
    pairing = pair(
        [Called(id_of(call.id), name_of(call)) for call in calls],
        [Called(id_of(result.value.tool_call_id), text_or_json(result.value.name)) for result in results],
    )
    for index, call in enumerate(calls):
        speech = Speech(thinking, text, "before", []) if index == 0 else None
        step = steps.call(name_of(call), arguments_of(call), moment, row, speech)
        step["order_ambiguous"] = index in pairing.ambiguous
        if index in pairing.result_of:
            steps.answer(step, feedback_of(results[pairing.result_of[index]]))
    steps.counts["step_result"] += len(results)
    if calls:
        steps.counts["step_call"] += 1
    elif text is not None:
        steps.counts["step_reply"] += 1
        steps.reply(text, moment, [row], thinking)
    else:
        steps.counts["runner:no_step"] += 1
        steps.noise["empty_replies"] += 1
    for orphan in pairing.orphans:
        orphaned = results[orphan]
        nowhere = Moment(moment.message_index, moment.user_turn, None)
        steps.orphan(text_or_json(orphaned.value.name), feedback_of(orphaned), nowhere)


def stretch(after: list[RawLine]) -> list[RawLine]:
    """The results up to the next message that a model wrote."""
    results = []
    for row in after:
        if row.value.role == "assistant":
            break
        if row.value.role == "tool":
            results.append(row)
    return results


def content_text(value: Any) -> str | None:
    """A message's text: itself, or its text parts, a newline between them; other parts are named by their type."""
    if not isinstance(value, list):
        return text_or_json(value)
    parts = [part if isinstance(part, dict) else {"text": text_or_json(part)} for part in value]
    texts = [text_or_json(part["text"]) if "text" in part else f"[{part.get('type')}]" for part in parts]
    return "\n".join(text for text in texts if text)


def arguments_of(call: Call) -> str | None:
    """A call's arguments as JSON text: the text that they are written as, or the value's own bytes."""
    data = bytes(call.function.arguments) if call.function else b""
    if data in (b"", b"null"):
        return None
    return msgspec.json.decode(data, type=str) if data.startswith(b'"') else data.decode("utf-8", "backslashreplace")


def name_of(call: Call) -> str | None:
    """The tool that a call names."""
    return not_blank(text_or_json(call.function.name)) if call.function else None


def id_of(value: Any) -> str | None:
    """An id that is text; None for any other value."""
    return value if isinstance(value, str) and value else None


def feedback_of(row: RawLine) -> Feedback:
    """What a tool's message says."""
    message: Message = row.value
    is_error, details = stated_end({name: getattr(message, name) for name in ENDS})
    return Feedback(not_blank(content_text(message.content)), [row], json.dumps(details) if details else None, is_error)
