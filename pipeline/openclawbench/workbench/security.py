"""Checks of every request before a page answers it (host, origin, session, form token), and the headers of every
answer."""

import hmac
import ipaddress
import secrets
import time
from collections.abc import Mapping
from http.cookies import SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from openclawbench.workbench.access import Person
from openclawbench.workbench.view.html_text import mark_code

COOKIE = "openclawbench"  # with the port behind it: a browser sends cookies of one port to all others
TOKEN = "token"
IDLE = 12 * 3600  # seconds
READING = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # not no-referrer: a form would then send `Origin: null`, which is refused
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
OPEN_PATHS = ("/static/", "/login")


class Sessions:
    """The people who are here, by the secret in their cookie. Who asks for nothing for IDLE seconds has left."""

    def __init__(self, cookie: str = COOKIE) -> None:
        self.cookie = cookie
        self.people: dict[str, Person] = {}
        self.asked: dict[str, float] = {}  # secret -> time of the last request
        self.unused: dict[str, Person] = {}  # one-time token -> who it lets in

    def invite(self, person: Person) -> str:
        """A token that lets a person in once."""
        token = secrets.token_urlsafe(24)
        self.unused[token] = person
        return token

    def enter(self, person: Person) -> str:
        """Begin a session; returns the secret of its cookie."""
        secret = secrets.token_urlsafe(32)
        person.token = secrets.token_urlsafe(24)
        for old in [old for old, asked in self.asked.items() if asked < time.monotonic() - IDLE]:
            self.end(old)
        self.people[secret], self.asked[secret] = person, time.monotonic()
        return secret

    def end(self, secret: str) -> None:
        """End a session."""
        self.people.pop(secret, None)
        self.asked.pop(secret, None)

    def accept(self, token: str) -> str | None:
        """The secret of a new session for a token that was not used yet; None for another."""
        matching = next((own for own in self.unused if hmac.compare_digest(own.encode(), token.encode())), None)
        return None if matching is None else self.enter(self.unused.pop(matching))

    def person(self, headers: Mapping[str, str]) -> Person | None:
        """Whom the cookie of a request names."""
        cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        if cookie is None or cookie.value not in self.people:
            return None
        if self.asked[cookie.value] < time.monotonic() - IDLE:
            self.end(cookie.value)
            return None
        self.asked[cookie.value] = time.monotonic()
        return self.people[cookie.value]

    def leave(self, headers: Mapping[str, str]) -> None:
        """End the session of a request."""
        cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        if cookie is not None:
            self.end(cookie.value)


class Guard:
    """Refuses what is not a request of a known person from these pages."""

    def __init__(self, app: ASGIApp, sessions: Sessions, origins: frozenset[str], logins: bool) -> None:
        """`origins`: addresses under which the pages are reached. `logins`: people log in with a password."""
        self.app, self.sessions, self.origins, self.logins = app, sessions, origins, logins
        self.hosts = {urlsplit(origin).netloc for origin in origins}
        self.secure = all(origin.startswith("https:") for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        refusal = self.refusal(request)
        if refusal is None:
            await self.app(scope, receive, with_headers(send))
        else:
            await refusal(scope, receive, with_headers(send))

    def refusal(self, request: Request) -> Response | None:
        """The answer to a request that goes no further; None if it may go on."""
        if request.headers.get("host", "") not in self.hosts:
            return refusal_page("This address is not the workbench's.", 421)
        writes = request.method not in READING
        if writes and (fault := self.foreign(request)):
            return refusal_page(fault, 403)
        person = self.sessions.person(request.headers)
        request.state.person = person
        if request.url.path.startswith(OPEN_PATHS):
            return None
        token = request.query_params.get(TOKEN)
        if token is not None and not writes:
            return self.enter(request, token, person)
        if person is None:
            if self.logins:
                return RedirectResponse("/login", 303)
            return refusal_page(
                "Open the address that `openclawbench view` printed: its token lets one browser in.", 403
            )
        return None

    def foreign(self, request: Request) -> str | None:
        """Why a request that writes does not come from these pages; None if it does."""
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return "This form was sent from another site."
        if request.headers.get("origin") not in self.origins:
            return "This form does not say that it comes from these pages (Origin)."
        return None

    def enter(self, request: Request, token: str, person: Person | None) -> Response:
        """Let in who has a token, and leave it out of the address."""
        rest = urlencode([pair for pair in parse_qsl(request.url.query) if pair[0] != TOKEN])
        clean = request.url.path + (f"?{rest}" if rest else "")
        if person is not None:
            return RedirectResponse(clean, 303)
        secret = self.sessions.accept(token)
        if secret is None:
            words = (
                "The token of this address was used already, by this or another browser, or is of an earlier start. "
                "For one more browser stop `openclawbench view` and start it again: it prints a new address."
            )
            return refusal_page(words, 403)
        return set_cookie(RedirectResponse(clean, 303), self.sessions.cookie, secret, self.secure)


def refusal_page(words: str, status: int) -> HTMLResponse:
    """A page that says why a request goes no further. `words`: of the program, never of a request."""
    return HTMLResponse(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>No entry</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,"><link rel="stylesheet" href="/static/style.css">'
        f'<main><div class="text"><h1>No entry</h1><p>{mark_code(words)}</p></div></main></html>\n',
        status,
    )


def set_cookie(response: Response, cookie: str, secret: str, secure: bool) -> Response:
    """The response with the cookie of a session."""
    response.set_cookie(cookie, secret, httponly=True, samesite="strict", secure=secure, path="/")
    return response


def has_form_token(person: Person, sent: str | None) -> bool:
    """True if a form was made for this session."""
    return bool(sent) and hmac.compare_digest(str(sent).encode(), person.token.encode())


def with_headers(send: Send) -> Send:
    """Send with the headers of every answer."""

    async def sending(message: object) -> None:
        if isinstance(message, dict) and message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message.get("headers", [])}
            extra = [(n.lower().encode(), v.encode()) for n, v in HEADERS.items() if n.lower().encode() not in own]
            message = {**message, "headers": [*message.get("headers", []), *extra]}
        await send(message)  # type: ignore[arg-type]

    return sending


def is_loopback(host: str) -> bool:
    """True for an address of this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
