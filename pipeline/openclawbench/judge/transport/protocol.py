"""The interface of transports, of which there are two: a body out, an answer or the reason of the failure back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from openclawbench.records.fulltax import Usage


class TransientError(Exception):
    """A failure of transport that may pass. `may_be_paid`: the model may have answered and the answer been lost;
    `words`: the message of the endpoint or the system; `body`: of a response with status 200 that is not an answer;
    `again`: false if the next attempt would be paid for and end the same way."""

    def __init__(
        self,
        reason: str,
        may_be_paid: bool = False,
        retry_after: float | None = None,
        words: str = "",
        body: bytes | None = None,
        again: bool = True,
    ) -> None:
        super().__init__(reason)
        self.reason, self.may_be_paid, self.retry_after = reason, may_be_paid, retry_after
        self.words, self.body, self.again = words, body, again

    @property
    def sentence(self) -> str:
        """The reason, the message and, if known, the cause and what to do about it."""
        sentence = CAUSES.get(self.reason)
        quoted_words = (
            f"it says: {self.words}" if self.words and self.reason.startswith(REPORTED_BY_ENDPOINT) else self.words
        )
        return (
            ": ".join([self.reason, "; ".join(part for part in (sentence, quoted_words) if part)])
            if sentence or quoted_words
            else self.reason
        )


REPORTED_BY_ENDPOINT = (
    "status_",
    "error_in_answer",
    "broken_body",
)  # reasons of failures that the endpoint itself reported
CAUSES = {  # reason -> what it means and what to do
    "connection_refused": "nothing listens at this address; start the server, or correct --base-url",
    "name_not_found": "the host name of the address cannot be resolved; correct --base-url, or check the network",
    "tls_failed": "no secure connection; the certificate must be one that this machine trusts (SSL_CERT_FILE names "
    "others), and the address must begin with http:// where the server has no TLS",
    "proxy_failed": "the proxy that the environment names (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY) cannot be used; correct "
    "it, or name the host in NO_PROXY",
    "no_connection": "the endpoint cannot be reached; check --base-url and the network",
    "timeout": "no whole answer within connection.answer_s of asking.toml",
    "connection_lost": "the connection broke off before the answer was whole",
    "broken_body": "status 200, but the body is not a chat completion; is --base-url the one of an OpenAI-compatible "
    "API (it often ends in /v1)?",
    "error_in_answer": "the endpoint sent an error with status 200",
    "answer_too_large": "the response is larger than connection.largest_answer_bytes of asking.toml",
    "unknown_encoding": "the response is compressed in a way that was not asked for",
}


class RejectedRequest(Exception):
    """The endpoint refuses the request: the status and its message, cut to a readable length."""

    def __init__(
        self, status: int, message: str, body: bytes, headers: Mapping[str, str], request_id: str | None = None
    ) -> None:
        super().__init__(f"{status}: {message}")
        self.status, self.message, self.body, self.headers = status, message, body, headers
        self.request_id = request_id


@dataclass(frozen=True)
class ParsedAnswer:
    """A parsed answer. `finish` is complete, truncated, refusal, empty or content_filter; `text_from` is the field that
    held the text (content, tool_calls, reasoning); `missing` names missing or impossible counts of the usage, which are
    zero."""

    text: str
    finish: str
    usage: Usage
    id: str | None
    text_from: str = "content"
    reasoning: str | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class HttpResponse:
    """A response of status 200, whole and verbatim. Header names are in lower case or the mapping ignores case."""

    body: bytes
    headers: Mapping[str, str]
    parsed: "ParsedAnswer | None" = None  # null for the body of a refusal
    request_id: str | None = None  # of the headers


class Transport(Protocol):
    """Sends one body to /chat/completions. Use it as an async context manager."""

    async def send(self, body: bytes) -> HttpResponse:
        """The whole answer. Raises TransientError or RejectedRequest."""
        ...

    async def __aenter__(self) -> "Transport": ...

    async def __aexit__(self, *error: object) -> None: ...
