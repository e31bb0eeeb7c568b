"""Shapes of aec-bench lines (trajectory.jsonl, conversation.jsonl), and the texts in them. Unknown keys are ignored."""

from typing import Any

import msgspec

from openclawbench.sources.io.content_text import image_placeholder, text_or_json
from openclawbench.sources.io.jsonl import decode_shape
from openclawbench.sources.step_builder import not_blank

FORMAT = "aec-bench-trajectory"
ROLES = ("system", "user", "assistant", "tool_call", "tool_result")


class Entry(msgspec.Struct):
    """One line. Lenient: every field optional, of any type; values kept as written are Raw."""

    format: Any = None
    version: Any = None
    step: Any = None
    role: Any = None
    content: Any = None
    tool_name: Any = None
    command: msgspec.Raw = msgspec.Raw(b"")
    arguments: msgspec.Raw = msgspec.Raw(b"")
    stdout: Any = None
    stderr: Any = None
    exit_code: msgspec.Raw = msgspec.Raw(b"")
    duration_ms: msgspec.Raw = msgspec.Raw(b"")
    output_summary: Any = None
    media: Any = None
    metadata: Any = None
    timestamp: Any = None


ENTRY = msgspec.json.Decoder(Entry)


def decode_entry(data: bytes) -> Entry:
    """A line; ValueError if the bytes are not valid JSON, UnexpectedShape where they are not an object."""
    return decode_shape(ENTRY, data, "a record")


def opens_conversation(first: Any) -> bool:
    """True for the first line of a conversation.jsonl."""
    is_message = isinstance(first, dict) and first.get("event") == "message" and "step" not in first
    return is_message and isinstance(first.get("role"), str) and "content" in first


def is_header(entry: Entry) -> bool:
    """True for the line that opens a trajectory."""
    return bool(entry.format == FORMAT)


def arguments_of(entry: Entry) -> str | None:
    """A call's arguments as JSON text, made of the bytes in the line; None if the call has no arguments.

    A command stands under its own key, as it does in the line, so that `python calc.py` reads like any other tool's
    `{"command": "python calc.py"}`; beside other arguments it comes first, unless they hold a command themselves.
    """
    arguments = raw_json_text(entry.arguments)
    command = raw_json_text(entry.command)
    if command is None or not is_said(command):
        return arguments
    alone = f'{{"command": {command}}}'
    if arguments is None:
        return alone
    try:
        others = msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        return f'{{"command": {command}, "arguments": {arguments}}}'
    if "command" in others:
        return arguments
    return f'{{"command": {command}, {arguments.lstrip()[1:].lstrip()}' if others else alone


def raw_json_text(raw: msgspec.Raw) -> str | None:
    """A JSON value as it is in the line; None if it is absent or null."""
    data = bytes(raw)
    return None if data in (b"", b"null") else data.decode("utf-8", "backslashreplace")


def is_said(command: str) -> bool:
    """True if a JSON value is not a blank string."""
    return not command.startswith('"') or bool(msgspec.json.decode(command, type=str).strip())


def result_text(entry: Entry) -> str | None:
    """A result's text: stdout, then stderr, a newline between them; then its media as typed placeholders.

    Where the line has neither, its content or, failing that, the preview that it keeps of the output. Blank is None.
    """
    texts = [text for text in (text_or_json(entry.stdout), text_or_json(entry.stderr)) if text]
    if entry.stdout is None and entry.stderr is None:
        texts = [text for text in (text_or_json(entry.content) or text_or_json(entry.output_summary),) if text]
    media = entry.media if isinstance(entry.media, list) else []
    return not_blank("\n".join([*texts, *(media_placeholder(block) for block in media)]))


def media_placeholder(value: Any) -> str:
    """`[media <path>]`, or type, size and digest where the line holds the bytes themselves."""
    text = text_or_json(value) or ""
    head, comma, data = text.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        kind = head.removeprefix("data:").removesuffix(";base64")
        return image_placeholder(data, kind, "media")
    return f"[media {text}]"


def result_details(entry: Entry) -> str | None:
    """Exit code and duration of a result under the names that OpenClaw's details have; None if it has neither."""
    named = {"exitCode": raw_json_text(entry.exit_code), "durationMs": raw_json_text(entry.duration_ms)}
    parts = [f'"{name}": {value}' for name, value in named.items() if value is not None]
    return f"{{{', '.join(parts)}}}" if parts else None
