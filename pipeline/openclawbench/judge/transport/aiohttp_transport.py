"""The thin transport: the requests of the `openai` client over aiohttp alone, at a tenth of its cost a call."""

import ssl
from typing import Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from openclawbench.judge.transport.bounded_body import ACCEPTED, read_body
from openclawbench.judge.transport.endpoint import Endpoint
from openclawbench.judge.transport.protocol import HttpResponse, TransientError
from openclawbench.judge.transport.responses import check_response, one_line
from openclawbench.rules.judge.asking import AskingRules
from openclawbench.version import __version__


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for an address. Looked up once; aiohttp would look it up for every
    request."""
    parts = urlsplit(url)
    if proxy_bypass(parts.netloc):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


def failure_of(error: BaseException | None) -> TransientError:
    """The failure behind an exception of aiohttp."""
    if isinstance(error, TransientError):
        return error
    words = one_line(str(error))
    if isinstance(error, aiohttp.ClientProxyConnectionError | aiohttp.ClientHttpProxyError):
        return TransientError("proxy_failed", words=words)
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError | ssl.CertificateError):
        return TransientError("tls_failed", words=words)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return TransientError("name_not_found", words=words)
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, ConnectionRefusedError):
        return TransientError("connection_refused", words=words)
    if isinstance(error, aiohttp.ConnectionTimeoutError | aiohttp.ClientConnectorError | aiohttp.InvalidURL):
        return TransientError("no_connection", words=words)
    if isinstance(error, TimeoutError):
        return TransientError("timeout", may_be_paid=True)
    return TransientError("connection_lost", may_be_paid=True)


class AiohttpTransport:
    """POSTs bodies over one pool of connections. Redirects are not followed: a key goes nowhere else."""

    def __init__(self, endpoint: Endpoint, concurrency: int, rules: AskingRules) -> None:
        self.endpoint, self.concurrency, self.rules = endpoint, concurrency, rules
        self.url = f"{endpoint.base_url}/chat/completions"
        self.secrets = endpoint.secrets(rules)

    async def __aenter__(self) -> Self:
        times = self.rules.connection
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self.concurrency),
            timeout=aiohttp.ClientTimeout(total=times.answer_s, connect=None, sock_connect=times.connect_s),
            headers={
                "Content-Type": "application/json",
                "Accept": "application/json",
                "Accept-Encoding": ACCEPTED,
                "User-Agent": f"openclawbench/{__version__}",
                **self.endpoint.headers(),
            },
            proxy=proxy_for(self.endpoint.base_url),
            auto_decompress=False,  # done here, where the limit on what it comes to holds
            cookie_jar=aiohttp.DummyCookieJar(),  # none are kept, and none looked for at every request
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.session.close()

    async def send(self, body: bytes) -> HttpResponse:
        """The whole answer. Raises TransientError or RejectedRequest."""
        try:
            async with self.session.post(self.url, data=body, allow_redirects=False) as response:
                content = await content_of(response, self.rules.connection.largest_answer_bytes)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise failure_of(error) from error
        return check_response(response.status, response.headers, content, self.rules, self.secrets)


async def content_of(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The body of a response. Raises TransientError if it is larger than `most` when decompressed."""
    return await read_body(response.content.iter_any(), response.headers.get("content-encoding", ""), most)
