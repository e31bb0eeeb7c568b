"""The parts of asking: limits, budget, retries, what a response means, what an endpoint accepts, keys of requests."""

import asyncio
import json
import random
import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from openclawbench.errors import BudgetReached, EndpointFailing, UsageError
from openclawbench.judge.client.budget import Budget
from openclawbench.judge.client.rate_limit import RateLimits, TokenBucket, duration
from openclawbench.judge.protocol import Question
from openclawbench.judge.retry import CircuitBreaker, RetryPolicy
from openclawbench.judge.settings import AskingSettings
from openclawbench.judge.transport.chat_request import chat_request, corrective, messages_of
from openclawbench.judge.transport.completion import parse_completion
from openclawbench.judge.transport.endpoint import Endpoint, printable_url
from openclawbench.judge.transport.protocol import RejectedRequest, TransientError
from openclawbench.judge.transport.request_options import RequestOptions
from openclawbench.judge.transport.responses import check_response, message_in, retry_after
from openclawbench.rules.judge.asking import AskingRules
from openclawbench.rules.judge.prices import Price, PriceRules
from openclawbench.rules.judge.request import RequestRules
from openclawbench.workspace.judges import price_of

RULES = AskingRules.load()
REQUEST = RequestRules.load()
QUESTION = Question("a", '{"trajectory_id":"t"}', None, "stage_a", "a/v1", "Judge.", "t", "p" * 64, "q" * 64)
SCHEMA = '{"type":"object"}'


# ----------------------------------------------------------------------------------------------------------- requests
def key_of(**changes: Any) -> bytes:
    inputs = {
        "model": "m",
        "parameters": REQUEST,
        "messages": messages_of(QUESTION),
        "schema_id": "stage_a",
        "schema": SCHEMA,
        "packet_sha256": "p",
    }
    return chat_request(**(inputs | changes)).key


def test_everything_that_is_meant_is_in_the_key() -> None:
    others = [
        key_of(model="n"),
        key_of(parameters=REQUEST.model_copy(update={"temperature": 1.0})),
        key_of(parameters=REQUEST.model_copy(update={"seed": 2})),
        key_of(messages=[*messages_of(QUESTION), {"role": "user", "content": "more"}]),
        key_of(schema='{"type":"array"}'),
        key_of(packet_sha256="q"),
    ]
    assert len({key_of(), *others}) == 7
    assert key_of() == key_of(schema_id="another name of the same schema")


def test_the_key_of_a_request_is_the_same_for_ever() -> None:
    """Answers that were paid for are found under it: when this fails, a change has made every ledger worthless."""
    fixed = RequestRules(version="1", temperature=0.0, seed=1, max_output_tokens=100)
    message = {"role": "user", "content": "ä"}
    request = chat_request("m", fixed, [message], "s", SCHEMA, "p")
    assert request.former_key.hex() == "524b0bf331369758715de2ca35046d8ed7481f5531bbf9030f7bf1853cf4f9da"
    usual = chat_request("m", fixed.model_copy(update={"max_output_tokens": 8192}), [message], "s", SCHEMA, "p")
    assert usual.key.hex() == "70a95c67220aac1c5eeb18a9ae12d5753ab88c318bdc72d984e6eb479350a7da"
    assert usual.key == usual.former_key == request.key, "the limit of the answer is no part of what is asked"
    assert request.in_round(0) == request and request.in_round(1).key not in (request.key, request.in_round(2).key)


def test_instructions_come_first_then_the_material_then_earlier_answers() -> None:
    question = Question("b1", '{"x":1}', '{"a":null}', "stage_b1", "b1/v1", "Judge.")
    system, user = messages_of(question)
    assert system == {"role": "system", "content": "Judge."}
    assert user["content"].index("BEGIN PACKET") < user["content"].index("BEGIN PREVIOUS")
    again = corrective([system, user], None, "It was cut off.", "Once more.")
    assert [entry["role"] for entry in again] == ["system", "user"] and "BEGIN FORMER" not in again[1]["content"]
    assert again[1]["content"].startswith(user["content"])
    assert "BEGIN FORMER" in corrective([system, user], "{", "no JSON", "Once more.")[1]["content"]


