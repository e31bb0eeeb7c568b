"""What servers and gateways really answer: odd responses, errors under status 200, thinking models, impossible usage,
bodies without an end. An answer that was paid for is used once and kept as it came, and nothing hangs."""

import resource
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from asking import KEY, Endpoint, arguments, endpoint_process, fresh, ledger, rules
from child import Ended, call, table
from thorough import first

pytestmark = pytest.mark.slow

SESSIONS = 12
UNREAD = "parse_failure"  # of an answer that nobody could read: its trajectory goes to review


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    """The endpoint that answers as its script says, in place of the one of other modules."""
    with endpoint_process("faulty.py") as result:
        yield result


@pytest.fixture(scope="module")
def usual(endpoint: Endpoint, raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of stage A without a fault."""
    folder = tmp_path_factory.mktemp("usual")
    endpoint.script()
    data = fresh(folder)
    ended = asked(endpoint, data, raw, rules(folder))
    assert ended.status == 0, ended.err
    return data


def asked(endpoint: Endpoint, data: Path, raw: Path, env: dict[str, str], *more: str) -> Ended:
    """Stage A asked."""
    return call(*arguments(endpoint, data, raw, "--stage", "a", *more, verb="annotate"), env=env)


def decided(data: Path) -> list[tuple[str, str, Any]]:
    """What stage A came to: trajectory, outcome, answer."""
    return [(row["trajectory_id"], row["outcome"], row["answer"]) for row in table(data, "decision_a")]


def repaired_by(data: Path) -> list[set[str]]:
    """Ids of the repairs of each answer."""
    return [{repair["rule_id"] for repair in row["repairs"]} for row in table(data, "decision_a")]


def words(ended: Ended) -> str:
    """What a run says, on one line."""
    return " ".join(ended.err.split())


# ----------------------------------------------------------------------------------------------------------------- keys
@pytest.mark.parametrize("key", first(2, ["x", "null", "test", "EMPTY", "none", "a"]))
def test_a_key_that_stands_in_answers_by_chance_changes_none(
    key: str, endpoint: Endpoint, raw: Path, usual: Path, tmp_path: Path
) -> None:
    endpoint.script()
    ended = asked(endpoint, data := fresh(tmp_path), raw, rules(tmp_path) | {"OPENAI_API_KEY": key})
    assert ended.status == 0, ended.err
    assert decided(data) == decided(usual)
    assert ledger(data, "select key, response from answers order by key") == ledger(
        usual, "select key, response from answers order by key"
    )


def test_a_key_that_an_answer_repeats_reaches_no_file_and_the_answer_is_used(
    endpoint: Endpoint, raw: Path, usual: Path, tmp_path: Path
) -> None:
    endpoint.script(completion={"system_fingerprint": f"Bearer {KEY}"}, headers={"x-request-id": f"r-{KEY}"})
    ended = asked(endpoint, data := fresh(tmp_path), raw, rules(tmp_path))
    assert ended.status == 0, ended.err
    assert decided(data) == decided(usual)
    kept = [response for (response,) in ledger(data, "select response from answers")]
    assert len(kept) == SESSIONS and all(b"Bearer [key]" in entry for entry in kept)
    assert [path for path in data.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []


# ------------------------------------------------------------------------------------------- what would stop the writer
RAW = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nx-request-id: r\xff\xe9\r\nConnection: close\r\n\r\n{body}"
HUGE = {"prompt_tokens": 2**63, "completion_tokens": 2**70, "total_tokens": 1}


@pytest.mark.parametrize("script", [{"raw": RAW}, {"completion": {"usage": HUGE}}], ids=["header", "usage"])
@pytest.mark.parametrize("transport", ["aiohttp", "openai"])
def test_header_bytes_and_numbers_that_no_column_holds_stop_nothing(
    script: dict[str, Any], transport: str, endpoint: Endpoint, raw: Path, usual: Path, tmp_path: Path
) -> None:
    endpoint.script(**script)
    ended = asked(endpoint, data := fresh(tmp_path), raw, rules(tmp_path), "--transport", transport)
    assert ended.status == 0, ended.err
    assert decided(data) == decided(usual)
    assert endpoint.log()["calls"] == SESSIONS
    assert ledger(data, "select count(*) from answers where prompt_tokens between 1 and 100000000") == [(SESSIONS,)]


# ----------------------------------------------------------------------------------------------- odd, and yet an answer
ODD_RESPONSES: dict[str, dict[str, Any]] = {
    "number_as_id": {"completion": {"id": 12345}},
    "no_id": {"completion": {"id": None, "object": None, "created": "today", "model": 7}},
    "refusal_false": {"message": {"refusal": False}},
    "refusal_empty": {"message": {"refusal": ""}},
    "details_as_list": {
        "completion": {"usage": {"prompt_tokens": 9, "completion_tokens": 9, "prompt_tokens_details": [1]}}
    },
    "details_as_text": {
        "completion": {"usage": {"prompt_tokens": 9, "completion_tokens": 9, "prompt_tokens_details": "none"}}
    },
    "usage_in_text": {"completion": {"usage": {"prompt_tokens": "1500", "completion_tokens": "300"}}},
    "usage_as_text": {"completion": {"usage": "1800 tokens"}},
    "finish_unknown": {"choice": {"finish_reason": 0, "index": "first"}},
    "error_null": {"completion": {"error": {}}},
}


@pytest.mark.parametrize("kind", first(4, ODD_RESPONSES))
def test_an_odd_response_with_an_answer_in_it_is_used_once(
    kind: str, endpoint: Endpoint, raw: Path, usual: Path, tmp_path: Path
) -> None:
    endpoint.script(**ODD_RESPONSES[kind])
    ended = asked(endpoint, data := fresh(tmp_path), raw, rules(tmp_path))
    assert ended.status == 0, ended.err
    assert decided(data) == decided(usual)
    assert endpoint.log()["calls"] == SESSIONS
    assert ledger(data, "select count(*) from answers") == [(SESSIONS,)]
    assert call("ledger", "verify", "--data", data).status == 0


def test_a_response_that_is_no_answer_is_kept_as_it_came(endpoint: Endpoint, raw: Path, tmp_path: Path) -> None:
    endpoint.script(body={"text": "<html>welcome</html>"}, first=1)
    ended = asked(endpoint, data := fresh(tmp_path), raw, rules(tmp_path))
    assert ended.status == 0, ended.err
    assert set(ledger(data, "select reason, response from unread")) == {("broken_body", b"<html>welcome</html>")}
    assert ledger(data, "select count(*) from unread") == [(SESSIONS,)]
    assert call("ledger", "stats", "--data", data, "--json").json["unread_responses"] == [
        {"reason": "broken_body", "responses": SESSIONS}
    ]


# ---------------------------------------------------------------------------------------------- errors under status 200
BUSY = {"error": {"message": "Rate limit exceeded: slow down", "code": 429}}
IN_CHOICE = [{"index": 0, "error": {"code": 502, "message": "Provider went away"}, "finish_reason": "error"}]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ({"body": {"json": BUSY}}, "status_429"),
        (
            {"body": {"json": {"error": {"message": "The model is overloaded", "type": "overloaded_error"}}}},
            "status_503",
        ),
        ({"body": {"json": {"error": "upstream timed out"}}}, "status_504"),
        ({"body": {"json": {"choices": IN_CHOICE, "error": None}}}, "status_502"),
        ({"choice": {"finish_reason": "error"}, "message": {"content": ""}}, "error_in_answer"),
    ],
    ids=["429", "503", "504", "in_choice", "finish_reason"],
)
def test_an_error_under_status_200_that_may_pass_is_tried_again(
    script: dict[str, Any], reason: str, endpoint: Endpoint, raw: Path, usual: Path, tmp_path: Path
) -> None:
    endpoint.script(**script, first=1)
    ended = asked(endpoint, data := fresh(tmp_path), raw, rules(tmp_path, breaker_least=40))
    assert ended.status == 0, ended.err
    assert decided(data) == decided(usual)
    assert set(ledger(data, "select reason from unread")) == {(reason,)}
    lost = ledger(data, "select count(*) from lost")[0][0]
    assert lost == (SESSIONS if reason == "error_in_answer" else 0), "only what has a usage may have been paid for"


def test_errors_under_status_200_are_no_paid_tokens_and_their_words_are_shown(
    endpoint: Endpoint, raw: Path, tmp_path: Path
) -> None:
    overloaded = {"error": {"message": "All GPUs of the cluster are overloaded", "code": 503}}
    endpoint.script(body={"json": overloaded})
    env = rules(tmp_path, breaker_least=6, breaker_per_slot=1)
    ended = asked(endpoint, data := fresh(tmp_path), raw, env, "--concurrency", "2")
    assert ended.status == 3
    assert "status_503: it says: All GPUs of the cluster are overloaded" in words(ended)
    endpoint.script()
    enough = SESSIONS * 12_000  # tokens: reserved for twelve questions, and for none of the errors before
    ended = asked(endpoint, data, raw, env, "--concurrency", "1", "--budget-tokens", str(enough))
    assert ended.status == 0, ended.err


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ({"message": "Invalid API key: no such user", "code": 401}, "refuses the key (401)"),
        ({"message": "The model `test-model` does not exist", "code": "model_not_found"}, "no such user or model"),
        (
            {"message": "You exceeded your current quota", "type": "insufficient_quota"},
            "You exceeded your current quota",
        ),
    ],
    ids=["401", "404", "quota"],
)
def test_an_error_under_status_200_that_does_not_pass_ends_the_run_at_once(
    error: dict[str, Any], sentence: str, endpoint: Endpoint, raw: Path, tmp_path: Path
) -> None:
    endpoint.script(body={"json": {"error": error}})
    ended = asked(endpoint, fresh(tmp_path), raw, rules(tmp_path), "--concurrency", "2")
    assert ended.status not in (0, 1) and "Traceback" not in ended.err
    assert sentence in words(ended) or error["message"] in words(ended)
    assert endpoint.log()["calls"] <= 2


# ------------------------------------------------------------------------------------------------------ thinking models
HARMONY = "<|channel|>analysis<|message|>Let me look at it.<|end|><|start|>assistant<|channel|>final<|message|>{answer}"
CALLED = [{"id": "1", "type": "function", "function": {"name": "answer", "arguments": "{answer}"}}]
PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": "Let me look at it."}]}, {"type": "text"}]
WRITTEN: dict[str, tuple[dict[str, Any], str | None, str | None]] = {  # script, repair, reasoning
    "think": ({"text": "<think>\nLet me look at it.\n</think>\n\n{answer}"}, "reasoning_block", "Let me look at it."),
    "think_end_only": ({"text": "Let me look at it.\n</think>{answer}"}, "reasoning_block", "Let me look at it."),
    "think_and_fence": ({"text": "<think>a {b}</think>\n```json\n{answer}\n```"}, "reasoning_block", "a {b}"),
    "words_around": ({"text": "Here is the answer:\n{answer}\nI hope this helps."}, "words_around", None),
    "byte_order_mark": ({"text": "\ufeff{answer}"}, "byte_order_mark", None),
    "channels": ({"text": HARMONY}, "channel", "Let me look at it."),
    "content_parts": (
        {"message": {"content": [PARTS[0], PARTS[1] | {"text": "{answer}"}]}},
        None,
        "Let me look at it.",
    ),
    "tool_calls": ({"message": {"content": None, "tool_calls": CALLED}}, "answer_field", None),
    "reasoning_content": ({"message": {"content": "", "reasoning_content": "{answer}"}}, "answer_field", None),
    "beside": ({"message": {"reasoning_content": "Let me look at it."}}, None, "Let me look at it."),
}


@pytest.mark.parametrize("kind", first(4, WRITTEN))
def test_what_is_written_around_an_answer_is_a_recorded_repair_and_reasoning_is_kept_apart(
    kind: str, endpoint: Endpoint, raw: Path, usual: Path, tmp_path: Path
) -> None:
    script, repair, reasoning = WRITTEN[kind]
    endpoint.script(**script)
    ended = asked(endpoint, data := fresh(tmp_path), raw, rules(tmp_path))
    assert ended.status == 0, ended.err
    assert decided(data) == decided(usual)
    assert endpoint.log()["calls"] == SESSIONS, "an answer that can be read is asked for once"
    assert all((repair in ids) if repair else not ids for ids in repaired_by(data))
    assert {(row["reasoning"] or "").strip() or None for row in table(data, "decision_a")} == {reasoning}


def test_reasoning_about_an_answer_that_never_came_is_no_answer(
    endpoint: Endpoint, raw: Path, usual: Path, tmp_path: Path
) -> None:
    endpoint.script(message={"content": "", "reasoning_content": "It may be normal, {} or not."}, odd_again=True)
    ended = asked(endpoint, data := fresh(tmp_path), raw, rules(tmp_path))
    assert ended.status == 0, ended.err
    assert {outcome for _, outcome, _ in decided(data)} == {UNREAD}


@pytest.mark.parametrize("mode", ["online", "batch"])
def test_answers_that_are_all_unreadable_stop_the_run(mode: str, endpoint: Endpoint, raw: Path, tmp_path: Path) -> None:
    endpoint.script(text="It looks normal to me.", odd_again=True)
    env = rules(tmp_path, unreadable_in_a_row=4, poll_s=0.05)
    more = ["--batch"] if mode == "batch" else ["--concurrency", "1"]
    ended = asked(endpoint, data := fresh(tmp_path), raw, env, *more)
    assert ended.status == 3, ended.err
    assert "answers are all unreadable" in words(ended) and "not_json" in words(ended)
    if mode == "online":
        assert "the first 4 answers" in words(ended)
        assert 8 <= endpoint.log()["calls"] <= 10, "four questions, each asked once more, and what was under way"
    else:
        assert ledger(data, "select count(*) from answers where corrects is not null") == [(0,)]
    endpoint.script()
    assert asked(endpoint, data, raw, rules(tmp_path, poll_s=0.05)).status == 0, "every answer is kept"


def test_unreadable_answers_among_others_stop_nothing(endpoint: Endpoint, raw: Path, tmp_path: Path) -> None:
    endpoint.script(odd={"not_json": 0.5}, odd_again=False)
    ended = asked(endpoint, fresh(tmp_path), raw, rules(tmp_path, unreadable_in_a_row=4))
    assert ended.status == 0, ended.err


# --------------------------------------------------------------------------------------------------------- asking again
def test_what_was_cut_off_or_empty_is_asked_again_on_demand_and_nothing_else(
    endpoint: Endpoint, raw: Path, usual: Path, tmp_path: Path
) -> None:
    env = rules(tmp_path)
    endpoint.script(odd={"truncated": 0.3, "empty": 0.3}, odd_again=True)
    data = fresh(tmp_path)
    assert asked(endpoint, data, raw, env).status == 0
    failures = [row["failure"] for row in table(data, "decision_a")]
    wanted = sum(failure in ("truncated", "empty") for failure in failures)
    assert 0 < wanted < SESSIONS
    endpoint.script()
    assert asked(endpoint, data, raw, env).status == 0
    assert endpoint.log()["calls"] == 0, "what is settled is not asked by itself"
    before = ledger(data, "select key, response from answers")
    ended = asked(endpoint, data, raw, env, "--ask-again", "truncated,empty")
    assert ended.status == 0, ended.err
    assert f"{wanted} questions that ended as truncated, empty to be asked again" in words(ended)
    assert endpoint.log()["calls"] == wanted
    assert decided(data) == decided(usual)
    assert set(before) < set(ledger(data, "select key, response from answers")), "former answers stay"
    endpoint.script()
    assert asked(endpoint, data, raw, env).status == 0
    assert asked(endpoint, data, raw, env, "--ask-again", "truncated,empty").status == 0
    assert endpoint.log()["calls"] == 0, "and not a second time"


@pytest.mark.parametrize("outcomes", ["truncate", "", "read"])
def test_an_outcome_that_is_none_is_refused(outcomes: str, endpoint: Endpoint, raw: Path, usual: Path) -> None:
    ended = call(
        *arguments(endpoint, usual, raw, "--ask-again", outcomes, verb="annotate"), env={"OPENAI_API_KEY": KEY}
    )
    assert ended.status == 2 and "--ask-again" in words(ended) and "truncated" in words(ended)


def test_another_limit_of_answers_asks_only_what_was_cut_off(
    endpoint: Endpoint, raw: Path, usual: Path, tmp_path: Path
) -> None:
    env = rules(tmp_path)
    shutil.copytree(usual, data := tmp_path / "data")
    request = Path(env["OPENCLAWBENCH_RULES"]) / "request.toml"
    request.write_text('version = "1"\ntemperature = 0.0\nseed = 1\nmax_output_tokens = 16384\n')
    endpoint.script()
    ended = asked(endpoint, data, raw, env)
    assert ended.status == 0, ended.err
    assert endpoint.log()["calls"] == 0, "whole answers are those of any limit"
    assert decided(data) == decided(usual)

    request.unlink()
    cut = fresh(tmp_path / "cut")
    endpoint.script(odd={"truncated": 0.5}, odd_again=True)
    assert asked(endpoint, cut, raw, env).status == 0
    short = sum(row["failure"] == "truncated" for row in table(cut, "decision_a"))
    assert 0 < short < SESSIONS
    request.write_text('version = "1"\ntemperature = 0.0\nseed = 1\nmax_output_tokens = 16384\n')
    endpoint.script()
    assert asked(endpoint, cut, raw, env).status == 0
    assert endpoint.log()["calls"] == short
    assert decided(cut) == decided(usual)


# --------------------------------------------------------------------------------------------------------------- money
USAGES: dict[str, Any] = {
    "none": None,
    "empty": {},
    "negative": {"prompt_tokens": -1500, "completion_tokens": -300},
    "zero": {"prompt_tokens": 0, "completion_tokens": 0},
    "true": {"prompt_tokens": True, "completion_tokens": 1.5},
}


@pytest.mark.parametrize("kind", first(4, USAGES))
def test_usage_that_is_missing_or_cannot_be_is_estimated_and_the_budget_ends(
    kind: str, endpoint: Endpoint, raw: Path, tmp_path: Path
) -> None:
    endpoint.script(completion={"usage": USAGES[kind]})
    env = rules(tmp_path)
    ended = asked(endpoint, data := fresh(tmp_path), raw, env, "--concurrency", "1", "--budget-tokens", "30000")
    assert ended.status not in (0, 1, 2), ended.err
    assert "budget" in words(ended) and 0 < endpoint.log()["calls"] < SESSIONS
    kept = ledger(data, "select prompt_tokens, completion_tokens, cost_usd, usage_estimated from answers")
    assert kept and all(prompt > 0 and written > 0 and usd > 0 and marked for prompt, written, usd, marked in kept)
    ended = asked(endpoint, data, raw, env)
    assert ended.status == 0 and "with an estimated usage" in words(ended)
    assert call("ledger", "stats", "--data", data, "--json").json["estimated_usage"] == SESSIONS
    assert call("ledger", "verify", "--data", data).status == 0


# --------------------------------------------------------------------------------------------------------------- limits
@pytest.mark.parametrize("kind", ["plain", "gzip"])
@pytest.mark.parametrize("transport", ["aiohttp", "openai"])
def test_a_body_without_an_end_is_read_up_to_the_limit_alone(
    kind: str, transport: str, endpoint: Endpoint, raw: Path, tmp_path: Path
) -> None:
    endpoint.script(endless=kind)
    env = rules(tmp_path, largest_answer_bytes=4_000_000)
    ended = asked(endpoint, fresh(tmp_path), raw, env, "--concurrency", "2", "--transport", transport)
    assert ended.status == 3, ended.err
    assert "larger than connection.largest_answer_bytes" in words(ended)
    log = endpoint.log()
    assert log["calls"] == SESSIONS, "it is paid for each time: not tried again"
    assert log["bytes_sent"] < SESSIONS * 40_000_000
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    assert largest < 1500, "MiB of the largest process that a test has started"


@pytest.mark.parametrize("transport", ["aiohttp", "openai"])
def test_a_compressed_answer_is_read(
    transport: str, endpoint: Endpoint, raw: Path, usual: Path, tmp_path: Path
) -> None:
    endpoint.script(encoded=True)
    ended = asked(endpoint, data := fresh(tmp_path), raw, rules(tmp_path), "--transport", transport)
    assert ended.status == 0, ended.err
    assert decided(data) == decided(usual)


# ----------------------------------------------------------------------------------------------------- values and types
def test_a_step_number_as_text_is_a_recorded_repair(endpoint: Endpoint, raw: Path, usual: Path, tmp_path: Path) -> None:
    endpoint.script(step_ids="text")
    ended = asked(endpoint, data := fresh(tmp_path), raw, rules(tmp_path))
    assert ended.status == 0, ended.err
    assert decided(data) == decided(usual) and endpoint.log()["calls"] == SESSIONS
    quoted = [bool(answer["evidence_steps"]) for _, _, answer in decided(usual)]
    assert any(quoted) and [("type_format" in ids) for ids in repaired_by(data)] == quoted


@pytest.mark.parametrize(
    ("script", "failure"), [({"step_ids": "true"}, "schema"), ({"repeats": "other"}, "duplicate_fields")]
)
def test_a_value_that_can_mean_two_things_is_asked_again_and_never_accepted(
    script: dict[str, Any], failure: str, endpoint: Endpoint, raw: Path, usual: Path, tmp_path: Path
) -> None:
    endpoint.script(**script, odd_again=True)
    ended = asked(endpoint, data := fresh(tmp_path), raw, rules(tmp_path))
    assert ended.status == 0, ended.err
    for row, (_, _, answer) in zip(table(data, "decision_a"), decided(usual), strict=True):
        is_touched = failure == "duplicate_fields" or bool(answer["evidence_steps"])
        assert (row["outcome"] == UNREAD, row["failure"]) == (is_touched, failure if is_touched else None)


def test_a_field_that_is_given_twice_alike_is_a_recorded_repair(
    endpoint: Endpoint, raw: Path, usual: Path, tmp_path: Path
) -> None:
    endpoint.script(repeats="same")
    ended = asked(endpoint, data := fresh(tmp_path), raw, rules(tmp_path))
    assert ended.status == 0, ended.err
    assert decided(data) == decided(usual)
    assert all("duplicate_field" in ids for ids in repaired_by(data))


# ------------------------------------------------------------------------------------------------------------ sentences
@pytest.mark.parametrize(
    ("address", "environment", "sentence"),
    [
        ("http://127.0.0.1:1/v1", {}, "nothing listens at this address"),
        ("https://{host}/v1", {}, "no secure connection"),
        ("http://no-such-host.invalid/v1", {}, "the host name of the address cannot be resolved"),
        ("http://endpoint.invalid/v1", {"HTTP_PROXY": "http://127.0.0.1:1"}, "the proxy that the environment names"),
    ],
    ids=["refused", "tls", "name", "proxy"],
)
@pytest.mark.parametrize("mode", ["online", "batch"])
def test_why_an_endpoint_cannot_be_reached_is_said(
    mode: str, address: str, environment: dict[str, str], sentence: str, endpoint: Endpoint, raw: Path, tmp_path: Path
) -> None:
    env = rules(tmp_path, attempts=2, breaker_unreached=2) | {"HTTP_PROXY": "", "NO_PROXY": "127.0.0.1"} | environment
    more = ["--base-url", address.replace("{host}", endpoint.url.partition("//")[2])]
    more += ["--batch"] if mode == "batch" else ["--concurrency", "1"]
    ended = asked(endpoint, fresh(tmp_path), raw, env, *more)
    assert ended.status == 3 and sentence in words(ended), ended.err
    assert "Traceback" not in ended.err and KEY not in ended.err


def test_a_redirect_says_where_to_and_is_not_followed(endpoint: Endpoint, raw: Path, tmp_path: Path) -> None:
    there = {"Location": "https://elsewhere.invalid/v2/chat/completions?token=secret"}
    endpoint.script(body={"text": "moved", "status": 308, "headers": there})
    ended = asked(endpoint, fresh(tmp_path), raw, rules(tmp_path))
    assert ended.status not in (0, 1) and "https://elsewhere.invalid/v2/chat/completions" in words(ended), ended.err
    assert "token=secret" not in ended.err and "--base-url" in words(ended)


@pytest.mark.parametrize("wait", first(2, ["inf", "soon", "nan", "-5", "1e400"]))
def test_a_wait_that_is_no_time_is_none(wait: str, endpoint: Endpoint, raw: Path, tmp_path: Path) -> None:
    busy = {"json": {"error": {"message": "slow down"}}, "status": 429, "headers": {"Retry-After": wait}}
    endpoint.script(body=busy, first=1)
    ended = asked(endpoint, fresh(tmp_path), raw, rules(tmp_path))
    assert ended.status == 0, ended.err


@pytest.mark.parametrize("key", ["sk-one\r\nX-Evil: 1", "sk-ключ"])
def test_a_key_that_no_header_can_hold_is_a_sentence(key: str, endpoint: Endpoint, raw: Path, tmp_path: Path) -> None:
    endpoint.script()
    ended = asked(endpoint, fresh(tmp_path), raw, rules(tmp_path) | {"OPENAI_API_KEY": key})
    assert ended.status == 2 and "OPENAI_API_KEY holds a line break" in words(ended), ended.err
    assert "sk-" not in ended.err and endpoint.log()["calls"] == 0


def test_a_line_end_behind_a_key_is_left_out(endpoint: Endpoint, raw: Path, tmp_path: Path) -> None:
    endpoint.script()
    ended = asked(endpoint, fresh(tmp_path), raw, rules(tmp_path) | {"OPENAI_API_KEY": f"{KEY}\r\n"})
    assert ended.status == 0, ended.err
    assert endpoint.log()["headers"][0]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("mode", ["online", "batch"])
def test_a_request_that_is_refused_alone_goes_to_review_and_ends_no_later_run(
    mode: str, endpoint: Endpoint, raw: Path, usual: Path, tmp_path: Path
) -> None:
    poisoned = table(usual, "request_a")[-1]
    text = opaque_name(poisoned)
    env, more = rules(tmp_path, poll_s=0.05), ["--batch"] if mode == "batch" else ["--concurrency", "1"]
    endpoint.script(poison=text)
    ended = asked(endpoint, data := fresh(tmp_path), raw, env, *more)
    if mode == "batch":  # it may come before the endpoint has answered anything
        ended = asked(endpoint, data, raw, env, *more)
        ended = asked(endpoint, data, raw, env, *more)
    assert ended.status == 0, ended.err
    rows = [(row["trajectory_id"], row["failure"], row["response_text"]) for row in table(data, "decision_a")]
    refused = [row for row in rows if row[1] is not None]
    assert [row[:2] for row in refused] == [(poisoned["trajectory_id"], "refused")]
    assert "the request holds what this server cannot take" in refused[0][2]
    before = endpoint.log()["calls"], len(endpoint.log()["batches"])
    assert asked(endpoint, data, raw, env, *more).status == 0
    assert (endpoint.log()["calls"], len(endpoint.log()["batches"])) == before


@pytest.mark.parametrize("concurrency", first(1, ["8", "1"]))
def test_whichever_request_is_refused_alone_the_first_run_goes_on(
    concurrency: str, endpoint: Endpoint, raw: Path, usual: Path, tmp_path: Path
) -> None:
    """Also the one that is asked before the endpoint has answered anything."""
    for number, poisoned in enumerate(table(usual, "request_a")):
        folder = tmp_path / str(number)
        folder.mkdir()
        endpoint.script(poison=opaque_name(poisoned))
        ended = asked(endpoint, data := fresh(folder), raw, rules(folder), "--concurrency", concurrency)
        assert ended.status == 0, ended.err
        refused = [row["trajectory_id"] for row in table(data, "decision_a") if row["failure"] is not None]
        assert refused == [poisoned["trajectory_id"]]


def opaque_name(request: dict[str, Any]) -> str:
    """A text that stands in no other question: the name under which the trajectory is sent."""
    from openclawbench.judge.sent_packet import opaque_id

    return opaque_id(request["source_model"], request["trajectory_id"])


def test_a_503_while_batches_are_listed_passes(endpoint: Endpoint, raw: Path, usual: Path, tmp_path: Path) -> None:
    endpoint.script(list_faults=2)
    ended = asked(endpoint, data := fresh(tmp_path), raw, rules(tmp_path, poll_s=0.05), "--batch")
    assert ended.status == 0, ended.err
    assert decided(data) == decided(usual)


def test_an_answer_that_was_altered_in_the_ledger_is_not_used(
    endpoint: Endpoint, raw: Path, usual: Path, tmp_path: Path
) -> None:
    data = fresh(tmp_path)
    shutil.copytree(usual / "ledger", data / "ledger")
    with closing(sqlite3.connect(data / "ledger" / "ledger.sqlite")) as connection, connection:
        connection.execute(
            "update answers set response = cast(replace(cast(response as text), 'evidence', 'nothing') as blob) "
            "where key = (select min(key) from answers)"
        )
    endpoint.script()
    ended = asked(endpoint, data, raw, rules(tmp_path))
    assert ended.status not in (0, 1) and "was altered" in words(ended) and "ledger verify" in words(ended), ended.err
    assert "Traceback" not in ended.err and endpoint.log()["calls"] == 0


def test_a_damaged_page_of_the_ledger_is_a_sentence(endpoint: Endpoint, raw: Path, usual: Path, tmp_path: Path) -> None:
    data = fresh(tmp_path)
    shutil.copytree(usual / "ledger", data / "ledger")
    path = data / "ledger" / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
        (size,) = connection.execute("pragma page_size").fetchone()
    content = bytearray(path.read_bytes())
    for page in range(1, len(content) // size):  # all but the first, which says what the tables are
        content[page * size : page * size + 100] = b"\xff" * 100
    path.write_bytes(content)
    ended = asked(endpoint, data, raw, rules(tmp_path))
    assert ended.status not in (0, 1) and "ledger.sqlite: the file is damaged" in words(ended), ended.err
    assert "Traceback" not in ended.err
