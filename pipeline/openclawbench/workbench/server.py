"""Serve the workbench on this machine."""

import contextlib
import getpass
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import uvicorn
from starlette.applications import Starlette

from openclawbench.errors import Interrupted, UsageError
from openclawbench.workbench.access import ROLES, Role
from openclawbench.workbench.app import make_app
from openclawbench.workbench.security import COOKIE, TOKEN, Sessions, is_loopback
from openclawbench.workbench.site import Site, open_reader

LOOPBACK = "127.0.0.1"
USUAL_PORT = 8642


@dataclass(frozen=True)
class PreparedServer:
    """A workbench that is about to be served."""

    app: Starlette
    sessions: Sessions
    listener: socket.socket
    address: str  # of its front page, with a token where there are no logins


def prepare(
    path: Path,
    port: int | None = 0,
    role: str = "auditor",
    name: str | None = None,
    host: str = LOOPBACK,
    origin: str | None = None,
) -> PreparedServer:
    """Open the folder and a socket. `port` 0: any free one; None: the usual one, or any if that is taken. UsageError
    for a shared server without people or origin, or if the port is taken."""
    if role not in ROLES:
        raise UsageError(f"--role {role}: use one of {', '.join(ROLES)}.")
    reader = open_reader(path)
    reviewers = None
    if not is_loopback(host):
        reviewers = path / "review" / "reviewers.toml"
        if origin is None or not origin.startswith(("http://", "https://")):
            raise UsageError("--host: a shared server needs --origin, the address that people type: https://….")
        if not reviewers.is_file():
            raise UsageError(
                f"--host: a shared server needs people. Add each: openclawbench view {path} --add-reviewer NAME "
                "--role reviewer."
            )
    listener = listen_usually(host) if port is None else listen(host, port)
    bound = listener.getsockname()[1]
    local = {f"http://{name}:{bound}" for name in (LOOPBACK, "localhost")}
    origins = frozenset({origin.rstrip("/")} if origin else local)
    sessions = Sessions(f"{COOKIE}-{bound}")
    site = Site(reader, local=reviewers is None)
    app = make_app(site, sessions, origins, reviewers)
    address = origin or f"http://{LOOPBACK}:{bound}/"
    if reviewers is None:
        person = site.person(" ".join((name or user_name()).split()), cast(Role, role))
        address = f"{address.rstrip('/')}/?{TOKEN}={sessions.invite(person)}"
    return PreparedServer(app, sessions, listener, address)


def user_name() -> str:
    """The name of the account."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "reviewer"


def listen_usually(host: str) -> socket.socket:
    """A socket on the usual port, so that bookmarks last; on any, if that is taken."""
    try:
        return listen(host, USUAL_PORT)
    except UsageError:
        return listen(host, 0)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens. UsageError if it cannot."""
    # With the protocol named, asyncio sends small answers at once; without, each waits 40 ms (Nagle's algorithm).
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise UsageError(f"{host}:{port}: cannot listen: {error.strerror}. Name another --port.") from error
    listener.listen(64)
    return listener


def serve(opened: PreparedServer, tell: Callable[[str], None], browser: bool) -> None:
    """Serve until interrupted. `tell` gets the address: the socket is already listening, and holds requests until the
    server runs."""
    tell(opened.address)
    if browser:
        threading.Thread(target=webbrowser.open, args=(opened.address,), daemon=True).start()
    with contextlib.suppress(Interrupted, KeyboardInterrupt):  # Ctrl+C, which uvicorn passes on once it has ended
        server_of(opened).run(sockets=[opened.listener])


def server_of(opened: PreparedServer) -> uvicorn.Server:
    """The server of a workbench: it logs nothing, because addresses hold tokens and names."""
    config = uvicorn.Config(opened.app, log_level="error", access_log=False, server_header=False, lifespan="off")
    return uvicorn.Server(config)


@contextlib.contextmanager
def in_background(opened: PreparedServer) -> Iterator[str]:
    """Serve in a thread; gives the address."""
    server = server_of(opened)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened.listener]}, daemon=True)
    thread.start()
    try:
        yield opened.address
    finally:
        server.should_exit = True
        thread.join(10)
        opened.listener.close()
