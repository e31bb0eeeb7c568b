"""A language model as judge, over HTTP to an endpoint in another process: faults, odd answers, refusals, limits."""

import asyncio
import json
import re
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from asking import KEY, Endpoint, arguments, fresh, ledger, rules
from child import EXAMPLE, ROOT, Started, call, files, lines, manifest, start, table
from thorough import first

from openclawbench.judge.prompts import newest_version
from openclawbench.judge.transport.aiohttp_transport import AiohttpTransport
from openclawbench.judge.transport.endpoint import Endpoint as TransportEndpoint
from openclawbench.judge.transport.openai_transport import OpenaiTransport
from openclawbench.judge.transport.protocol import RejectedRequest, TransientError
from openclawbench.rules.judge.asking import AskingRules

pytestmark = pytest.mark.slow

FAULTS = ["408", "409", "429", "500", "502", "503", "late", "dropped", "half_sent", "broken_body"]
REFUSED_IN_A_ROW = AskingRules.load().retry.refused_in_a_row
ODD = ["not_json", "truncated", "refusal", "empty", "wrong_enum", "extra_fields", "missing_fields", "wrong_trajectory"]


@pytest.fixture(scope="module")
def undisturbed(endpoint: Endpoint, raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a run without a fault."""
    folder = tmp_path_factory.mktemp("undisturbed")
    data = fresh(folder)
    endpoint.script()
    ended = call(*arguments(endpoint, data, raw), env=rules(folder))
    assert ended.status == 0, ended.err
    return data


def test_a_run_says_how_far_it_is_what_it_costs_and_what_comes_out(
    endpoint: Endpoint, raw: Path, tmp_path: Path
) -> None:
    endpoint.script()
    ended = call(*arguments(endpoint, data := fresh(tmp_path), raw), "-v", env=rules(tmp_path))
    assert ended.status == 0, ended.err
    text = " ".join(ended.err.split())
    gists = Counter(json.loads(row["response_text"])["route_label"] for row in table(data, "decision_a"))
    tiers = Counter(row["quality_tier"] for row in table(data, "annotation"))
    assert re.search(rf"answer_a: 12 of 12 answered, 0\.\d+ USD, \d+ tokens \(\d+ cached\); {most_first(gists)} ", text)
    assert f"tiers: {most_first(tiers)} " in text


def most_first(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def test_a_release_says_who_judged_it(undisturbed: Path) -> None:
    release = undisturbed / "release"
    summary = release / "dataset_summary.json"
    assert '"openai"' in summary.read_text() and '"test-model"' in summary.read_text()
    assert "made by the rules judge" not in (release / "README.md").read_text()
    master = lines(release / "fulltax_prod_v1" / "scripted-a" / "master_table_all.jsonl")
    provenance = [row["provenance"] for row in master if row["stages"]["a"]]
    assert {(entry["judge"], entry["judge_model"]) for entry in provenance} == {("openai", "test-model")}
    assert all(
        entry["request_ids"] and entry["cost_usd"] > 0 and entry["usage"]["cached_tokens"] > 0 for entry in provenance
    )
    raw_answers = lines(release / "fulltax_prod_v1" / "scripted-a" / "stage_a_raw_pass1.jsonl")
    assert {row["judge_model"] for row in raw_answers} == {"test-model"}
    judge = manifest(undisturbed, "answer_a")["judge"]
    assert judge["model"] == "test-model" and "json_schema" in str(judge["asked_at"])


def test_nothing_is_asked_twice_and_a_copied_ledger_answers_elsewhere(
    endpoint: Endpoint, raw: Path, undisturbed: Path, tmp_path: Path
) -> None:
    endpoint.script()
    again = call(*arguments(endpoint, undisturbed, raw), env=rules(tmp_path))
    assert again.status == 0, again.err
    data = fresh(tmp_path)
    shutil.copytree(undisturbed / "ledger", data / "ledger")
    moved = call(*arguments(endpoint, data, raw), env={"OPENCLAWBENCH_RULES": ""})  # without a key: nothing is asked
    assert moved.status == 0, moved.err
    assert files(data / "release") == files(undisturbed / "release")
    assert endpoint.log()["calls"] == 0


def test_a_changed_prompt_asks_only_what_it_touches(
    endpoint: Endpoint, raw: Path, undisturbed: Path, tmp_path: Path
) -> None:
    data, prompts = tmp_path / "data", tmp_path / "prompts"
    shutil.copytree(undisturbed, data)
    shutil.copytree(ROOT / "prompts", prompts)
    version = newest_version(prompts / "b2")
    following = f"v{int(version[1:]) + 1}"
    changed = (
        (prompts / "b2" / f"{version}.md").read_text().replace(f'version = "{version}"', f'version = "{following}"')
    )
    (prompts / "b2" / f"{following}.md").write_text(changed + "\nOne more line.\n")
    endpoint.script()
    ended = call(*arguments(endpoint, data, raw), env=rules(tmp_path) | {"OPENCLAWBENCH_PROMPTS": str(prompts)})
    assert ended.status == 0, ended.err
    asked = [body["messages"][0]["content"] for body in endpoint.log()["bodies"]]
    assert len(asked) == len(table(data, "request_b2")) > 0
    assert all("FullTax stage B2:" in entry and entry.endswith("One more line.\n") for entry in asked)


@pytest.mark.parametrize("transport", ["aiohttp", "openai"])
def test_a_fifth_of_faults_of_every_kind_changes_no_byte_of_the_release(
    transport: str, endpoint: Endpoint, raw: Path, undisturbed: Path, tmp_path: Path
) -> None:
    data = fresh(tmp_path)
    endpoint.script(faults=dict.fromkeys(FAULTS, 0.2 / len(FAULTS)), late_s=3.0)
    ended = call(*arguments(endpoint, data, raw, "--transport", transport, "--concurrency", "4"), env=rules(tmp_path))
    assert ended.status == 0, ended.err
    assert files(data / "release") == files(undisturbed / "release")
    log = endpoint.log()
    assert log["calls"] > log["requests"]
    lost = {key for (key,) in ledger(data, "select hex(key) from lost")}
    assert sum(count - 1 for count in log["paid"].values()) <= len(lost) or not lost


@pytest.mark.parametrize("kind", first(3, FAULTS))
def test_each_fault_alone_is_tried_again(
    kind: str, endpoint: Endpoint, raw: Path, undisturbed: Path, tmp_path: Path
) -> None:
    data = fresh(tmp_path)
    endpoint.script(faults={kind: 0.4}, late_s=3.0)
    ended = call(*arguments(endpoint, data, raw, "--stage", "a", verb="annotate"), env=rules(tmp_path))
    assert ended.status == 0, ended.err
    log = endpoint.log()
    assert log["calls"] > log["requests"], "no fault occurred"
    answers = table(data, "answer_a")
    assert answers == table(undisturbed, "answer_a")
    reasons = {reason for (reason,) in ledger(data, "select reason from lost")}
    expected = {"late": {"timeout"}, "half_sent": {"connection_lost"}, "dropped": {"connection_lost"}}
    assert reasons == expected.get(kind, {"broken_body"} if kind == "broken_body" else set())


@pytest.mark.parametrize("kind", first(3, ODD))
def test_an_answer_that_is_none_is_asked_for_once_more(
    kind: str, endpoint: Endpoint, raw: Path, undisturbed: Path, tmp_path: Path
) -> None:
    data = fresh(tmp_path)
    endpoint.script(odd={kind: 1.0})
    ended = call(*arguments(endpoint, data, raw, "--stage", "a", verb="annotate"), env=rules(tmp_path))
    assert ended.status == 0, ended.err
    rows, usual = table(data, "decision_a"), table(undisturbed, "decision_a")
    assert [row["answer"] for row in rows] == [row["answer"] for row in usual]
    assert {row["former"]["outcome"] for row in rows} == {kind}
    assert all(row["former"]["request_id"] != row["request_id"] for row in rows)
    assert all(row["cost_usd"] > other["cost_usd"] for row, other in zip(rows, usual, strict=True))
    assert endpoint.log()["calls"] == 2 * len(rows)


@pytest.mark.parametrize("kind", first(3, ODD))
def test_an_answer_that_is_none_twice_goes_to_review_with_its_cause(
    kind: str, endpoint: Endpoint, raw: Path, tmp_path: Path
) -> None:
    data = fresh(tmp_path)
    endpoint.script(odd={kind: 1.0}, odd_again=True)
    ended = call(*arguments(endpoint, data, raw, verb="annotate"), env=rules(tmp_path))
    assert ended.status == 0, ended.err
    rows = table(data, "decision_a")
    assert {(row["outcome"], row["failure"]) for row in rows} == {("parse_failure", kind)}
    assert endpoint.log()["calls"] == 2 * len(rows), "asked more than once again"
    cause = "missing_structural_fields" if kind == "missing_fields" else "truncation_or_parse_failure"
    judged = {row["trajectory_id"] for row in rows}
    causes = {row["review_cause"] for row in table(data, "annotation") if row["trajectory_id"] in judged}
    assert causes == {cause}


@pytest.mark.parametrize("kind", ["fenced", "emoji"])
def test_an_answer_in_a_code_fence_or_with_half_an_emoji_is_read(
    kind: str, endpoint: Endpoint, raw: Path, tmp_path: Path
) -> None:
    data = fresh(tmp_path)
    endpoint.script(odd={kind: 1.0})
    ended = call(*arguments(endpoint, data, raw, "--stage", "a", verb="annotate"), env=rules(tmp_path))
    assert ended.status == 0, ended.err
    rows = table(data, "decision_a")
    assert {row["outcome"] for row in rows} == {"parsed"}
    assert endpoint.log()["calls"] == len(rows)
    expected = ["code_fence"] if kind == "fenced" else []
    assert all([repair["rule_id"] for repair in row["repairs"]] == expected for row in rows)


@pytest.mark.parametrize("status", first(1, [401, 400, 403, 404]))
def test_a_refusal_stops_the_run_within_a_call_per_worker_and_shows_no_key(
    status: int, endpoint: Endpoint, raw: Path, undisturbed: Path, tmp_path: Path
) -> None:
    data = fresh(tmp_path)
    shutil.copytree(undisturbed / "ledger", data / "ledger")
    with closing(sqlite3.connect(data / "ledger" / "ledger.sqlite")) as known, known:  # so that many go at once
        known.execute("insert into endpoints select base_url, 'other-model', accepts from endpoints")
    endpoint.script(refuse={"status": status, "message": "no: {authorization}"})
    call_ = arguments(endpoint, data, raw, "--model", "other-model", "--concurrency", "8", "--debug")
    ended = call(*call_[:-1], env=rules(tmp_path))
    assert ended.status == 2, ended.err
    assert f"({status})" in ended.err and ended.err.count("error:") == 1
    # A 400 may concern one question alone: those before the last of `refused_in_a_row` make room for another call each.
    also_sent = REFUSED_IN_A_ROW - 1 if status == 400 else 0
    assert 1 <= len(endpoint.log()["times"]) <= 8 + also_sent
    for transport in ("aiohttp", "openai"):
        traced = call(*call_, "--transport", transport, env=rules(tmp_path))
        assert traced.status == 2 and "Traceback" in traced.err and "[key]" in traced.err
        assert KEY not in traced.err
    assert leaks(tmp_path) == [] and KEY not in ended.err


def leaks(folder: Path) -> list[str]:
    """Files in which the key stands."""
    return [path for path, content in files(folder).items() if KEY.encode() in content]


def test_no_file_and_no_output_of_a_whole_run_holds_the_key(
    endpoint: Endpoint, raw: Path, undisturbed: Path, tmp_path: Path
) -> None:
    assert leaks(undisturbed) == []
    endpoint.script(faults=dict.fromkeys(FAULTS, 0.02), late_s=3.0)
    ended = call(*arguments(endpoint, fresh(tmp_path), raw, "--debug", "--json"), env=rules(tmp_path))
    assert ended.status == 0
    assert leaks(tmp_path) == [] and KEY not in ended.err and KEY not in ended.text
    assert {header["Authorization"] for header in endpoint.log()["headers"]} == {f"Bearer {KEY}"}


@pytest.mark.parametrize(
    ("refused", "way"),
    [
        (["json_schema"], '"structured_output":"json_object"'),
        (["json_schema", "json_object"], '"structured_output":"text"'),
        (["temperature", "seed"], '"temperature":false,"seed":false'),
        (["max_completion_tokens"], '"limit":"max_tokens"'),
    ],
)
def test_what_an_endpoint_does_not_know_is_found_out_once_and_left_out(
    refused: list[str], way: str, endpoint: Endpoint, raw: Path, undisturbed: Path, tmp_path: Path
) -> None:
    data = fresh(tmp_path)
    endpoint.script(refuse_params=refused)
    ended = call(*arguments(endpoint, data, raw, "--stage", "a", verb="annotate"), env=rules(tmp_path))
    assert ended.status == 0, ended.err
    log = endpoint.log()
    assert len(log["times"]) - log["calls"] == len(refused)
    assert way in str(manifest(data, "answer_a")["judge"]["asked_at"])
    assert {kept for (kept,) in ledger(data, "select way from answers")} == {
        next(iter(manifest(data, "answer_a")["judge"]["asked_at"].values()))
    }
    without = [
        {k: v for k, v in row.items() if k not in ("usage", "cost_usd", "request_id")}
        for row in table(data, "answer_a")
    ]
    usual = table(undisturbed, "answer_a")
    assert without == [{k: v for k, v in row.items() if k not in ("usage", "cost_usd", "request_id")} for row in usual]


def test_a_question_that_is_too_long_for_the_model_goes_to_review_and_stops_nothing(
    endpoint: Endpoint, raw: Path, tmp_path: Path
) -> None:
    data = fresh(tmp_path)
    message = "This model's maximum context length is 10 tokens. Please reduce the length of the messages."
    endpoint.script(refuse={"status": 400, "message": message})
    ended = call(*arguments(endpoint, data, raw, verb="annotate"), env=rules(tmp_path))
    assert ended.status == 0, ended.err
    rows = table(data, "decision_a")
    assert {row["failure"] for row in rows} == {"too_long"} and {row["cost_usd"] for row in rows} == {0.0}
    assert len(endpoint.log()["times"]) == len(rows)


def test_a_budget_stops_cleanly_is_never_passed_and_can_be_raised(
    endpoint: Endpoint, raw: Path, undisturbed: Path, tmp_path: Path
) -> None:
    data, env = fresh(tmp_path), rules(tmp_path)
    endpoint.script()
    for cap in ("0.03", "0.05"):
        ended = call(*arguments(endpoint, data, raw, "--budget-usd", cap), env=env)
        assert ended.status == 3, ended.err
        assert f"the budget of {cap} USD is reached" in ended.err
        ((spent,),) = ledger(data, "select total(cost_usd) from answers")
        assert 0 < spent <= float(cap)
        assert not (data / "release").exists()
    ended = call(*arguments(endpoint, data, raw, "--budget-tokens", "30000"), env=env)
    assert ended.status == 3 and "30000 tokens" in ended.err
    ended = call(*arguments(endpoint, data, raw, "--budget-usd", "100"), env=env)
    assert ended.status == 0, ended.err
    assert files(data / "release") == files(undisturbed / "release")
    assert set(endpoint.log()["paid"].values()) == {1}


def test_an_endpoint_that_is_down_stops_the_run_and_it_goes_on_later(
    endpoint: Endpoint, raw: Path, undisturbed: Path, tmp_path: Path
) -> None:
    data, env = fresh(tmp_path), rules(tmp_path, breaker_least=6, breaker_per_slot=1)
    endpoint.script(faults={"503": 1.0})
    ended = call(*arguments(endpoint, data, raw, "--concurrency", "4"), env=env)
    assert ended.status == 3 and "6 times in a row (last: status_503: it says: try again" in ended.err
    assert len(endpoint.log()["times"]) <= 6 + 4
    endpoint.script()
    assert call(*arguments(endpoint, data, raw), env=env).status == 0
    assert files(data / "release") == files(undisturbed / "release")


def test_two_processes_at_once(endpoint: Endpoint, raw: Path, undisturbed: Path, tmp_path: Path) -> None:
    data, other, env = fresh(tmp_path / "one"), fresh(tmp_path / "two"), rules(tmp_path, answer_s=100.0)
    (other / "ledger").symlink_to(data / "ledger", target_is_directory=True)
    (data / "ledger").mkdir()
    endpoint.script(hold=True)
    started = start(*arguments(endpoint, data, raw, "--concurrency", "2"), env=env)
    wait_for_calls(endpoint, started)
    same_folder = call(*arguments(endpoint, data, raw), env=env)
    same_ledger = call(*arguments(endpoint, other, raw), env=env)
    endpoint.release()
    assert same_folder.status == 2 and "another run is writing here" in same_folder.err
    assert same_ledger.status == 2 and "using this ledger" in same_ledger.err
    assert started.wait().status == 0
    assert call(*arguments(endpoint, other, raw), env=env).status == 0
    assert set(endpoint.log()["paid"].values()) == {1}
    assert files(other / "release") == files(data / "release") == files(undisturbed / "release")


def wait_for_calls(endpoint: Endpoint, run: Started) -> None:
    while not endpoint.log()["times"]:
        assert not run.has_ended(), run.wait().err


def test_without_key_model_or_price_nothing_is_sent(endpoint: Endpoint, raw: Path, tmp_path: Path) -> None:
    data = fresh(tmp_path)
    base = ["annotate", "--data", data, "--raw", raw, "--judge", "openai"]
    assert "--model" in call(*base).err
    remote = [*base, "--model", "unheard-of", "--base-url", "https://judge.invalid/v1"]
    ended = call(*remote, env={"OPENAI_API_KEY": ""})
    assert ended.status == 2 and "OPENAI_API_KEY" in ended.err
    for more in ([], ["--dry-run"]):
        ended = call(*remote, *more, env={"OPENAI_API_KEY": KEY})
        assert ended.status == 2 and "its price is not known" in ended.err and "--price-in" in ended.err
    url = "https://user:secret@judge.invalid/v1"
    ended = call(*base, "--model", "gpt-4o", "--base-url", url, env={"OPENAI_API_KEY": KEY})
    assert ended.status == 2 and "secret" not in ended.err


def test_a_dry_run_says_within_a_tenth_what_an_endpoint_then_counts(endpoint: Endpoint, tmp_path: Path) -> None:
    """The endpoint counts 3.7 characters a token, as common tokenizers come to on these requests, and what is assumed
    for reasoning; who goes on to later stages is found out before anybody is asked."""
    data, env, estimate = fresh(tmp_path), rules(tmp_path), AskingRules.load().estimate
    endpoint.script(chars_per_token=3.7, reasoning_tokens=estimate.reasoning_tokens)
    run = arguments(endpoint, data, EXAMPLE / "raw", verb="annotate")
    planned = call(*run, "--dry-run", "--json", env=env).json
    ended = call(*run, env=env)
    assert ended.status == 0, ended.err
    query = (
        "select stage, count(*), sum(prompt_tokens), sum(completion_tokens), sum(cost_usd) from answers group by stage"
    )
    counted = {stage: rest for stage, *rest in ledger(data, query)}
    assert set(counted) == {"a", "b1", "b2", "c"} and sum(calls for calls, *_ in counted.values()) > 100
    for stage in planned["stages"]:
        calls, prompt, completion, _ = counted[stage["stage"]]
        assert stage["calls"] == calls <= stage["most_calls"]
        assert stage["prompt_tokens"] == pytest.approx(prompt, rel=0.1)
        assert stage["completion_tokens"] == pytest.approx(completion, rel=0.1)
        assert stage["reasoning_tokens"] == calls * estimate.reasoning_tokens[stage["stage"]]
    halved = sum(prompt * 0.5e-6 / 2 for _, prompt, _, _ in counted.values())  # half is cached, at half the price
    assert planned["usd"] == pytest.approx(sum(usd for *_, usd in counted.values()) + halved, rel=0.1)


def test_a_dry_run_never_promises_less_than_odd_answers_can_cost(endpoint: Endpoint, raw: Path, tmp_path: Path) -> None:
    """Every answer is asked for once more: more calls than expected, and no more than at most."""
    data, env = fresh(tmp_path), rules(tmp_path)
    endpoint.script(odd={"not_json": 1.0})
    run = arguments(endpoint, data, raw, verb="annotate")
    planned = call(*run, "--dry-run", "--json", env=env).json
    assert call(*run, env=env).status == 0
    assert planned["calls"] < endpoint.log()["calls"] <= planned["most_calls"]
    ((usd,),) = ledger(data, "select sum(cost_usd) from answers")
    assert usd <= planned["most_usd"]


def test_a_dry_run_counts_estimates_and_sends_nothing(
    endpoint: Endpoint, raw: Path, undisturbed: Path, tmp_path: Path
) -> None:
    data, env = fresh(tmp_path), rules(tmp_path)
    endpoint.script()
    dry = [*arguments(endpoint, data, raw, verb="annotate"), "--dry-run", "--json"]
    ended = call(*dry, env=env)
    assert ended.status == 0, ended.err
    first, *later = ended.json["stages"]
    most = [stage["most_calls"] for stage in ended.json["stages"]]
    assert most == [24, 24, 24, 24] and ended.json["most_usd"] > ended.json["usd"]
    assert (first["stage"], first["questions"], first["calls"], first["estimate"]) == ("a", 12, 12, False)
    assert [(entry["stage"], entry["estimate"]) for entry in later] == [("b1", True), ("b2", True), ("c", True)]
    assert endpoint.log()["calls"] == 0 and not (data / "ledger").exists()
    ((tokens,),) = ledger(undisturbed, "select sum(prompt_tokens) from answers where stage = 'a'")
    assert 0.8 < first["prompt_tokens"] / tokens < 1.25
    assert call(*arguments(endpoint, data, raw, "--stage", "a", verb="annotate"), env=env).status == 0
    ended = call(*dry[:-1], env=env)
    assert "as stated with --price-in" in " ".join(ended.text.split())
    assert ended.status == 0 and "Nothing was sent" in ended.text and "\nb1 " in ended.text
    assert "are assumed for reasoning" in " ".join(ended.text.split())
    sent = endpoint.log()["calls"]
    shutil.copytree(undisturbed / "ledger", data / "ledger", dirs_exist_ok=True)
    assert "nothing would be asked" in call(*dry[:-1], env=env).text
    assert endpoint.log()["calls"] == sent
    assert call("annotate", "--data", data, "--judge", "rules", "--dry-run").status == 2


def test_ledger_commands(endpoint: Endpoint, raw: Path, undisturbed: Path, tmp_path: Path) -> None:
    ended = call("ledger", "stats", "--data", undisturbed, "--json")
    assert ended.status == 0, ended.err
    assert ended.json["usd"] > 0 and ended.json["maybe_paid_without_answer"] == [] and ended.json["in_flight"] == []
    assert {answer["stage"] for answer in ended.json["answers"]} >= {"a", "b1"}
    assert "Answers" in call("ledger", "stats", "--data", undisturbed).text
    verified = call("ledger", "verify", "--data", undisturbed)
    assert verified.status == 0 and "nothing wrong" in verified.text
    assert call("ledger", "export", "--data", undisturbed, "-o", tmp_path / "answers.jsonl").status == 0
    exported = lines(tmp_path / "answers.jsonl")
    assert len(exported) == sum(answer["answers"] for answer in ended.json["answers"])
    assert call("ledger", "compact", "--data", undisturbed).status == 0
    assert call("ledger", "stats", "--data", tmp_path / "none").status == 2


@pytest.mark.parametrize(
    "script",
    [
        {},
        *({"faults": {kind: 1.0}} for kind in FAULTS),
        *({"refuse": {"status": status, "message": "no"}} for status in (400, 401, 403, 404, 413, 422)),
        {"odd": {"emoji": 1.0}},
        {"odd": {"refusal": 1.0}},
    ],
    ids=str,
)
def test_both_transports_send_the_same_and_say_the_same(
    script: dict[str, object], endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Call by call: path, headers of who asks, body; answer, failure or refusal, and whether it may be paid for."""
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-One: 1")
    environment = {
        "OPENAI_API_KEY": KEY,
        "OPENAI_ORG_ID": "org",
        "OPENAI_PROJECT_ID": "proj",
        "OPENAI_CUSTOM_HEADERS": "X-One: 1",
    }
    quick = AskingRules.load()
    quick = quick.model_copy(update={"connection": quick.connection.model_copy(update={"answer_s": 1.0})})
    who = TransportEndpoint.from_environment(f"{endpoint.url}/v1", quick, environment)
    message = {"role": "user", "content": "ä \u2028 x"}
    body = {"model": "m", "messages": [{"role": "system", "content": "FullTax stage A"}, message], "temperature": 0.0}
    body |= {"seed": 1, "max_completion_tokens": 9, "response_format": {"type": "json_object"}}

    async def sent(kind: type[AiohttpTransport] | type[OpenaiTransport]) -> object:
        endpoint.script(**script, late_s=3.0)
        async with kind(who, 2, quick) as transport:
            try:
                received = await transport.send(json.dumps(body).encode())
            except TransientError as failure:
                return failure.reason, failure.may_be_paid, failure.retry_after
            except RejectedRequest as refusal:
                return refusal.status, refusal.message, refusal.body
            return received.body, received.parsed, received.headers["x-request-id"]

    stated, asked = [], []
    for kind in (AiohttpTransport, OpenaiTransport):
        stated.append(asyncio.run(sent(kind)))
        log = endpoint.log()
        names = ("Authorization", "OpenAI-Organization", "OpenAI-Project", "X-One", "Content-Type", "Accept")
        headers = {name.lower(): value for name, value in log["headers"][0].items()}
        asked.append((log["bodies"], [headers.get(name.lower()) for name in names], len(log["times"])))
    assert asked[0] == asked[1]
    assert asked[0][0] == [body]
    assert stated[0] == stated[1]
