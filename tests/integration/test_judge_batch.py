"""Batch mode: the same answers, keys and release; found again after a kill at any moment, nothing handed over twice."""

import signal
import time
from pathlib import Path
from typing import Any

import pytest
from asking import Endpoint, arguments, fresh, ledger, rules
from child import call, lines, start, table

pytestmark = pytest.mark.slow

PATIENCE = 60.0  # seconds


@pytest.fixture(scope="module")
def online(endpoint: Endpoint, raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that asked question by question."""
    folder = tmp_path_factory.mktemp("online")
    endpoint.script()
    data = fresh(folder)
    assert call(*arguments(endpoint, data, raw), env=rules(folder)).status == 0
    return data


def quick(folder: Path, **more: Any) -> dict[str, str]:
    return rules(folder, poll_s=0.05, **more)


def without_cost(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "cost_usd"} for row in rows]


def test_batches_give_the_same_answers_at_half_the_price(
    endpoint: Endpoint, raw: Path, online: Path, tmp_path: Path
) -> None:
    data = fresh(tmp_path)
    endpoint.script()
    ended = call(*arguments(endpoint, data, raw, "--batch"), env=quick(tmp_path, requests=5))
    assert ended.status == 0, ended.err
    for stage in ("a", "b1", "b2", "c"):
        batched, usual = table(data, f"answer_{stage}"), table(online, f"answer_{stage}")
        assert without_cost(batched) == without_cost(usual)
        assert [2 * row["cost_usd"] for row in batched] == pytest.approx([row["cost_usd"] for row in usual])
    log = endpoint.log()
    assert {batch["lines"] <= 5 for batch in log["batches"]} == {True} and len(log["batches"]) >= 5
    assert not log["times"], "something was asked online"
    assert ledger(data, "select key from batched") == [] and not passing(data)
    assert call(*arguments(endpoint, data, raw, "--batch"), env=quick(tmp_path)).status == 0
    assert len(endpoint.log()["batches"]) == len(log["batches"])


def test_what_a_batch_did_not_answer_is_asked_in_another_and_odd_answers_once_more(
    endpoint: Endpoint, raw: Path, online: Path, tmp_path: Path
) -> None:
    data = fresh(tmp_path)
    endpoint.script(faults={"500": 0.4}, odd={"not_json": 0.5})
    ended = call(*arguments(endpoint, data, raw, "--batch"), env=quick(tmp_path))
    assert ended.status == 0, ended.err
    assert set(endpoint.log()["paid"].values()) == {1}
    assert max(endpoint.log()["came"].values()) > 1
    rows = table(data, "decision_a")
    assert {row["outcome"] for row in rows} == {"parsed"} and any(row["former"] for row in rows)
    assert [row["answer"] for row in rows] == [row["answer"] for row in table(online, "decision_a")]


@pytest.mark.parametrize(("refused", "way"), [(["json_schema"], "json_object"), (["seed"], '"seed":false')])
def test_what_an_endpoint_refuses_in_a_batch_is_left_out_of_the_next(
    refused: list[str], way: str, endpoint: Endpoint, raw: Path, tmp_path: Path
) -> None:
    data = fresh(tmp_path)
    endpoint.script(refuse_params=refused)
    ended = call(*arguments(endpoint, data, raw, "--batch", "--stage", "a", verb="annotate"), env=quick(tmp_path))
    assert ended.status == 0, ended.err
    log = endpoint.log()
    assert set(log["paid"].values()) == {1} and len(log["batches"]) == 2
    assert all(way in kept for (kept,) in ledger(data, "select way from answers"))


def test_a_batch_that_is_refused_for_good_or_fails_says_why_and_locks_nothing(
    endpoint: Endpoint, raw: Path, tmp_path: Path
) -> None:
    data, env = fresh(tmp_path), quick(tmp_path)
    endpoint.script(fail_batches="the file holds too many requests")
    ended = call(*arguments(endpoint, data, raw, "--batch"), env=env)
    assert (ended.status, "ended as failed: the file holds too many requests" in ended.err) == (3, True)
    assert len(endpoint.log()["batches"]) == 1
    endpoint.script(refuse={"status": 400, "message": "this model may not be asked so"})
    ended = call(*arguments(endpoint, data, raw, "--batch"), env=env)
    assert (ended.status, "this model may not be asked so" in ended.err) == (2, True)
    endpoint.script()
    assert call(*arguments(endpoint, data, raw), env=env).status == 0


def passing(data: Path) -> list[Path]:
    """Files on their way to or from the endpoint."""
    return list((data / "ledger").glob(".batch-*"))


def reached(moment: str, endpoint: Endpoint, data: Path) -> bool:
    """True where a batch run is at this moment or past it."""
    path = data / "ledger" / "ledger.sqlite"
    if moment == "written down":
        return path.exists() and bool(passing(data))
    batches = endpoint.log()["batches"]
    return bool(batches) and (moment == "made" or batches[0]["looked"] > 2)


@pytest.mark.parametrize("moment", ["written down", "made", "looked after"])
def test_a_killed_run_finds_its_batches_again(
    moment: str, endpoint: Endpoint, raw: Path, online: Path, tmp_path: Path
) -> None:
    data, env = fresh(tmp_path), quick(tmp_path)
    endpoint.script(looks=20)
    child = start(*arguments(endpoint, data, raw, "--batch"), env=env)
    limit = time.monotonic() + PATIENCE
    while not reached(moment, endpoint, data):
        assert not child.has_ended() and time.monotonic() < limit
    child.send(signal.SIGKILL)
    assert child.wait().status == -signal.SIGKILL
    if moment == "looked after":
        refused = call(*arguments(endpoint, data, raw), env=env)
        assert refused.status == 3 and "--batch" in refused.err
    ended = call(*arguments(endpoint, data, raw, "--batch"), env=env)
    assert ended.status == 0, ended.err
    assert set(endpoint.log()["paid"].values()) == {1}
    assert without_cost(table(data, "answer_a")) == without_cost(table(online, "answer_a"))
    assert not passing(data)


def test_a_batch_whose_making_was_not_heard_of_is_not_made_twice(endpoint: Endpoint, raw: Path, tmp_path: Path) -> None:
    endpoint.script(lose_batch=True)
    data = fresh(tmp_path)
    ended = call(*arguments(endpoint, data, raw, "--batch", "--stage", "a", verb="annotate"), env=quick(tmp_path))
    assert ended.status == 0, ended.err
    assert len(endpoint.log()["batches"]) == 1 and set(endpoint.log()["paid"].values()) == {1}


def test_batches_and_single_questions_mix_in_one_ledger(
    endpoint: Endpoint, raw: Path, online: Path, tmp_path: Path
) -> None:
    data = fresh(tmp_path)
    endpoint.script()
    ended = call(*arguments(endpoint, data, raw, "--stage", "a", verb="annotate"), env=quick(tmp_path))
    assert ended.status == 0, ended.err
    assert call(*arguments(endpoint, data, raw, "--batch"), env=quick(tmp_path)).status == 0
    assert set(endpoint.log()["paid"].values()) == {1}
    master = lines(data / "release" / "fulltax_prod_v1" / "scripted-a" / "master_table_all.jsonl")
    usual = lines(online / "release" / "fulltax_prod_v1" / "scripted-a" / "master_table_all.jsonl")
    assert [row["stages"] for row in master] == [row["stages"] for row in usual]
