"""The address of an endpoint, with the key and the headers that identify the caller."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from openclawbench.errors import UsageError
from openclawbench.judge.transport.secrets import Secrets
from openclawbench.rules.judge.asking import AskingRules

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


def address_of(base_url: str | None, rules: AskingRules, environment: Mapping[str, str]) -> str:
    """The base URL: as given, else OPENAI_BASE_URL, else that of asking.toml."""
    return (base_url or environment.get("OPENAI_BASE_URL") or rules.connection.default_base_url).strip().rstrip("/")


@dataclass(frozen=True)
class Endpoint:
    """Address and identity for requests. Read from the environment as the `openai` client reads it; never printed."""

    base_url: str
    key: str | None = field(repr=False)
    organization: str | None = field(default=None, repr=False)
    project: str | None = field(default=None, repr=False)
    more_headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def from_environment(cls, base_url: str | None, rules: AskingRules, environment: Mapping[str, str]) -> "Endpoint":
        """OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_ORG_ID, OPENAI_PROJECT_ID, OPENAI_CUSTOM_HEADERS. Raises
        UsageError if the address is not valid."""
        url = address_of(base_url, rules, environment)
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError("the base URL is not an http(s) address. Give one with --base-url or OPENAI_BASE_URL.")
        if "@" in parts.netloc:
            raise UsageError(
                f"{printable_url(url)}: the base URL holds a user name or password. Leave them out; keys come "
                "from OPENAI_API_KEY."
            )
        key = header_value("OPENAI_API_KEY", environment)
        organization = header_value("OPENAI_ORG_ID", environment)
        project = header_value("OPENAI_PROJECT_ID", environment)
        return cls(url, key, organization, project, custom_headers(environment.get("OPENAI_CUSTOM_HEADERS") or ""))

    def check_key(self) -> None:
        """Raise UsageError if there is no key and the address is not on this machine: before the first request."""
        if self.key is None and not self.is_local:
            raise UsageError(
                "there is no key for the judge. Set OPENAI_API_KEY, or name the judge that needs none: --judge rules."
            )

    @property
    def is_local(self) -> bool:
        """True if the address is on this machine."""
        return urlsplit(self.base_url).hostname in LOCAL_HOSTS

    def headers(self) -> dict[str, str]:
        """Headers that identify the caller."""
        request_headers = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        if self.organization:
            request_headers["OpenAI-Organization"] = self.organization
        if self.project:
            request_headers["OpenAI-Project"] = self.project
        return request_headers | dict(self.more_headers)

    def secrets(self, rules: AskingRules) -> Secrets:
        """The keys that no file and no screen may show."""
        return Secrets((self.key or "", *self.more_headers.values()), rules.secret)


def printable_url(url: str) -> str:
    """An address as it may be printed and kept: without user, password and query."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path}"


def header_value(name: str, environment: Mapping[str, str]) -> str | None:
    """A variable of the environment that is sent in a header, without surrounding blanks and line ends, which a file
    may have added; None if it is not set. Raises UsageError if a header cannot hold it."""
    value = (environment.get(name) or "").strip()
    if not (value.isprintable() and value.isascii()):
        raise UsageError(
            f"{name} holds a line break or another character that cannot be sent in a header. Set it to the key alone, "
            "on one line."
        )
    return value or None


def custom_headers(text: str) -> dict[str, str]:
    """`Name: value` lines, as the `openai` client reads them."""
    pairs = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    headers = {name.strip(): value.strip() for name, value in pairs}
    if "" in headers or any(not (text.isprintable() and text.isascii()) for text in (*headers, *headers.values())):
        raise UsageError("OPENAI_CUSTOM_HEADERS: a name or value is not a valid header. Write `Name: value` lines.")
    return headers
