"""The endpoint's files and batches: upload, create, find, poll, download. Failures of transport are retried."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Self

import aiohttp
import msgspec

from openclawbench.errors import EndpointFailing, EndpointRefused
from openclawbench.judge.retry import RetryPolicy
from openclawbench.judge.transport.aiohttp_transport import content_of, failure_of, proxy_for
from openclawbench.judge.transport.bounded_body import ACCEPTED, decompress_body
from openclawbench.judge.transport.endpoint import Endpoint, printable_url
from openclawbench.judge.transport.protocol import TransientError
from openclawbench.judge.transport.responses import failure, one_line
from openclawbench.rules.judge.asking import AskingRules

BATCH_NAME = "openclawbench"  # name of the metadata field that holds a batch's name
HINTS = {
    401: "Set OPENAI_API_KEY to a key that is valid there and run again.",
    403: "This key may not make batches there. Use another key and run again.",
}


class BatchClient:
    """The Batch API of an endpoint. Use it as an async context manager."""

    def __init__(self, endpoint: Endpoint, rules: AskingRules) -> None:
        self.endpoint, self.rules = endpoint, rules
        self.retry_policy = RetryPolicy(rules.retry)
        self.secrets = endpoint.secrets(rules)

    async def __aenter__(self) -> Self:
        times = self.rules.connection
        self.session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=times.connect_s, sock_read=times.answer_s),
            headers=self.endpoint.headers() | {"Accept-Encoding": ACCEPTED},
            auto_decompress=False,
            proxy=proxy_for(self.endpoint.base_url),
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.session.close()

    async def upload(self, path: Path) -> str:
        """Upload a file of requests; its id."""

        async def attempt() -> bytes:
            with path.open("rb") as file:
                form = aiohttp.FormData()
                form.add_field("purpose", "batch")
                form.add_field("file", file, filename=path.name, content_type="application/jsonl")
                return await self.exchange("POST", "/files", data=form)

        return str(required_field(msgspec.json.decode(await self.with_retries(attempt)), "id"))

    async def create(self, file: str, name: str) -> dict[str, Any]:
        """Create a batch of an uploaded file, unless it exists: an attempt whose answer was lost may have created
        it."""

        async def attempt() -> bytes:
            if (batch := await self.find_once(name)) is not None:
                return msgspec.json.encode(batch)
            body = {
                "input_file_id": file,
                "endpoint": "/v1/chat/completions",
                "completion_window": self.rules.batch.completion_window,
                "metadata": {BATCH_NAME: name},
            }
            return await self.exchange("POST", "/batches", json=body)

        batch: dict[str, Any] = msgspec.json.decode(await self.with_retries(attempt))
        required_field(batch, "id")
        return batch

    async def find(self, name: str) -> dict[str, Any] | None:
        """The endpoint's batch of this name; None if the endpoint does not know it."""

        async def attempt() -> bytes:
            return msgspec.json.encode(await self.find_once(name))

        content: dict[str, Any] | None = msgspec.json.decode(await self.with_retries(attempt))
        return content

    async def find_once(self, name: str) -> dict[str, Any] | None:
        """The same, without retries."""
        after = ""
        while True:
            page = msgspec.json.decode(await self.exchange("GET", f"/batches?limit=100{after}"))
            entries = page.get("data") or []
            for entry in entries:
                if (entry.get("metadata") or {}).get(BATCH_NAME) == name:
                    return dict(entry)
            if not page.get("has_more") or not entries:
                return None
            after = f"&after={entries[-1]['id']}"

    async def status(self, id_: str) -> dict[str, Any]:
        """The state of a batch."""
        content: dict[str, Any] = msgspec.json.decode(
            await self.with_retries(lambda: self.exchange("GET", f"/batches/{id_}"))
        )
        required_field(content, "status")
        return content

    async def download(self, file: str, to: Path) -> None:
        """Download a file to the disk."""

        async def attempt() -> bytes:
            return await self.exchange("GET", f"/files/{file}/content", to=to)

        await self.with_retries(attempt)

    async def with_retries(self, attempt: Callable[[], Awaitable[bytes]]) -> bytes:
        """The result of an attempt; transient failures are retried. Raises EndpointFailing when patience ends."""
        try:
            try:
                return await attempt()
            except TransientError as failure:
                return await self.retry_policy.retry(failure, attempt, asyncio.sleep)
        except TransientError as failure:
            raise EndpointFailing(
                f"the endpoint's batches cannot be reached ({failure.sentence}). Every answer is kept; run again to go "
                "on."
            ) from failure

    async def exchange(self, method: str, path: str, to: Path | None = None, **values: Any) -> bytes:
        """The body of a response; empty if it went to a file. Raises TransientError and EndpointRefused."""
        url = f"{self.endpoint.base_url}{path}"
        try:
            async with self.session.request(method, url, allow_redirects=False, **values) as response:
                if response.status == 200 and to is not None:
                    encoding = response.headers.get("content-encoding", "")
                    most = self.rules.batch.largest_file_bytes
                    with to.open("wb") as file:
                        async for piece in decompress_body(response.content.iter_any(), encoding, most):
                            file.write(piece)
                    return b""
                content = await content_of(response, self.rules.connection.largest_answer_bytes)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise failure_of(error) from error
        if response.status == 200:
            if not isinstance(json_of(content), dict):
                raise TransientError(
                    "broken_body", words=one_line(self.secrets.shown(content[:200]).decode("utf-8", "replace"))
                )
            return content
        problem = failure(response.status, self.secrets.shown(content), response.headers, self.rules, None)
        if isinstance(problem, TransientError):
            raise problem
        where = f"{printable_url(self.endpoint.base_url)}{path.partition('?')[0]}"
        hint = HINTS.get(response.status, "Does this endpoint have batches?")
        raise EndpointRefused(f"{where} refuses ({response.status}). {hint} It says: {problem.message}")


def required_field(batch: dict[str, Any], name: str) -> Any:
    """A field of an endpoint's answer. Raises EndpointFailing if it is missing."""
    if batch.get(name) is None:
        raise EndpointFailing(f"the endpoint's answer about a batch has no {name}. Every answer is kept; run again.")
    return batch[name]


def json_of(content: bytes) -> Any:
    """The JSON value of a body; null if it is not valid JSON."""
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
