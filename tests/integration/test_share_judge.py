"""A language model asked by several workers: a share is one worker's at a time, its successor pays for nothing again,
limits and budget hold for all of them together."""

import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from asking import Endpoint, arguments, ledger, rules
from child import call, few_shards, files, start
from thorough import first

from openclawbench.base.shard_selection import ShardSelection
from openclawbench.judge.client.rate_limit import RateLimits
from openclawbench.judge.settings import AskingSettings
from openclawbench.rules.judge.asking import AskingRules
from openclawbench.workspace.shares import share_of_limits

pytestmark = pytest.mark.slow
SHARDS = 4
IN_FLIGHT = 4  # of each of two workers
MORE = 4  # about to be sent, or received and not yet durable
PATIENCE = 60.0  # seconds
QUICK = {"beat_s": 0.1, "stale_s": 1.0}


@pytest.fixture(scope="module")
def undisturbed(endpoint: Endpoint, raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run over everything."""
    folder = tmp_path_factory.mktemp("undisturbed")
    data = few_shards(folder / "data", SHARDS)
    endpoint.script()
    ended = call(*arguments(endpoint, data, raw), env=rules(folder))
    assert ended.status == 0, ended.err
    return data


def annotate(endpoint: Endpoint, data: Path, raw: Path, share: str, *more: str) -> list[str | Path]:
    return arguments(endpoint, data, raw, "--shard", share, "--concurrency", "8", *more, verb="annotate")


def acknowledged(data: Path, share: str) -> set[str]:
    """Request ids of the answers in a share's ledger."""
    path = data / "ledger" / "shares" / share.replace("/", "-of-") / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        return {row for (row,) in connection.execute("select request_id from answers")}


def came(endpoint: Endpoint) -> dict[str, int]:
    """Request id -> how often it came."""
    return {f"req-{digest[:20]}": count for digest, count in endpoint.log()["came"].items()}


@pytest.mark.parametrize("successor", first(1, ["the same share", "a run over everything"]))
def test_a_killed_worker_is_followed_and_no_answer_is_paid_for_again(
    successor: str, endpoint: Endpoint, raw: Path, undisturbed: Path, tmp_path: Path
) -> None:
    data, env = few_shards(tmp_path / "data", SHARDS), rules(tmp_path, **QUICK)
    endpoint.script(latency_s=0.1)
    workers = {share: start(*annotate(endpoint, data, raw, share), env=env) for share in ("0/2", "1/2")}
    limit = time.monotonic() + PATIENCE
    while endpoint.count() < 8 or not (data / "ledger" / "shares" / "0-of-2" / "ledger.sqlite").exists():
        assert time.monotonic() < limit
        time.sleep(0.002)
    workers["0/2"].send(signal.SIGKILL)
    assert workers["0/2"].wait().status == -signal.SIGKILL
    kept, before = acknowledged(data, "0/2"), came(endpoint)
    other = workers["1/2"].wait()
    assert other.status == 0, other.err
    if successor == "the same share":
        followed = call(*annotate(endpoint, data, raw, "0/2"), env=env)
        assert followed.status == 0, followed.err
        assert kept <= acknowledged(data, "0/2")
    last = call(*arguments(endpoint, data, raw, "--concurrency", "4"), env=env)
    assert last.status == 0, last.err
    after = came(endpoint)
    assert all(after[entry] == before[entry] == 1 for entry in kept), "an acknowledged answer was paid for again"
    assert sum(after.values()) - len(after) <= IN_FLIGHT + MORE
    assert {entry for (entry,) in ledger(data, "select request_id from answers")} == set(after)
    assert not list((data / "ledger" / "shares").glob("*"))
    twice = {name for name, count in after.items() if count > 1}
    assert twice <= {entry for (entry,) in ledger(data, "select request_id from lost join answers using(key)")}
    assert files(data / "release") == files(undisturbed / "release")


def test_a_share_is_one_workers_at_a_time(endpoint: Endpoint, raw: Path, tmp_path: Path) -> None:
    data, env = few_shards(tmp_path / "data", SHARDS), rules(tmp_path, **QUICK)
    endpoint.script(hold=True)
    first = start(*annotate(endpoint, data, raw, "0/2"), env=env)
    limit = time.monotonic() + PATIENCE
    while endpoint.count() < 1:
        assert not first.has_ended() and time.monotonic() < limit
        time.sleep(0.002)
    second = call(*annotate(endpoint, data, raw, "0/2"), env=env)
    assert (second.status, "is at work on it" in second.err) == (2, True), second.err
    endpoint.release()
    endpoint.script()
    assert first.wait().status == 0


@pytest.mark.thorough
def test_shares_of_another_number_wait_until_the_former_are_merged(
    endpoint: Endpoint, raw: Path, undisturbed: Path, tmp_path: Path
) -> None:
    data, env = few_shards(tmp_path / "data", SHARDS), rules(tmp_path, **QUICK)
    endpoint.script()
    assert call(*annotate(endpoint, data, raw, "0/2"), env=env).status == 0
    refused = call(*annotate(endpoint, data, raw, "0/3"), env=env)
    assert (refused.status, "openclawbench ledger merge" in refused.err) == (2, True), refused.err
    assert "1 ledgers of shares are merged" in call("ledger", "merge", "--data", data).text
    for table in (data / "work").glob("answer_*"):  # as after a change of the program: answers are read again
        for part in table.iterdir():
            part.unlink()
    for share in ("0/3", "1/3", "2/3"):
        assert call(*annotate(endpoint, data, raw, share), env=env).status == 0
    assert call(*arguments(endpoint, data, raw), env=env).status == 0
    assert set(came(endpoint).values()) == {1}
    assert files(data / "release") == files(undisturbed / "release")


def test_the_budget_holds_for_all_shares_together(endpoint: Endpoint, raw: Path, tmp_path: Path) -> None:
    data, env = few_shards(tmp_path / "data", SHARDS), rules(tmp_path, **QUICK)
    endpoint.script()
    budget = ["--budget-usd", "0.06"]
    ended = [call(*annotate(endpoint, data, raw, share, *budget), env=env) for share in ("0/2", "1/2")]
    assert {entry.status for entry in ended} == {3}, ended[0].err
    assert call("ledger", "merge", "--data", data).status == 0
    ((spent,),) = ledger(data, "select total(cost_usd) from answers")
    assert 0.0 < spent <= 0.06


def test_a_plan_is_of_everything(endpoint: Endpoint, raw: Path, tmp_path: Path) -> None:
    data, env = few_shards(tmp_path / "data", SHARDS), rules(tmp_path)
    ended = call(*annotate(endpoint, data, raw, "0/2", "--dry-run"), env=env)
    assert (ended.status, "Leave --shard out" in ended.err) == (2, True), ended.err


def test_what_the_endpoint_allows_is_cut_evenly_too() -> None:
    asking = AskingRules.load()
    limits = RateLimits(None, 500.0, asking.limits, 600.0, runs=4)
    limits.learn({"x-ratelimit-limit-requests": "400", "x-ratelimit-limit-tokens": "8000"})
    assert limits.requests is not None and limits.requests.per_minute == 100.0
    assert limits.tokens is not None and limits.tokens.per_minute == 500.0  # this run's own, and less


def test_limits_are_cut_evenly() -> None:
    asking = AskingSettings(concurrency=8, rpm=90.0, tpm=9000.0, budget_usd=10.0, budget_tokens=1000)
    limits = share_of_limits(asking, ShardSelection(1, 3), (4.0, 100))
    assert (limits.concurrency, limits.rpm, limits.tpm, limits.budget_usd, limits.budget_tokens) == (
        2,
        30.0,
        3000.0,
        2.0,
        300,
    )
    assert share_of_limits(AskingSettings(budget_usd=1.0), ShardSelection(0, 2), (4.0, 100)).budget_usd == 0.0
    nothing = share_of_limits(AskingSettings(), ShardSelection(0, 2), (0.0, 0))
    assert (nothing.rpm, nothing.tpm, nothing.budget_usd, nothing.budget_tokens) == (None, None, None, None)
