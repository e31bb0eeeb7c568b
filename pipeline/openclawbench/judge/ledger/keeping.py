"""What of an answer is kept, and what it came to: the row of the ledger."""

import hashlib
from typing import Any

from openclawbench.judge.client.messages import KEY_LIMIT, ChatRequest
from openclawbench.judge.client.transport import HttpResponse
from openclawbench.judge.ledger.ledger import now
from openclawbench.judge.ledger.stored import StoredAnswer, storable
from openclawbench.judge.protocol import AnswerCheck
from openclawbench.rules.asking import AskingRules
from openclawbench.rules.prices import Price


def answer_row(
    stored: StoredAnswer, about: dict[str, Any], attempts: int, latency: float, way: str, corrects: bytes | None
) -> tuple[Any, ...]:
    """The columns of ledger_file.ANSWER. `about`: stage, model, trajectory_id, packet_sha256, request_bytes."""
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
        way,
        corrects,
        hashlib.sha256(stored.response).digest(),
        stored.answer_limit,
        int(stored.usage_estimated),
    )


def was_cut_off_sooner(heard: AnswerCheck, last: StoredAnswer, request: ChatRequest) -> bool:
    """True for an answer that was cut off at a lower limit than the one that it may have now."""
    return heard.outcome == "truncated" and (last.answer_limit or KEY_LIMIT) < request.parameters.max_output_tokens


def stored_answer(
    key: bytes,
    received: HttpResponse,
    finish: str | None,
    price: Price,
    rules: AskingRules,
    request_bytes: int,
    limit: int,
) -> StoredAnswer:
    """An answer as it is kept: `finish` of a refused question, else what the answer says itself. Usage that was not
    stated, or that cannot be, is estimated from the bytes on the safe side, and marked; an answer that was cut off
    counts as its limit."""
    found = received.parsed
    request_id = None if received.request_id is None else storable(received.request_id)
    if found is None or finish is not None:
        assert finish is not None
        return StoredAnswer(key, finish, received.body, request_id, 0, 0, 0, 0.0, limit)
    usage = found.usage
    prompt, cached, completion = usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens
    each = rules.estimate.bytes_per_token_reserved
    if "prompt_tokens" in found.missing:
        prompt = int(request_bytes / each) + 1
    if "completion_tokens" in found.missing:
        written = len(found.text.encode()) + len((found.reasoning or "").encode())
        completion = limit if found.finish == "truncated" else min(limit, int(written / each) + 1)
    cost = price.of(prompt, cached, completion)
    request_id = request_id or (None if found.id is None else storable(found.id))
    tokens = (prompt, cached, completion)
    return StoredAnswer(key, found.finish, received.body, request_id, *tokens, cost, limit, bool(found.missing), found)