def test_what_is_shared_comes_first_then_what_a_stage_says_then_the_material() -> None:
    questions = [
        Question(
            stage, '{"trajectory_id":"t"}', previous, "s", "v", f"Stage {stage}.", "t", shared="All.", sent_id="t-1"
        )
        for stage, previous in (("a", None), ("b1", '{"a":{"trajectory_id":"t","evidence_steps":[]}}'))
    ]
    first, second = ([message["content"] for message in messages_of(question)] for question in questions)
    assert (first[0], second[0]) == ("All.\nStage a.", "All.\nStage b1.")
    assert second[1].startswith(first[1]) and "PREVIOUS" in second[1]
    assert '"trajectory_id":"t-1"' in first[1] and '"t"' not in second[1]


def test_a_way_leaves_out_what_is_refused_one_after_the_other() -> None:
    request = chat_request("m", REQUEST, messages_of(QUESTION), "stage_a", SCHEMA, "p")
    way = RequestOptions()
    body = way.body(request, "Schema:")
    assert body["response_format"]["json_schema"]["strict"] is True
    assert (body["temperature"], body["seed"], body["max_completion_tokens"]) == (0.0, 1, 8192)
    objects = way.without("structured_output")
    assert objects is not None and objects.body(request, "Schema:")["response_format"] == {"type": "json_object"}
    text = objects.without("structured_output")
    assert text is not None and text.without("structured_output") is None
    plain = text.body(request, "Schema:")
    assert "response_format" not in plain and plain["messages"][0]["content"].endswith(f"Schema:\n\n{SCHEMA}")
    assert plain["messages"][1] == body["messages"][1]
    for refused, name in (("temperature", "temperature"), ("seed", "seed")):
        other = way.without(refused)
        assert other is not None and name not in other.body(request, "") and other.without(refused) is None
    limits = [way, way.without("max_completion_tokens")]
    assert limits[1] is not None and limits[1].body(request, "")["max_tokens"] == 8192
    last = limits[1].without("max_completion_tokens")
    assert last is not None and last.limit is None and last.without("max_completion_tokens") is None
    assert RequestOptions.from_text(last.text) == last


@pytest.mark.parametrize(
    ("message", "refused"),
    [
        ("Unsupported value: 'temperature' does not support 0 with this model.", "temperature"),
        ("Unrecognized request argument supplied: seed", "seed"),
        ("This response_format type is unavailable now", "structured_output"),
        ("Invalid schema for response_format 'stage_a'", "structured_output"),
        ("Unsupported parameter: 'max_tokens' is not supported with this model.", "max_completion_tokens"),
        ("messages must not be empty", None),
    ],
)
def test_what_an_endpoint_refuses_is_known_by_its_words(message: str, refused: str | None) -> None:
    assert RULES.adaptation_for(message) == refused


# ---------------------------------------------------------------------------------------------------------- responses
def completion(**message: Any) -> bytes:
    finish = message.pop("finish_reason", "stop")
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}
    return json.dumps({"id": "c", "choices": [{"message": message, "finish_reason": finish}], "usage": usage}).encode()


@pytest.mark.parametrize(
    ("body", "finish", "text"),
    [
        (completion(content="{}"), "complete", "{}"),
        (completion(content="{", finish_reason="length"), "truncated", "{"),
        (completion(content=None, refusal="no"), "refusal", "no"),
        (completion(content=None), "empty", ""),
        (completion(content=" \n"), "empty", " \n"),
        (completion(content="", finish_reason="content_filter"), "content_filter", ""),
        (completion(content=[{"type": "text", "text": "{"}, {"type": "text", "text": "}"}]), "complete", "{}"),
        (completion(content="half \ud83d emoji"), "complete", "half \\ud83d emoji"),
    ],
)
def test_how_an_answer_ended(body: bytes, finish: str, text: str) -> None:
    parsed = check_response(200, {}, body, RULES).parsed
    assert parsed is not None and (parsed.finish, parsed.text) == (finish, text)
    assert parsed == parse_completion(body)
    assert parsed.usage.model_dump() == {"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 4}


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"choices": []}', b'{"error": {}}', completion(content="{}")[:-3]]
)
def test_a_200_without_a_whole_answer_may_pass_and_may_be_paid(body: bytes) -> None:
    with pytest.raises(TransientError, match="broken_body") as raised:
        check_response(200, {}, body, RULES)
    assert raised.value.may_be_paid


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_what_is_tried_again(status: int) -> None:
    with pytest.raises(TransientError, match=f"status_{status}"):
        check_response(status, {}, b"", RULES)


