"""Messages of a chat in the dialects that benchmarks and frameworks write: OpenAI's `tool_calls` and `function_call`,
items of its Responses API, blocks of Anthropic, Gemini's parts, ShareGPT, LangChain, and models that write thoughts and
calls into their text. What is of no known kind is refused by its name: nothing of a message is left out unsaid."""

import json
from dataclasses import dataclass, field
from typing import Any

import msgspec

from openclawbench.sources.chat_text import called_in_text, results_in_text, thought_in_text
from openclawbench.sources.io.content_text import text_or_json
from openclawbench.sources.io.jsonl import UnexpectedShape, decode_shape
from openclawbench.sources.stated_end import stated_end
from openclawbench.sources.step_builder import not_blank

RAW = msgspec.Raw(b"")
ROLES = {
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "model", "gpt", "bot"), "assistant"),
    **dict.fromkeys(("tool", "function", "observation", "ipython"), "tool"),
}
TYPES = ROLES | {"ai": "assistant"}  # the `type` of a message without a role, as LangChain writes it
# Types of content blocks and of items.
TEXTS = ("text", "input_text", "output_text", "summary_text")
THOUGHTS = ("thinking", "reasoning", "reasoning_text", "redacted_thinking")
CALLS = ("tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "tool-call", "toolCall", "function_call")
RESULTS = ("tool_result", "mcp_tool_result", "tool_call_response", "tool-result", "toolResult", "function_call_output")
MEDIA = (
    *("image", "image_url", "input_image", "audio", "audio_url", "input_audio", "video", "video_url"),
    *("file", "input_file", "document", "media"),
)
GEMINI = {"functionCall": "tool_call", "function_call": "tool_call", "functionResponse": "tool_result"}
GEMINI |= {"function_response": "tool_result"}
# Names of one thing in the dialects; the first that is there counts.
ID = ("id", "call_id", "tool_call_id", "tool_use_id", "toolCallId")
RESULT_ID = ("tool_call_id", "tool_use_id", "call_id", "toolCallId", "id")
NAME = ("name", "toolName", "tool_name")
ARGUMENTS = ("arguments", "args", "input", "parameters", "action")
OUTPUT = ("content", "output", "result", "response", "text", "value")
THINKING = ("reasoning_content", "reasoning", "thinking", "thought", "reasoning_details", "thinking_blocks")


@dataclass(frozen=True)
class Call:
    """A call of a tool; `arguments` is JSON text as written, None if there is none."""

    name: str | None
    arguments: str | None
    id: str | None


@dataclass(frozen=True)
class Result:
    """What came back from a call."""

    text: str | None
    id: str | None
    name: str | None
    is_error: bool | None = None
    details: str | None = None


@dataclass
class Message:
    """A message, or an item of a response. `goes_on`: an item, which belongs to the message or item before it.
    `is_simulated`: a call of the simulated user, or what came back from it; not the agent's."""

    role: str
    text: str | None = None
    thinking: str | None = None
    calls: list[Call] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    speaker: str | None = None
    timestamp: Any = None
    goes_on: bool = False
    is_simulated: bool = False


class CallShape(msgspec.Struct):
    """An entry of `tool_calls`; the arguments are kept as they are written."""

    id: Any = None
    call_id: Any = None
    tool_call_id: Any = None
    toolCallId: Any = None
    type: Any = None
    name: Any = None
    toolName: Any = None
    tool_name: Any = None
    function: msgspec.Raw = RAW
    custom: msgspec.Raw = RAW
    arguments: msgspec.Raw = RAW
    args: msgspec.Raw = RAW
    input: msgspec.Raw = RAW
    parameters: msgspec.Raw = RAW
    action: msgspec.Raw = RAW


class Written(msgspec.Struct):
    """The fields of a message whose text is kept as it is written."""

    tool_calls: msgspec.Raw = RAW
    function_call: msgspec.Raw = RAW
    arguments: msgspec.Raw = RAW


OBJECT = msgspec.json.Decoder(dict[str, Any])
WRITTEN, CALL = msgspec.json.Decoder(Written), msgspec.json.Decoder(CallShape)
LIST = msgspec.json.Decoder(list[msgspec.Raw])


def is_message(value: Any) -> bool:
    """True for what looks like a message of any of these dialects, known role or not."""
    if not isinstance(value, dict):
        return False
    has_role = isinstance(value.get("role"), str) and (
        not {"content", "tool_calls", "function_call", "parts", "text"}.isdisjoint(value)
    )
    is_shared = isinstance(value.get("from"), str) and "value" in value
    kind = value.get("type")
    return (
        has_role or is_shared or (isinstance(kind, str) and (kind in (*TYPES, *THOUGHTS, "message") or is_item(kind)))
    )


def is_item(kind: str) -> bool:
    """True for the type of a call or its output among the items of the Responses API."""
    return kind.endswith(("_call", "_call_output"))


def decode_message(data: bytes) -> Message:
    """A message. ValueError if the bytes are not valid JSON, UnexpectedShape where they are not a message, or hold
    what is not read."""
    fields = decode_shape(OBJECT, data, "a message")
    role = role_of(fields)
    if role is None:
        return item_of(fields, decode_shape(WRITTEN, data, "a message"))
    message = Message(role, timestamp=fields.get("timestamp"), speaker=text_id(fields.get("name")))
    if role == "tool":
        add_tool_message(message, fields)
        return message
    content = next(
        (fields[name] for name in ("content", "parts", "text", "value") if fields.get(name) is not None), None
    )
    add_content(message, content)
    thoughts = [thinking_text(fields.get(name)) for name in THINKING]
    message.thinking = joined([next(filter(None, thoughts), None), message.thinking])
    written = decode_shape(WRITTEN, data, "a message")
    message.calls += calls_of(bytes(written.tool_calls)) + legacy_call(bytes(written.function_call))
    if role == "assistant":
        read_tags(message)
    elif role == "user" and not message.results:
        message.results = [Result(text, None, None) for text in results_in_text(message.text)]
        message.text = None if message.results else message.text
    message.is_simulated = role == "user" and bool(message.calls)
    if fields.get("from") in ("function_call", "tool_call"):
        message.calls, message.text = called_in_value(message.text), None
    return message


def role_of(fields: dict[str, Any]) -> str | None:
    """system | user | assistant | tool; None for an item. UnexpectedShape for a role that is not read."""
    kind = fields.get("type")
    written = fields.get("role", fields.get("from"))
    if written is None:
        return TYPES.get(kind.lower()) if isinstance(kind, str) else None
    if written in ("function_call", "tool_call"):
        return "assistant"
    role = ROLES.get(written.lower()) if isinstance(written, str) else None
    if role is None:
        raise not_read(f"a message of the role {written!r}")
    return role


def add_tool_message(message: Message, fields: dict[str, Any]) -> None:
    """The result in a tool's message; several where its content is result blocks."""
    content = next((fields[name] for name in OUTPUT if fields.get(name) is not None), None)
    blocks = content if isinstance(content, list) else fields.get("parts")
    if isinstance(blocks, list) and any(kind_of(block) in RESULTS for block in blocks):
        add_content(message, blocks)
    else:
        message.results.append(result_of(fields, content))
    message.speaker = None
    message.is_simulated = fields.get("requestor") == "user"


def item_of(fields: dict[str, Any], written: Written) -> Message:
    """An item of a response without a role. UnexpectedShape for a type that is not read."""
    kind = fields.get("type")
    if not isinstance(kind, str):
        raise not_read(f"a message with neither role nor type, of the fields {', '.join(fields) or '(none)'}")
    time = fields.get("timestamp")
    if kind in THOUGHTS:
        texts = [thinking_text(fields.get(name)) for name in ("summary", "content", "text")]
        return Message("assistant", thinking=next(filter(None, texts), None), timestamp=time, goes_on=True)
    if kind.endswith("_call_output"):
        output = next((fields[name] for name in OUTPUT if fields.get(name) is not None), None)
        details = {name: value for name, value in fields.items() if name != "status"}  # the item's, not the call's
        return Message("tool", results=[result_of(details, output)], timestamp=time)
    if kind.endswith("_call"):
        name = text_of(first(fields, NAME)) or kind.removesuffix("_call")
        arguments = written_text(bytes(written.arguments)) or json_text(first(fields, ARGUMENTS))
        call = Call(name, arguments, text_id(fields.get("call_id")) or text_id(fields.get("id")))
        return Message("assistant", calls=[call], timestamp=time, goes_on=True)
    raise not_read(f"an item of the type {kind!r}")


def add_content(message: Message, content: Any) -> None:
    """What a message's content says: its text, or its blocks in order."""
    if not isinstance(content, list):
        message.text = not_blank(text_or_json(content))
        return
    texts: list[str | None] = []
    thoughts: list[str | None] = []
    for block in content:
        kind = kind_of(block)
        value = block.get(next(name for name in GEMINI if name in block)) if is_gemini(block) else block
        if kind in TEXTS:
            texts.append(text_or_json(block["text"]) if isinstance(block, dict) else text_or_json(block))
        elif kind == "refusal":
            texts.append(text_or_json(block.get("refusal")))
        elif kind in THOUGHTS:
            thoughts.append(
                next(filter(None, (thinking_text(block.get(name)) for name in (*THINKING, "text", "content"))), None)
            )
        elif kind in CALLS:
            call_id = text_id(first(value, ID))
            message.calls.append(Call(text_of(first(value, NAME)), json_text(first(value, ARGUMENTS)), call_id))
        elif kind in RESULTS:
            message.results.append(result_of(value, first(value, OUTPUT)))
        elif kind in MEDIA:
            texts.append(f"[{kind}]")
        else:
            raise not_read(f"a content block of the type {kind!r}")
    message.text, message.thinking = joined(texts), joined(thoughts)


def kind_of(block: Any) -> str | None:
    """The type of a content block, also of one that has none; a text is one of text."""
    if not isinstance(block, dict):
        return "text"
    if is_gemini(block):
        return next(kind for name, kind in GEMINI.items() if name in block)
    kind = block.get("type")
    if kind is None:
        return "reasoning" if block.get("thought") is True else "text" if "text" in block else ", ".join(block)
    return str(kind)


def is_gemini(block: Any) -> bool:
    """True for a part that holds a call or a result under its name."""
    return isinstance(block, dict) and "type" not in block and not GEMINI.keys().isdisjoint(block)


def result_of(fields: dict[str, Any], output: Any) -> Result:
    """A result with what its writer says of how the call ended."""
    is_error, details = stated_end(fields)
    texts = results_in_text(output) if isinstance(output, str) else []
    text = "\n".join(texts) if texts else result_text(output)
    name = text_of(first(fields, NAME))
    return Result(text, text_id(first(fields, RESULT_ID)), name, is_error, json.dumps(details) if details else None)


def result_text(output: Any) -> str | None:
    """A result as text: itself, or its text blocks with a newline between; media by their type, others as JSON."""
    if not isinstance(output, list):
        return not_blank(text_or_json(output))
    texts = []
    for block in output:
        kind = kind_of(block)
        is_text = kind in TEXTS and (not isinstance(block, dict) or "text" in block)
        value = block["text"] if is_text and isinstance(block, dict) else block
        texts.append(f"[{kind}]" if kind in MEDIA else text_or_json(value))
    return joined(texts)


def calls_of(data: bytes) -> list[Call]:
    """Entries of `tool_calls`, also of a list that is written as JSON text."""
    if data in (b"", b"null"):
        return []
    if data.startswith(b'"'):
        return calls_of(msgspec.json.decode(data, type=str).encode("utf-8", "replace").strip())
    return [call_of(decode_shape(CALL, bytes(entry), "a call")) for entry in decode_shape(LIST, data, "the calls")]


def legacy_call(data: bytes) -> list[Call]:
    """The call in `function_call`."""
    return [] if data in (b"", b"null") else [call_of(decode_shape(CALL, data, "a function call"))]


def call_of(shape: CallShape) -> Call:
    """A call from any of its forms."""
    call_id = next((text for name in ID if (text := text_id(getattr(shape, name, None)))), None)
    for inner in (bytes(shape.function), bytes(shape.custom)):
        if inner.startswith(b"{"):
            function = call_of(decode_shape(CALL, inner, "a function"))
            outer = next((text for name in ARGUMENTS if (text := written_text(bytes(getattr(shape, name))))), None)
            return Call(function.name, function.arguments or outer, call_id)
        if inner.startswith(b'"'):
            shape.name = msgspec.json.decode(inner)
    name = next((text for name in NAME if (text := text_of(getattr(shape, name)))), None)
    arguments = next(
        (text for key in ARGUMENTS if (text := written_text(bytes(getattr(shape, key)))) is not None), None
    )
    return Call(name, arguments, call_id)


def called_in_value(text: str | None) -> list[Call]:
    """The calls that a message is which is nothing but a call, as JSON text."""
    try:
        value = json.loads(text or "")
    except ValueError as error:
        raise not_read("a call that is not JSON") from error
    return calls_of(json.dumps(value if isinstance(value, list) else [value]).encode())


def read_tags(message: Message) -> None:
    """Thoughts and calls that a model wrote into its text, in tags."""
    thought, text = thought_in_text(message.text)
    message.thinking = joined([message.thinking, None if thought == message.thinking else thought])
    calls, rest, broken = called_in_text(text)
    if broken:
        raise not_read("a <tool_call> whose call cannot be read")
    message.calls += [Call(name, arguments, None) for name, arguments in calls]
    message.text = not_blank(rest)


def thinking_text(value: Any) -> str | None:
    """Thoughts: a text, or the texts of a list of blocks."""
    if isinstance(value, list):
        blocks = [block if isinstance(block, dict) else {"text": block} for block in value]
        return joined([text_of(first(block, ("text", "thinking", "summary", "content"))) for block in blocks])
    if isinstance(value, dict):
        return thinking_text(first(value, ("text", "thinking", "summary", "content")))
    return not_blank(value) if isinstance(value, str) else None


def written_text(data: bytes) -> str | None:
    """Arguments as JSON text: the text that they are written as, or the value's own bytes."""
    if data in (b"", b"null"):
        return None
    return msgspec.json.decode(data, type=str) if data.startswith(b'"') else data.decode("utf-8", "backslashreplace")


def json_text(value: Any) -> str | None:
    """Arguments as JSON text; a text is taken to be one."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def first(fields: Any, names: tuple[str, ...]) -> Any:
    """The first of these fields that has a value."""
    known = fields if isinstance(fields, dict) else {}
    return next((known[name] for name in names if known.get(name) is not None), None)


def joined(texts: list[str | None]) -> str | None:
    """Texts with a newline between them; None if there is none."""
    return not_blank("\n".join(text for text in texts if text))


def text_of(value: Any) -> str | None:
    """A name or a text; any other value as its JSON text."""
    return not_blank(text_or_json(value))


def text_id(value: Any) -> str | None:
    """An id, also one that is a number; None for any other value."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def not_read(what: str) -> UnexpectedShape:
    """The refusal of what no dialect explains."""
    return UnexpectedShape(f"{what} is not read: the messages are refused, so that nothing of them is lost")
