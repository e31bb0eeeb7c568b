"""Stored answers: how the ledger keeps an answer, and how it is read back."""

import hashlib
import sqlite3
import time
from dataclasses import dataclass
from typing import Any

from openclawbench.errors import LedgerError
from openclawbench.judge.protocol import AnswerCheck
from openclawbench.judge.transport.chat_request import KEY_LIMIT, ChatRequest
from openclawbench.judge.transport.protocol import HttpResponse, ParsedAnswer
from openclawbench.rules.judge.asking import AskingRules
from openclawbench.rules.judge.prices import Price


@dataclass(frozen=True)
class StoredAnswer:
    """An answer of the ledger."""

    key: bytes
    finish: str
    response: bytes
    request_id: str | None
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost_usd: float
    answer_limit: int | None = None  # tokens that the answer might have; None: as KEY_LIMIT of chat_request.py
    usage_estimated: bool = False  # the endpoint did not state its usage, or one that cannot be
    parsed: ParsedAnswer | None = None  # where it was just received; not a column


def now() -> float:
    """Seconds since 1970, to the millisecond. They stay in the ledger."""
    return round(time.time(), 3)


def storable(text: str) -> str:
    """Text as a database takes it: bytes of a header or a file name that are not UTF-8 are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def read_stored_answer(connection: sqlite3.Connection, key: bytes) -> StoredAnswer | None:
    """The answer to a request by its key; None if the ledger does not have it. Raises LedgerError if the response no
    longer has the digest that was recorded when it was received."""
    cursor = connection.execute("select * from answers where key = ?", (key,))
    row = cursor.fetchone()
    if row is None:
        return None
    values = {column[0]: value for column, value in zip(cursor.description, row, strict=True)}
    digest = values.get("response_sha256")
    if digest is not None and hashlib.sha256(values["response"]).digest() != digest:
        raise LedgerError(
            f"the ledger's answer {key.hex()} ({values['trajectory_id']}) was altered: it is not what was received, "
            "and is not used. `openclawbench ledger verify` lists every such answer; put a copy of the ledger in its "
            "place."
        )
    names = [name for name in StoredAnswer.__dataclass_fields__ if name in values]
    return StoredAnswer(**{name: values[name] for name in names if values[name] is not None or name == "request_id"})


def answer_to(connection: sqlite3.Connection, request: ChatRequest) -> StoredAnswer | None:
    """The answer to a request; None if the ledger does not have it. Keys of former versions also covered the limit of
    the answer."""
    answer = read_stored_answer(connection, request.key)
    return read_stored_answer(connection, request.former_key) if answer is None and request.has_former_key else answer


def answer_row(
    stored: StoredAnswer,
    about: dict[str, Any],
    attempts: int,
    latency: float,
    options_text: str,
    corrects: bytes | None,
) -> tuple[Any, ...]:
    """The columns of sqlite_file.ANSWER. `about`: stage, model, trajectory_id, packet_sha256, request_bytes."""
    return (
        stored.key,
        about["stage"],
        about["model"],
        storable(about["trajectory_id"]),
        about["packet_sha256"],
        stored.finish,
        stored.response,
        stored.request_id,
        stored.prompt_tokens,
        stored.cached_tokens,
        stored.completion_tokens,
        stored.cost_usd,
        about["request_bytes"],
        attempts,
        round(latency, 4),
        now(),
        options_text,
        corrects,
        hashlib.sha256(stored.response).digest(),
        stored.answer_limit,
        int(stored.usage_estimated),
    )


def was_cut_off_sooner(check: AnswerCheck, last: StoredAnswer, request: ChatRequest) -> bool:
    """True if an answer was cut off at a lower limit than the present one."""
    return check.settled_as == "truncated" and (last.answer_limit or KEY_LIMIT) < request.parameters.max_output_tokens


def stored_answer(
    key: bytes,
    received: HttpResponse,
    finish: str | None,
    price: Price,
    rules: AskingRules,
    request_bytes: int,
    limit: int,
) -> StoredAnswer:
    """An answer as it is kept. `finish`: given for a refused question, else taken from the answer. Missing or
    impossible usage is estimated from the bytes, on the safe side, and marked; an answer that was cut off counts as its
    limit."""
    parsed_answer = received.parsed
    request_id = None if received.request_id is None else storable(received.request_id)
    if parsed_answer is None or finish is not None:
        assert finish is not None
        return StoredAnswer(key, finish, received.body, request_id, 0, 0, 0, 0.0, limit)
    usage = parsed_answer.usage
    prompt, cached, completion = usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens
    bytes_per_token = rules.estimate.bytes_per_token_reserved
    if "prompt_tokens" in parsed_answer.missing:
        prompt = int(request_bytes / bytes_per_token) + 1
    if "completion_tokens" in parsed_answer.missing:
        written = len(parsed_answer.text.encode()) + len((parsed_answer.reasoning or "").encode())
        completion = limit if parsed_answer.finish == "truncated" else min(limit, int(written / bytes_per_token) + 1)
    cost = price.of(prompt, cached, completion)
    request_id = request_id or (None if parsed_answer.id is None else storable(parsed_answer.id))
    tokens = (prompt, cached, completion)
    return StoredAnswer(
        key,
        parsed_answer.finish,
        received.body,
        request_id,
        *tokens,
        cost,
        limit,
        bool(parsed_answer.missing),
        parsed_answer,
    )
