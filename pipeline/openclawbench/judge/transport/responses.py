"""Classifying a response: an answer, a failure that may pass, or a refusal."""

import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from openclawbench.judge.transport.completion import Failed, parse_completion
from openclawbench.judge.transport.endpoint import printable_url
from openclawbench.judge.transport.protocol import HttpResponse, RejectedRequest, TransientError
from openclawbench.judge.transport.secrets import NONE, Secrets
from openclawbench.rules.judge.asking import AskingRules

LONGEST_MESSAGE = 500  # characters of an endpoint's own words that are shown
STATUS_FIELDS = ("status", "status_code", "http_status", "code")


def check_response(
    status: int, headers: Mapping[str, str], body: bytes, rules: AskingRules, secrets: Secrets = NONE
) -> HttpResponse:
    """Check a response and return it parsed.

    Raises TransientError for a failure that may pass and RejectedRequest for any other. An error that a gateway sends
    with status 200 counts as the status that it names. Every body with status 200 is kept verbatim."""
    request_id = secrets.shown_text(headers["x-request-id"]) if headers.get("x-request-id") else None
    if status != 200:
        raise failure(status, secrets.shown(body), headers, rules, request_id)
    stored_body = secrets.storable(body)
    try:
        return HttpResponse(stored_body, headers, parse_completion(stored_body, rules.usage.largest_tokens), request_id)
    except Failed as error:
        named = msgspec.json.encode({"error": error.error})
        failed = failure(status_of(error.error, rules), secrets.shown(named), headers, rules, request_id)
        if isinstance(failed, TransientError):
            failed.body, failed.may_be_paid = stored_body, error.tokens > 0
        raise failed from error
    except (ValueError, LookupError, RecursionError) as error:
        words = secrets.shown_text(one_line(stored_body[:LONGEST_MESSAGE].decode("utf-8", "replace")))
        raise TransientError("broken_body", may_be_paid=True, words=words, body=stored_body) from error


def failure(
    status: int | None, body: bytes, headers: Mapping[str, str], rules: AskingRules, request_id: str | None
) -> TransientError | RejectedRequest:
    """The failure or refusal behind an error. `status` None: an unknown error under status 200 that names no status."""
    message = message_in(body)
    if status is None and not rules.is_fatal(message):
        return TransientError("error_in_answer", words=message)
    number = status or 402
    if rules.is_fatal(message) or not (number in rules.retry.statuses or number >= 500):
        if 300 <= number < 400 and headers.get("location"):
            message = one_line(f"it redirects to {target(headers['location'])}, which is not followed. {message}")
        return RejectedRequest(number, message, body, headers, request_id)
    return TransientError(f"status_{number}", retry_after=retry_after(headers), words=message)


def target(location: str) -> str:
    """The target of a redirect, without user, password and query."""
    return printable_url(location) if "://" in location else location.partition("?")[0]


def status_of(error: Any, rules: AskingRules) -> int | None:
    """The status that an error under status 200 names, in its fields or its message; None if it names no status."""
    fields = [error.get(name) for name in STATUS_FIELDS] if isinstance(error, dict) else [error]
    for value in fields:
        number = int(value) if isinstance(value, str) and value.strip().isdecimal() and len(value) < 9 else value
        if isinstance(number, int) and 400 <= number <= 599:
            return number
    return rules.status_named_in(message_in(msgspec.json.encode({"error": error})))


def message_in(body: bytes) -> str:
    """An endpoint's message about an error, with code and parameter, on one line."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = body.decode("utf-8", "replace")
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        named = [error.get(name) for name in ("message", "code", "param", "type", "detail")]
        error = " ".join(str(part) for part in named if part)
    return one_line(str(error))


def one_line(words: str) -> str:
    """An endpoint's message on one line, cut to a readable length."""
    return " ".join(words.split())[:LONGEST_MESSAGE]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait: Retry-After-Ms, or Retry-After as seconds or as a date; None if neither holds a finite time."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            seconds = float(text) / unit
        except ValueError:
            try:
                seconds = parsedate_to_datetime(text).timestamp() - time.time()
            except (ValueError, OverflowError):
                continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None