@pytest.mark.parametrize("status", [301, 400, 401, 402, 403, 404, 413, 422])
def test_what_is_not(status: int) -> None:
    with pytest.raises(RejectedRequest):
        check_response(status, {}, b"", RULES)


def test_an_empty_account_is_no_passing_429() -> None:
    body = b'{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}'
    with pytest.raises(RejectedRequest, match="insufficient_quota"):
        check_response(429, {"retry-after": "1"}, body, RULES)


def test_retry_after_in_seconds_milliseconds_and_as_a_date() -> None:
    assert retry_after({}) is None
    assert retry_after({"retry-after": "7"}) == 7.0
    assert retry_after({"retry-after-ms": "1500", "retry-after": "7"}) == 1.5
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 25.0 < (retry_after({"retry-after": later}) or 0.0) <= 30.0
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert retry_after({"retry-after": "soon"}) is None


def test_words_of_an_endpoint_are_cut_and_on_one_line() -> None:
    assert message_in(b'{"error": {"message": "a\\nb", "code": "c"}}') == "a b c"
    assert message_in(b'{"detail": "d"}') == "d"
    assert message_in(b"<html>\n<p>oh</p>") == "<html> <p>oh</p>"
    assert len(message_in(b"x" * 10_000)) == 500


# ------------------------------------------------------------------------------------------------------------- limits
@pytest.mark.parametrize("per_minute", [10, 60, 500, 3000])
def test_no_minute_holds_more_than_was_stated_however_requests_come(per_minute: int) -> None:
    """Requests come as fast as they may, with pauses, and reach the endpoint up to a second late."""
    pace, now, sent = TokenBucket(per_minute, RULES.limits), 0.0, []
    chance = random.Random(per_minute)
    while now < 300.0:
        if (wait := pace.wait(1, now)) > 0.0:
            now += wait
            continue
        sent.append(now + chance.random())
        if chance.random() < 2 / per_minute:
            now += chance.random() * 20.0
    sent.sort()
    most = max(sum(1 for other in sent[i : i + per_minute + 2] if other < entry + 60.0) for i, entry in enumerate(sent))
    assert per_minute * 0.7 < most <= per_minute


def test_tokens_are_counted_as_estimated_and_corrected() -> None:
    clock = [0.0]
    limits = RateLimits(None, 6000, RULES.limits, 600.0, lambda: clock[0])
    assert limits.wait(1000) == 0.0
    assert limits.wait(1000) == pytest.approx(1000 * 62 / 6000 - 0.5)
    limits.correct(1000, 500)
    assert limits.wait(1000) == pytest.approx(500 * 62 / 6000 - 0.5)


