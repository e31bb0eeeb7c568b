"""What is sent when, and what is not sent at all: stated rates, an overloaded endpoint, packets that are too long."""

import re
from pathlib import Path

import pytest
from asking import Endpoint, arguments, fresh, many_raw, rules
from child import call, manifest, table

from openclawbench.judge.sent_packet import opaque_id
from openclawbench.rules.loading.own_folder import shipped_path

pytestmark = pytest.mark.slow

NAMED = re.compile(r'"trajectory_id":"([^"]+)"')
ROUND = """
[[round]]
id = "nothing"
steps = "other"
fields = ["reflection_text"]
keep = 1000000
"""


def test_no_minute_holds_more_requests_than_was_stated(endpoint: Endpoint, raw: Path, tmp_path: Path) -> None:
    data = fresh(tmp_path)
    endpoint.script()
    rpm = 240
    ended = call(
        *arguments(endpoint, data, raw, "--rpm", str(rpm), "--stage", "a", verb="annotate"), env=rules(tmp_path)
    )
    assert ended.status == 0, ended.err
    times = endpoint.log()["times"]
    assert len(times) == 12
    per_second = rpm / 60
    for first, begin in enumerate(times):
        for last in range(first + 1, len(times)):
            allowed = per_second * (times[last] - begin + 0.5) + 1  # what was missed in half a second is caught up on
            assert last - first <= allowed, (first, last)


def test_an_endpoint_that_is_overloaded_gets_fewer_at_once(endpoint: Endpoint, tmp_path: Path) -> None:
    """It takes three at once and says nothing of when to come again; sixteen are allowed."""
    raw = many_raw(tmp_path / "raw", 2)
    endpoint.script(busy_above=3, latency_s=0.05)
    asked = arguments(endpoint, fresh(tmp_path), raw, "--stage", "a", "--concurrency", "16", verb="annotate")
    ended = call(*asked, env=rules(tmp_path, longest_wait_s=0.05))
    assert ended.status == 0, ended.err
    log = endpoint.log()
    assert set(log["paid"].values()) == {1}
    third = len(log["busy"]) // 3
    first, last = sum(log["busy"][:third]), sum(log["busy"][-third:])
    assert first > 13 and last < first / 2, (first, last, third)


def test_a_pause_that_the_endpoint_asks_for_is_kept(endpoint: Endpoint, raw: Path, tmp_path: Path) -> None:
    data = fresh(tmp_path)
    endpoint.script(headers={"x-ratelimit-limit-requests": "60"})
    ended = call(*arguments(endpoint, data, raw, "--stage", "a", verb="annotate"), env=rules(tmp_path))
    assert ended.status == 0, ended.err
    times = endpoint.log()["times"]
    assert times[-1] - times[0] > 8.0  # twelve of them, one a second, but for the ones that went before it was known


def test_a_packet_that_is_too_long_even_shortened_is_never_sent(endpoint: Endpoint, raw: Path, tmp_path: Path) -> None:
    path, data, env = fresh(tmp_path / "whole"), fresh(tmp_path), rules(tmp_path)
    assert call("packet", "--data", path, "--raw", raw).status == 0
    sizes = sorted(row["estimated_tokens"] for row in table(path, "packet_index"))
    rule = shipped_path("packet.toml").read_text()
    shorter = re.sub(r"(?m)^max_tokens = .*$", f"max_tokens = {sizes[6]}", rule)
    kept_whole = shorter[: shorter.index("[[round]]")] + ROUND
    (tmp_path / "rules" / "packet.toml").write_text(kept_whole)
    endpoint.script()
    dry = call(*arguments(endpoint, data, raw, verb="annotate"), "--dry-run", "--json", env=env)
    ended = call(*arguments(endpoint, data, raw), env=env)
    assert ended.status == 0, ended.err
    fits = {row["trajectory_id"]: row["fits"] for row in table(data, "packet_index")}
    unsent = {name for name, fit in fits.items() if not fit}
    assert 0 < len(unsent) < len(fits)
    assert f"{len(unsent)} too long, not sent" in ended.err
    assert dry.json["stages"][0]["questions"] == dry.json["stages"][0]["calls"] == len(fits) - len(unsent)
    asked = {NAMED.search(body["messages"][1]["content"])[1] for body in endpoint.log()["bodies"]}
    keys = {row["trajectory_id"]: row["source_model"] for row in table(data, "packet_index")}
    assert asked == {opaque_id(keys[name], name) for name in set(fits) - unsent}
    rows = {row["trajectory_id"]: row for row in table(data, "decision_a")}
    assert {(rows[entry]["failure"], rows[entry]["cost_usd"], rows[entry]["request_id"]) for entry in unsent} == {
        ("too_long", 0.0, None)
    }
    causes = {row["trajectory_id"]: row["review_cause"] for row in table(data, "annotation")}
    assert {name for name, cause in causes.items() if cause == "too_long"} == unsent
    assert {"purpose": "label", "outcome": "parse_failure", "failure": "too_long", "count": len(unsent)} in manifest(
        data, "decide_a"
    )["reasons"]["DecisionA"]
    assert call("validate", data / "release").status == 0
    assert call(*arguments(endpoint, data, raw), env=env).status == 0
