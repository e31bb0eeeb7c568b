"""What a response means: an answer, a failure that may pass, or a refusal; and what stands in an answer."""

import json
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from pipeline.canonical import whole_characters
from pipeline.judge.transport import Parsed, Passing, Received, Refusal
from pipeline.records.fulltax import Usage
from pipeline.rules.asking import AskingRules

FINISHES = {"length": "truncated", "content_filter": "content_filter"}
LONGEST_MESSAGE = 500  # characters of an endpoint's own words that are shown


class Message(msgspec.Struct):
    """Of a choice. Some servers send a list of parts as content."""

    content: Any = None
    refusal: str | None = None


class Choice(msgspec.Struct):
    """One answer."""

    message: Message
    finish_reason: str | None = None


class Details(msgspec.Struct):
    """Of prompt tokens."""

    cached_tokens: int | None = None


class Tokens(msgspec.Struct):
    """Usage; the last field is what some endpoints call cached tokens."""

    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    prompt_tokens_details: Details | None = None
    prompt_cache_hit_tokens: int | None = None


class Completion(msgspec.Struct):
    """A chat completion, as far as it is read."""

    choices: list[Choice]
    id: str | None = None
    usage: Tokens | None = None


DECODER = msgspec.json.Decoder(Completion)


def checked(status: int, headers: Mapping[str, str], body: bytes, rules: AskingRules) -> Received:
    """A 200 with an answer in it. Raises Passing for what may pass, Refusal for the rest."""
    if status == 200:
        try:
            return Received(body, headers, parsed(body))
        except (ValueError, LookupError, RecursionError) as error:
            raise Passing("broken_body", may_be_paid=True) from error
    message = message_in(body)
    if rules.is_fatal(message) or not (status in rules.retry.statuses or status >= 500):
        raise Refusal(status, message, body, headers)
    raise Passing(f"status_{status}", may_be_paid=False, retry_after=retry_after(headers))


def parsed(body: bytes) -> Parsed:
    """Text, ending and usage of an answer. ValueError or LookupError where it is none."""
    completion = decoded(body)
    choice, tokens = completion.choices[0], completion.usage or Tokens()
    details = tokens.prompt_tokens_details
    cached = (details.cached_tokens if details else None) or tokens.prompt_cache_hit_tokens or 0
    usage = Usage(
        prompt_tokens=tokens.prompt_tokens or 0,
        completion_tokens=tokens.completion_tokens or 0,
        cached_tokens=min(cached, tokens.prompt_tokens or 0),
    )
    text = text_of(choice.message.content)
    finish = FINISHES.get(choice.finish_reason or "")
    if choice.message.refusal:
        text, finish = text or choice.message.refusal, "refusal"
    elif finish is None:
        finish = "complete" if text.strip() else "empty"
    return Parsed(text, finish, usage, completion.id)


def decoded(body: bytes) -> Completion:
    """The completion. Half an emoji, which strict readers refuse, is kept as its six characters; an answer that was
    paid for is not thrown away for it. ValueError (msgspec's are such) where it is none."""
    try:
        return DECODER.decode(body)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.convert(whole_characters(json.loads(body)), Completion)


def text_of(content: Any) -> str:
    """The text of a message's content, be it a text or a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def message_in(body: bytes) -> str:
    """What an endpoint says of an error, with its code and parameter, on one line."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = body.decode("utf-8", "replace")
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        named = [error.get(name) for name in ("message", "code", "param", "type", "detail")]
        error = " ".join(str(one) for one in named if one)
    return one_line(str(error))


def one_line(words: str) -> str:
    """An endpoint's own words on one line, cut to a readable length."""
    return " ".join(words.split())[:LONGEST_MESSAGE]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait: Retry-After-Ms, or Retry-After as seconds or as a date; null where neither says."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            return max(0.0, float(text) / unit)
        except ValueError:
            pass
        try:
            return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
        except ValueError:
            continue
    return None
