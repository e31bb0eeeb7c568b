"""The relay between an agent and its endpoint, asked over its Unix socket."""

import contextlib
import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

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
        passing_on.set_endpoint(0, endpoint.base_url(0), endpoint.key)
        answer = ask(passing_on, stream=is_streamed)
        assert (answer.status_code, "b__add" in answer.text) == (200, True)
        assert ("data: [DONE]" in answer.text) is is_streamed
        assert passing_on.upstreams[0].statuses == {200: 1}


def test_a_wrong_token_reaches_no_endpoint() -> None:
    with scripted_endpoint() as endpoint, relay(1) as passing_on:
        assert ask(passing_on).status_code == 401  # nothing is pointed at yet
        passing_on.set_endpoint(0, endpoint.base_url(0), endpoint.key)
        assert ask(passing_on, token="wrong").status_code == 401
        assert ask(passing_on, path="/elsewhere").status_code == 404
        assert passing_on.upstreams[0].statuses == {}


def test_a_refusal_is_kept_without_the_key() -> None:
    with scripted_endpoint() as endpoint, relay(1) as passing_on:
        passing_on.set_endpoint(0, endpoint.base_url(0), "the key")  # which is contained in what the endpoint answers
        answer = ask(passing_on)
        assert (answer.status_code, "the key" in answer.text) == (401, False)
        refusal = passing_on.upstreams[0].refusal
        assert refusal is not None and refusal.startswith("HTTP 401: ") and "[key]" in refusal
        assert "the key" not in refusal


def test_an_endpoint_that_is_away_is_a_gateway_error() -> None:
    with relay(1) as passing_on:
        passing_on.set_endpoint(0, "http://127.0.0.1:9/v1", None)
        answer = ask(passing_on)
        assert (answer.status_code, "127.0.0.1 cannot be reached" in answer.text) == (502, True)
        assert passing_on.upstreams[0].statuses == {0: 1}


PIECE = b'data: {"choices": [{"index": 0, "delta": {"content": "One"}, "finish_reason": null}]}\n\n'
LAST = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'


@contextlib.contextmanager
def streaming(*pieces: bytes, encoding: str | None = None) -> Iterator[str]:
    """An endpoint that streams these pieces and closes the connection; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            if encoding:
                self.send_header("Content-Encoding", encoding)
            self.end_headers()
            for piece in pieces:
                self.wfile.write(piece)
                self.wfile.flush()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("pieces", [(), (PIECE,), (PIECE, LAST[:-40])])
def test_an_answer_that_breaks_off_reaches_the_agent_as_a_broken_connection(pieces: tuple[bytes, ...]) -> None:
    with streaming(*pieces) as base_url, relay(1) as passing_on:
        passing_on.set_endpoint(0, base_url, None)
        with pytest.raises(httpx.RemoteProtocolError):
            ask(passing_on, stream=True)
        assert passing_on.upstreams[0].was_cut


@pytest.mark.parametrize(
    "pieces",
    [
        (PIECE, LAST),
        (PIECE, b"data: [DO", b"NE]\n\n"),
        (PIECE + LAST[:60], LAST[60:]),
        tuple(LAST[n : n + 9] for n in range(0, 90, 9)),
    ],
)
def test_an_answer_that_ends_is_not_called_cut(pieces: tuple[bytes, ...]) -> None:
    with streaming(*pieces) as base_url, relay(1) as passing_on:
        passing_on.set_endpoint(0, base_url, None)
        assert ask(passing_on, stream=True).content == b"".join(pieces)
        assert not passing_on.upstreams[0].was_cut


def test_a_packed_stream_is_unpacked_for_the_agent() -> None:
    packed = gzip.compress(PIECE + LAST)
    with streaming(packed[:30], packed[30:], encoding="gzip") as base_url, relay(1) as passing_on:
        passing_on.set_endpoint(0, base_url, None)
        answer = ask(passing_on, stream=True)
        assert (answer.content, answer.headers.get("content-encoding")) == (PIECE + LAST, None)
        assert not passing_on.upstreams[0].was_cut


def test_a_refusal_of_another_path_is_no_refusal_of_the_model() -> None:
    with scripted_endpoint() as endpoint, relay(1) as passing_on:
        passing_on.set_endpoint(0, endpoint.base_url(0), "another key")
        assert ask(passing_on, path="/v1/nonsense").status_code in (401, 404)
        assert passing_on.upstreams[0].refusal is None
