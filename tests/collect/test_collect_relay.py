"""The relay between an agent and its endpoint, asked over its Unix socket."""

import httpx
import pytest
from planned import found_task

from openclawbench.collect.plan import planned_task
from openclawbench.collect.relay import Relay, relay
from openclawbench.collect.scripted_endpoint import scripted_endpoint

BODY = {"model": "m", "messages": [{"role": "user", "content": "Add."}], "tools": [{"type": "function"}]}


def ask(
    passing_on: Relay, token: str | None = None, path: str = "/v1/chat/completions", **more: object
) -> httpx.Response:
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(passing_on.socket(0)))) as client:
        headers = {"Authorization": f"Bearer {token or passing_on.token}"}
        return client.post(f"http://agent{path}", json=BODY | more, headers=headers, timeout=30)


@pytest.mark.parametrize("is_streamed", [False, True])
def test_the_agent_is_answered_without_knowing_the_key(is_streamed: bool) -> None:
    with scripted_endpoint() as endpoint, relay(1) as passing_on:
        endpoint.load(0, planned_task(found_task("t_0"), "right").script)
        passing_on.point(0, endpoint.base_url(0), endpoint.key)
        answer = ask(passing_on, stream=is_streamed)
        assert (answer.status_code, "b__add" in answer.text) == (200, True)
        assert ("data: [DONE]" in answer.text) is is_streamed
        assert passing_on.upstreams[0].statuses == {200: 1}


def test_a_wrong_token_reaches_no_endpoint() -> None:
    with scripted_endpoint() as endpoint, relay(1) as passing_on:
        assert ask(passing_on).status_code == 401  # nothing is pointed at yet
        passing_on.point(0, endpoint.base_url(0), endpoint.key)
        assert ask(passing_on, token="wrong").status_code == 401
        assert ask(passing_on, path="/elsewhere").status_code == 404
        assert passing_on.upstreams[0].statuses == {}


def test_a_refusal_is_kept_without_the_key() -> None:
    with scripted_endpoint() as endpoint, relay(1) as passing_on:
        passing_on.point(0, endpoint.base_url(0), "the key")  # which is contained in what the endpoint answers
        assert ask(passing_on).status_code == 401
        refusal = passing_on.upstreams[0].refusal
        assert refusal is not None and refusal.startswith("HTTP 401: ") and "***" in refusal
        assert "the key" not in refusal


def test_an_endpoint_that_is_away_is_a_gateway_error() -> None:
    with relay(1) as passing_on:
        passing_on.point(0, "http://127.0.0.1:9/v1", None)
        answer = ask(passing_on)
        assert (answer.status_code, "127.0.0.1 cannot be reached" in answer.text) == (502, True)
        assert passing_on.upstreams[0].statuses == {0: 1}
