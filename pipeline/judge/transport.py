"""One call over the network: a body out, an answer back, or the reason why there is none. Two do the same."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

from pipeline.errors import WrongUse
from pipeline.records.fulltax import Usage
from pipeline.rules.asking import AskingRules

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


class Passing(Exception):
    """A failure of transport that may pass. `may_be_paid`: the model may have answered and the answer been lost."""

    def __init__(self, reason: str, may_be_paid: bool = False, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason, self.may_be_paid, self.retry_after = reason, may_be_paid, retry_after


class Refusal(Exception):
    """The endpoint refuses: status and its own words, cut to a readable length."""

    def __init__(self, status: int, message: str, body: bytes, headers: Mapping[str, str]) -> None:
        super().__init__(f"{status}: {message}")
        self.status, self.message, self.body, self.headers = status, message, body, headers


@dataclass(frozen=True)
class Parsed:
    """An answer taken apart. `finish` is complete, truncated, refusal, empty or content_filter."""

    text: str
    finish: str
    usage: Usage
    id: str | None


@dataclass(frozen=True)
class Received:
    """A response of status 200, whole and verbatim. Header names are in lower case or the mapping ignores case."""

    body: bytes
    headers: Mapping[str, str]
    parsed: "Parsed | None" = None  # null for the body of a refusal


@dataclass(frozen=True)
class Endpoint:
    """Where to send, and as whom. Made from the environment as the `openai` client reads it; never printed."""

    base_url: str
    key: str | None = field(repr=False)
    organization: str | None = field(default=None, repr=False)
    project: str | None = field(default=None, repr=False)
    more_headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def from_environment(cls, base_url: str | None, rules: AskingRules, environment: Mapping[str, str]) -> "Endpoint":
        """OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_ORG_ID, OPENAI_PROJECT_ID, OPENAI_CUSTOM_HEADERS. WrongUse where the
        address is none, or where there is no key and the address is not this machine's."""
        url = (base_url or environment.get("OPENAI_BASE_URL") or rules.connection.default_base_url).strip().rstrip("/")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise WrongUse("the base URL is no http(s) address. Give one with --base-url or OPENAI_BASE_URL.")
        if "@" in parts.netloc:
            raise WrongUse(
                f"{shown(url)}: the base URL holds a user name or password. Leave them out; keys come "
                "from OPENAI_API_KEY."
            )
        key = environment.get("OPENAI_API_KEY") or None
        if key is None and parts.hostname not in LOCAL_HOSTS:
            raise WrongUse("there is no key for the judge. Set OPENAI_API_KEY.")
        organization, project = environment.get("OPENAI_ORG_ID"), environment.get("OPENAI_PROJECT_ID")
        return cls(url, key, organization, project, custom_headers(environment.get("OPENAI_CUSTOM_HEADERS") or ""))

    @property
    def is_local(self) -> bool:
        """True where the address is this machine's."""
        return urlsplit(self.base_url).hostname in LOCAL_HOSTS

    def headers(self) -> dict[str, str]:
        """Headers that say who asks."""
        found = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        if self.organization:
            found["OpenAI-Organization"] = self.organization
        if self.project:
            found["OpenAI-Project"] = self.project
        return found | dict(self.more_headers)

    def clean(self, body: bytes) -> bytes:
        """A body of the endpoint's with the key taken out, should it repeat it: what is kept, or shown, holds none."""
        return body.replace(self.key.encode(), b"[key]") if self.key else body


class Transport(Protocol):
    """Sends one body to /chat/completions. Use it as an async context manager."""

    async def send(self, body: bytes) -> Received:
        """The whole answer. Raises Passing or Refusal."""
        ...

    async def __aenter__(self) -> "Transport": ...

    async def __aexit__(self, *error: object) -> None: ...


def shown(url: str) -> str:
    """An address as it may be printed and kept: without user, password and query."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path}"


def custom_headers(text: str) -> dict[str, str]:
    """`Name: value` lines, as the `openai` client reads them."""
    pairs = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, value in pairs}
