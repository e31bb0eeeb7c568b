"""Parsing a chat completion: the answer's text, finish, reasoning and usage.

`choices[0].message` was paid for and is read strictly; everything else is read as far as it makes sense, so that an odd
id or an odd usage loses no answer.
"""

import json
from typing import Any

import msgspec

from openclawbench.base.canonical_json import escape_lone_surrogates
from openclawbench.judge.transport.embedded_json import objects_in
from openclawbench.judge.transport.protocol import ParsedAnswer
from openclawbench.records.fulltax import Usage

FINISHES = {
    "length": "truncated",
    "max_tokens": "truncated",
    "max_output_tokens": "truncated",
    "content_filter": "content_filter",
}
ERROR = "error"  # finish_reason with which gateways end an answer that their provider broke off
THINKING = ("reasoning_content", "reasoning", "thinking")  # fields and parts in which servers give what a model thought
LARGEST = 2**63 - 1  # what a column holds


class Message(msgspec.Struct):
    """The message of a choice. The fields beside the content differ from server to server."""

    content: Any = None
    refusal: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    thinking: Any = None
    tool_calls: Any = None
    function_call: Any = None


class Choice(msgspec.Struct):
    """One answer."""

    message: Message
    finish_reason: Any = None
    error: Any = None


class Completion(msgspec.Struct):
    """The fields of a chat completion that are read."""

    choices: Any = None
    id: Any = None
    usage: Any = None
    error: Any = None


DECODER = msgspec.json.Decoder(Completion)


class Failed(Exception):
    """The body holds an error. `tokens`: completion tokens by its usage."""

    def __init__(self, error: Any, tokens: int) -> None:
        super().__init__("the body is an error's")
        self.error, self.tokens = error, tokens


def parse_completion(body: bytes, largest_tokens: int = LARGEST) -> ParsedAnswer:
    """The parsed answer. Raises Failed if the body holds an error; ValueError, LookupError or RecursionError if it is
    not an answer."""
    completion = decode_completion(body)
    choice = choice_of(completion)
    if choice is None or (choice.finish_reason == ERROR and completion.error):
        raise Failed(completion.error, usage_of(completion.usage, "", largest_tokens)[0].completion_tokens)
    if choice.finish_reason == ERROR:
        error = choice.error or {"message": "the answer was broken off by an error"}
        raise Failed(error, usage_of(completion.usage, "", largest_tokens)[0].completion_tokens)
    text, text_from = text_of(choice.message)
    usage, missing = usage_of(completion.usage, text, largest_tokens)
    reason = choice.finish_reason
    finish = FINISHES.get(reason.casefold()) if isinstance(reason, str) else None
    refusal = choice.message.refusal
    if isinstance(refusal, str) and refusal.strip():
        text, finish = text or refusal, "refusal"
    elif finish is None:
        finish = "complete" if text.strip() else "empty"
    id_ = completion.id if isinstance(completion.id, str | int) else None
    reasoning = None if text_from == "reasoning" else reasoning_of(choice.message)
    return ParsedAnswer(text, finish, usage, None if id_ is None else str(id_), text_from, reasoning, missing)


def decode_completion(body: bytes) -> Completion:
    """The completion. Lone surrogates and huge numbers, which strict readers refuse, are kept as written, so that an
    answer that was paid for is not lost. Raises ValueError (msgspec's errors are such) if it is not a completion."""
    try:
        return DECODER.decode(body)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.convert(escape_lone_surrogates(json.loads(body.decode("utf-8-sig"))), Completion)


def choice_of(completion: Completion) -> Choice | None:
    """The first choice; None if there is an error instead. Raises ValueError or LookupError if there is neither."""
    if isinstance(completion.choices, list) and completion.choices:
        try:
            return msgspec.convert(completion.choices[0], Choice)
        except msgspec.ValidationError:
            first = completion.choices[0]
            error = first.get("error") if isinstance(first, dict) else None
            if not (error or completion.error):
                raise
            completion.error = completion.error or error
            return None
    if completion.error:
        return None
    raise LookupError("there is no choice")


def text_of(message: Message) -> tuple[str, str]:
    """The answer's text and the field that held it: the content, else the arguments of the only function call, else an
    answer within the reasoning."""
    text = text_of_content(message.content)
    if text.strip():
        return text, "content"
    calls = message.tool_calls if isinstance(message.tool_calls, list) else []
    functions = [call.get("function") for call in calls if isinstance(call, dict)] or [message.function_call]
    arguments = functions[0].get("arguments") if len(functions) == 1 and isinstance(functions[0], dict) else None
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments, ensure_ascii=False)
    if isinstance(arguments, str) and arguments.strip():
        return arguments, "tool_calls"
    thought = reasoning_of(message)
    return (thought, "reasoning") if thought and objects_in(thought) else (text, "content")


def text_of_content(content: Any) -> str:
    """The text of a message's content: a text, a list of parts (parts with reasoning are left out), or the answer's
    JSON itself."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict) and not thinks(part))
    if isinstance(content, dict):
        return json.dumps(content, ensure_ascii=False)
    return content if isinstance(content, str) else ""


def thinks(part: dict[str, Any]) -> bool:
    """True for a part of a content that holds reasoning."""
    return part.get("type") in THINKING


def reasoning_of(message: Message) -> str | None:
    """The model's reasoning, if the server gives it apart from the answer; else None."""
    fields = (getattr(message, name) for name in THINKING)
    texts = [field for field in fields if isinstance(field, str) and field.strip()][:1]
    if isinstance(message.content, list):
        parts = [value for value in message.content if isinstance(value, dict) and thinks(value)]
        texts += [thought for part in parts if (thought := thought_in(part))]
    return "\n".join(texts) or None


def thought_in(part: dict[str, Any]) -> str:
    """The text of a part that holds reasoning; the part may be a list of parts itself."""
    values = [part.get(name) for name in ("text", *THINKING)]
    texts = [value for value in values if isinstance(value, str)]
    nested = [item for value in values if isinstance(value, list) for item in value if isinstance(item, dict)]
    return "".join(texts + [str(row.get("text") or "") for row in nested])


def usage_of(stated: Any, text: str, largest: int) -> tuple[Usage, tuple[str, ...]]:
    """The usage, and the names of its missing or impossible numbers, which are set to zero."""
    values = stated if isinstance(stated, dict) else {}
    prompt = number(values.get("prompt_tokens"), 1, largest)
    completion = number(values.get("completion_tokens"), 1 if text.strip() else 0, largest)
    details = values.get("prompt_tokens_details")
    cached = number(details.get("cached_tokens"), 1, largest) if isinstance(details, dict) else None
    cached = cached or number(values.get("prompt_cache_hit_tokens"), 1, largest) or 0
    named = {"prompt_tokens": prompt, "completion_tokens": completion}
    missing = tuple(name for name, value in named.items() if value is None)
    usage = Usage(prompt_tokens=prompt or 0, completion_tokens=completion or 0, cached_tokens=min(cached, prompt or 0))
    return usage, missing


def number(value: Any, least: int, most: int) -> int | None:
    """A count of tokens, written as a number or as text; None if it is missing or impossible."""
    if isinstance(value, str) and len(value) < 30 and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most else None