def test_headers_lower_a_limit_and_pause_when_nothing_remains() -> None:
    clock = [0.0]
    limits = RateLimits(600, None, RULES.limits, 600.0, lambda: clock[0])
    limits.learn({"x-ratelimit-limit-requests": "60", "x-ratelimit-limit-tokens": "100000"})
    assert limits.requests is not None and limits.requests.per_minute == 60
    assert limits.tokens is not None and limits.tokens.per_minute == 100_000
    limits.learn({"x-ratelimit-limit-requests": "6000", "x-ratelimit-remaining-requests": "3"})
    assert limits.requests.per_minute == 60 and limits.wait(1) == 0.0
    limits.learn({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m30s"})
    assert limits.wait(1) == 90.0
    limits.pause(10_000.0)
    assert limits.wait(1) == 600.0


@pytest.mark.parametrize(
    ("text", "seconds"), [("6m0s", 360.0), ("20ms", 0.02), ("1h2m3.5s", 3723.5), ("7", 7.0), ("", 0.0), ("soon", 0.0)]
)
def test_durations_of_rate_limit_headers(text: str, seconds: float) -> None:
    assert duration(text) == pytest.approx(seconds)


# -------------------------------------------------------------------------------------------------------------- money
def test_a_budget_waits_for_what_is_in_flight_and_ends_when_nothing_is() -> None:
    async def run() -> None:
        price = Price(input=1.0, cached=0.1, output=2.0)
        each = price.of(1001, 0, REQUEST.max_output_tokens)
        budget = Budget(each * 2.5, None, price, (0.0, 0), RULES.estimate, REQUEST)
        first, second = await budget.reserve(2000), await budget.reserve(2000)
        third = asyncio.create_task(budget.reserve(2000))
        await asyncio.sleep(0)
        assert not third.done()
        budget.settle(first, each * 0.1, 100)
        budget.settle(await third, each, 10)
        budget.settle(second, each, 10)
        assert budget.spent_usd <= each * 2.5
        with pytest.raises(BudgetReached, match=r"Raise --budget-usd"):
            await budget.reserve(2000)

    asyncio.run(run())


def test_tokens_have_a_budget_of_their_own_and_what_was_spent_before_counts() -> None:
    async def run() -> None:
        budget = Budget(None, 100_000, Price(0.0, 0.0, 0.0), (0.0, 95_000), RULES.estimate, REQUEST)
        with pytest.raises(BudgetReached, match="95000 tokens"):
            await budget.reserve(2000)

    asyncio.run(run())


def test_calls_that_were_lost_count_as_the_most_that_they_can_have_come_to() -> None:
    async def run() -> None:
        price = Price(input=1.0, cached=0.1, output=2.0)
        each = price.of(1001, 0, REQUEST.max_output_tokens)
        budget = Budget(each * 2.5, None, price, (0.0, 0), RULES.estimate, REQUEST)
        budget.add_lost_call(2000)
        reserved = await budget.reserve(2000)
        budget.check_retry(2000)
        budget.add_lost_call(2000)
        with pytest.raises(BudgetReached, match=r"for 2 calls without an answer"):
            budget.check_retry(2000)
        budget.settle(reserved, each * 0.1, 100)
        with pytest.raises(BudgetReached):
            await budget.reserve(2000)

    asyncio.run(run())


def test_prices_are_found_by_the_longest_name_and_cached_tokens_are_cheaper() -> None:
    prices = PriceRules.load()
    assert prices.of("gpt-4o-mini-2024-07-18") == Price(0.15, 0.075, 0.6)
    assert prices.of("unheard-of") is None
    assert all(re.search(r"\b20\d\d\b", entry.source) for entry in prices.price), "a price without its date"
    assert Price(1.0, 0.5, 2.0).of(1_000_000, 400_000, 500_000) == pytest.approx(0.6 + 0.2 + 1.0)


def test_a_price_comes_from_flags_the_table_or_this_machine() -> None:
    far, near = Endpoint("https://judge.invalid/v1", "k"), Endpoint("http://localhost:1/v1", None)
    assert price_of("gpt-4o", AskingSettings(), far) == Price(2.5, 1.25, 10.0)
    assert price_of("gpt-4o", AskingSettings(price_in=1.0), far) == Price(1.0, 1.0, 10.0)
    assert price_of("x", AskingSettings(), near) == Price(0.0, 0.0, 0.0)
    assert price_of("x", AskingSettings(price_in=1.0, price_out=2.0), far) == Price(1.0, 1.0, 2.0)
    assert price_of("x", AskingSettings(price_in=0.0, price_out=0.0, budget_usd=1.0), near) == Price(0.0, 0.0, 0.0)
    with pytest.raises(UsageError, match="its price is not known"):  # a budget rests on a price that somebody stated
        price_of("x", AskingSettings(budget_usd=1.0), near)
    for settings in (AskingSettings(), AskingSettings(price_in=1.0), AskingSettings(price_out=1.0)):
        with pytest.raises(UsageError, match="its price is not known"):
            price_of("x", settings, far)


# ------------------------------------------------------------------------------------------------------------ retries
def attempts_until(failures: list[TransientError], **rules: Any) -> tuple[Any, list[float]]:
    """What a request that fails so comes to, and how long was waited."""
    left, naps = failures[1:], []

    async def attempt() -> str:
        if left:
            raise left.pop(0)
        return "answer"

    async def sleep(seconds: float) -> None:
        naps.append(seconds)

    patience = RetryPolicy(RULES.retry.model_copy(update=rules))
    try:
        return asyncio.run(patience.retry(failures[0], attempt, sleep)), naps
    except TransientError as last:
        return last.reason, naps


def test_failures_are_waited_out_with_jitter_and_retry_after_is_honoured() -> None:
    random.seed(3)
    result, naps = attempts_until(
        [TransientError("status_503"), TransientError("timeout"), TransientError("status_429", False, 20.0)]
    )
    assert result == "answer" and len(naps) == 3
    assert naps[0] <= RULES.retry.first_wait_s and naps[1] <= 2 * RULES.retry.first_wait_s
    assert 20.0 <= naps[2] <= 20.0 + RULES.retry.longest_wait_s


def test_patience_ends_but_not_with_an_endpoint_that_is_busy() -> None:
    assert attempts_until([TransientError("timeout")] * 20, attempts=4)[0] == "timeout"
    assert len(attempts_until([TransientError("timeout")] * 20, attempts=4)[1]) == 3
    assert attempts_until([TransientError("status_429")] * 20, attempts=4)[0] == "answer"
    assert attempts_until([TransientError("status_429")] * 20, patience_s=-1.0)[0] == "status_429"


def test_the_breaker_counts_failures_in_a_row() -> None:
    breaker = CircuitBreaker(2, RULES.retry.model_copy(update={"breaker_least": 4, "breaker_per_slot": 1}))
    for _ in range(10):
        for _ in range(3):
            breaker.record_failure(TransientError("status_500"))
        breaker.record_failure(TransientError("status_429"))
        breaker.record_success()
    for _ in range(3):
        breaker.record_failure(TransientError("status_500"))
    with pytest.raises(EndpointFailing, match="4 times in a row"):
        breaker.record_failure(TransientError("timeout"))
    with pytest.raises(EndpointFailing, match="wait 5000 s"):
        CircuitBreaker(2, RULES.retry).record_failure(TransientError("status_429", retry_after=5000.0))


# ---------------------------------------------------------------------------------------------------------- addresses
def test_who_asks_comes_from_the_environment_and_is_never_printed() -> None:
    environment = {
        "OPENAI_API_KEY": "sk-1",
        "OPENAI_BASE_URL": "https://judge.invalid/v1/",
        "OPENAI_ORG_ID": "org",
        "OPENAI_PROJECT_ID": "proj",
        "OPENAI_CUSTOM_HEADERS": "X-One: 1\nX-Two: 2:3",
    }
    endpoint = Endpoint.from_environment(None, RULES, environment)
    assert endpoint.base_url == "https://judge.invalid/v1"
    assert endpoint.headers() == {
        "Authorization": "Bearer sk-1",
        "OpenAI-Organization": "org",
        "OpenAI-Project": "proj",
        "X-One": "1",
        "X-Two": "2:3",
    }
    assert "sk-1" not in repr(endpoint) and endpoint.secrets(RULES).shown(b"Bearer sk-1") == b"Bearer [key]"
    assert Endpoint.from_environment("http://localhost:1", RULES, environment).base_url == "http://localhost:1"
    assert Endpoint.from_environment(None, RULES, {"OPENAI_API_KEY": "k"}).base_url == RULES.connection.default_base_url


def test_a_key_is_needed_to_ask_and_not_to_know_the_price() -> None:
    for url in ("http://localhost:1", "http://127.0.0.1:1/v1"):
        Endpoint.from_environment(url, RULES, {}).check_key()
    Endpoint.from_environment("https://judge.invalid/v1", RULES, {"OPENAI_API_KEY": "k"}).check_key()
    without = Endpoint.from_environment("https://judge.invalid/v1", RULES, {})
    with pytest.raises(UsageError, match="Set OPENAI_API_KEY"):
        without.check_key()


@pytest.mark.parametrize(
    "url", ["judge.invalid/v1", "ftp://judge.invalid", "https://user:secret@judge.invalid/v1", "http://"]
)
def test_an_address_that_is_none_or_holds_a_password_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(UsageError) as raised:
        Endpoint.from_environment(url, RULES, {"OPENAI_API_KEY": "k"})
    assert "secret" not in str(raised.value)
    assert printable_url("https://user:secret@judge.invalid:8/v1?key=secret") == "https://judge.invalid:8/v1"
