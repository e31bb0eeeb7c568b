"""Forward an agent's requests to its endpoint. The agent has neither the endpoint's key nor access to another host."""

import asyncio
import contextlib
import re
import secrets
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from yarl import URL

from openclawbench.base.terminal import flat
from openclawbench.collect.plan import secret_of
from openclawbench.judge.transport.secrets import NONE, Secrets

PREFIX = "/v1"  # of the paths that the agent asks for; the rest is added to the endpoint's address
# Headers that belong to one connection, or that are written anew.
NOT_PASSED_ON = {
    *("accept-encoding", "authorization", "connection", "content-encoding", "content-length", "host", "keep-alive"),
    "transfer-encoding",
}
ANSWERS = "/chat/completions"  # end of the path of a request to the model
REFUSALS = (401, 402, 403, 404)  # asking again would not help: key, balance, permission, model or address
FAILED = 400  # HTTP statuses from here on
EVENT_STREAM = "text/event-stream"
END_OF_ANSWER = re.compile(rb'"finish_reason"\s*:\s*"|\[DONE\]')
LONGEST_END = 64  # bytes of the end of an answer that two pieces may share
CONNECT_S = 30.0
MOST_BYTES = 64 * 1024**2  # of a request
MESSAGE_CHARACTERS = 300


@dataclass
class Upstream:
    """The endpoint of a worker's requests, and how it answered since the last `Relay.set_endpoint`. `statuses`: HTTP
    status -> count; 0 counts requests that the endpoint did not answer. `refusal`: what it said to the last request to
    the model, if it refused it. `was_cut`: its last answer broke off in the middle."""

    base_url: str
    key: str | None
    secrets: Secrets = NONE
    statuses: Counter[int] = field(default_factory=Counter)
    refusal: str | None = None
    was_cut: bool = False


class Relay:
    """An HTTP server on one Unix socket per worker. The agent shows `token`, the endpoint sees the real key."""

    def __init__(self, workers: int) -> None:
        self.token = secrets.token_urlsafe(16)
        # A socket's path has at most 107 bytes: a data folder's may be longer.
        self.folder = Path(tempfile.mkdtemp(prefix="ocb-"))
        self.upstreams: dict[int, Upstream] = {}
        self.workers = workers
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="relay", daemon=True)
        self.runners: list[web.AppRunner] = []
        self.client: aiohttp.ClientSession | None = None

    def socket(self, worker: int) -> Path:
        """The Unix socket of a worker's agent."""
        return self.folder / f"{worker}.sock"

    def set_endpoint(self, worker: int, base_url: str, key: str | None) -> None:
        """Set the endpoint of a worker's requests, and reset its counts."""
        self.upstreams[worker] = Upstream(base_url.rstrip("/"), key, secret_of(key))

    def start(self) -> None:
        """Listen for every worker."""
        self.thread.start()
        self.wait_for(self.listen())

    def stop(self) -> None:
        """End every connection."""
        self.wait_for(self.end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(timeout=10)
        shutil.rmtree(self.folder, ignore_errors=True)

    def wait_for(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the relay's thread, and wait for it."""
        asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout=30)

    async def listen(self) -> None:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S)
        self.client = aiohttp.ClientSession(timeout=timeout, trust_env=True)  # bodies are passed on unpacked
        for worker in range(self.workers):
            app = web.Application(client_max_size=MOST_BYTES)
            app.router.add_route("*", "/{path:.*}", self.handler(worker))
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
            await runner.setup()
            await web.UnixSite(runner, str(self.socket(worker))).start()
            self.runners.append(runner)

    async def end(self) -> None:
        for runner in self.runners:
            await runner.cleanup()
        if self.client is not None:
            await self.client.close()

    def handler(self, worker: int) -> Any:
        """The request handler of a worker."""

        async def handle(request: web.Request) -> web.StreamResponse:
            upstream = self.upstreams.get(worker)
            if upstream is None or not secrets.compare_digest(
                request.headers.get("Authorization", "").encode(), f"Bearer {self.token}".encode()
            ):
                return problem(401, "the token of the relay is wrong")
            if not request.raw_path.startswith(f"{PREFIX}/"):
                return problem(404, f"the relay knows {PREFIX}/… only")
            try:
                return await self.forward(request, upstream)
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                upstream.statuses[0] += 1
                host = URL(upstream.base_url).host or upstream.base_url
                return problem(502, f"{host} cannot be reached: {flat(str(error)) or type(error).__name__}")

        return handle

    async def forward(self, request: web.Request, upstream: Upstream) -> web.StreamResponse:
        """Send the request to the endpoint, and stream the answer to the agent."""
        assert self.client is not None
        headers = forwarded_headers(request.headers)
        if upstream.key:
            headers["Authorization"] = f"Bearer {upstream.key}"
        url = URL(upstream.base_url + request.raw_path.removeprefix(PREFIX), encoded=True)
        body = await request.read()
        async with self.client.request(
            request.method, url, data=body, headers=headers, allow_redirects=False
        ) as response:
            upstream.statuses[response.status] += 1
            if response.status >= FAILED:  # some servers repeat the key of a request
                content = upstream.secrets.shown(await response.read())
                is_refusal = response.status in REFUSALS and request.path.endswith(ANSWERS)
                if is_refusal:
                    text = flat(content.decode("utf-8", "replace"))[:MESSAGE_CHARACTERS]
                    upstream.refusal = f"HTTP {response.status}: {text}"
                return web.Response(status=response.status, body=content, headers=forwarded_headers(response.headers))
            upstream.refusal = None
            return await self.stream(request, response, upstream)

    async def stream(
        self, request: web.Request, response: aiohttp.ClientResponse, upstream: Upstream
    ) -> web.StreamResponse:
        """Stream an answer. If it breaks off, the agent's connection breaks as well: otherwise OpenClaw would take the
        part for the whole answer."""
        answer = web.StreamResponse(status=response.status, headers=forwarded_headers(response.headers))
        await answer.prepare(request)
        has_ended, last = response.content_type != EVENT_STREAM, b""
        try:
            async for piece in response.content.iter_any():
                has_ended = has_ended or END_OF_ANSWER.search(last + piece) is not None
                last = (last + piece)[-LONGEST_END:]
                await answer.write(piece)
        except aiohttp.ClientError:
            has_ended = False
        agent = request.transport
        if agent is None or agent.is_closing():  # the agent went away by itself
            return answer
        upstream.was_cut = not has_ended
        if not has_ended:
            agent.abort()
        with contextlib.suppress(ConnectionError):
            await answer.write_eof()
        return answer


def forwarded_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that are not of one connection."""
    return {name: value for name, value in headers.items() if name.lower() not in NOT_PASSED_ON}


def problem(status: int, message: str) -> web.Response:
    """An error in the form that clients of OpenAI's API read."""
    return web.json_response({"error": {"message": message, "type": "relay_error"}}, status=status)


@contextlib.contextmanager
def relay(workers: int) -> Iterator[Relay]:
    """A running relay, which stops when the context ends."""
    running = Relay(workers)
    running.start()
    try:
        yield running
    finally:
        running.stop()
