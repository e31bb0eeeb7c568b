"""Named people on a shared server: their file, their passwords, their login."""

import hashlib
import hmac
import math
import secrets
import time
import tomllib
from pathlib import Path
from typing import Any, cast

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from openclawbench.errors import UnreadableInput, UsageError
from openclawbench.storage.data_folder import write_atomic
from openclawbench.workbench.access import ROLES, Role
from openclawbench.workbench.security import Sessions, set_cookie
from openclawbench.workbench.site import TEMPLATES, site_of

SHORTEST = 10  # characters of a password
FREE_ATTEMPTS = 5  # wrong passwords of a name before the next one has to wait
LONGEST_PAUSE = 300  # seconds
NAMES_COUNTED = 1000


class Logins:
    """reviewers.toml: name -> role and digest of the password."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.people = read_people(path)
        self.failures: dict[str, list[float]] = {}  # name -> times of wrong passwords

    def wait(self, name: str) -> int:
        """Seconds until another password of this name is looked at: none for the first few, then twice as long each
        time."""
        failures = self.failures.get(name, [])
        if len(failures) < FREE_ATTEMPTS:
            return 0
        pause: float = min(LONGEST_PAUSE, 2.0 ** (len(failures) - FREE_ATTEMPTS))
        return max(0, math.ceil(failures[-1] + pause - time.monotonic()))

    def failed(self, name: str) -> None:
        """Count a wrong password. Names that nobody has are forgotten first."""
        if name not in self.failures and len(self.failures) >= NAMES_COUNTED:
            unknown = next((known for known in self.failures if known not in self.people), next(iter(self.failures)))
            del self.failures[unknown]
        self.failures.setdefault(name, []).append(time.monotonic())

    def role(self, name: str, password: str) -> Role | None:
        """The role of who has this name and password. An unknown name takes as long as a wrong password."""
        entry = self.people.get(name)
        salt, expected = (entry["salt"], entry["digest"]) if entry else ("00", "00")
        right = hmac.compare_digest(digest_of(password, salt), expected)
        return cast(Role, entry["role"]) if entry and right else None


def read_people(path: Path) -> dict[str, dict[str, str]]:
    """The people of the file. UnreadableInput with what is wrong."""
    try:
        content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableInput(
            f"{path}: cannot be read: {error}. Make it with `openclawbench view --add-reviewer NAME --role ROLE`."
        ) from error
    for name, entry in content.items():
        if not isinstance(entry, dict) or {*entry} != {"role", "salt", "digest"} or entry["role"] not in ROLES:
            raise UnreadableInput(f"{path}: {name}: needs role ({', '.join(ROLES)}), salt and digest, and no more.")
    return content


def add_person(path: Path, name: str, role: str, password: str) -> None:
    """Add a person, or give one another password or role. UsageError for a name, role or password that will not do."""
    if role not in ROLES:
        raise UsageError(f"--role {role}: use one of {', '.join(ROLES)}.")
    if len(password) < SHORTEST:
        raise UsageError(f"A password has at least {SHORTEST} characters.")
    name = " ".join(name.split())
    if not name or not name.isprintable() or '"' in name or "\\" in name:
        raise UsageError(f"--add-reviewer {name!r}: is not a name. Use letters, digits and spaces.")
    people = read_people(path) if path.exists() else {}
    salt = secrets.token_hex(16)
    people[name] = {"role": role, "salt": salt, "digest": digest_of(password, salt)}
    lines = [
        f'["{person_name}"]\n' + "".join(f'{field} = "{value}"\n' for field, value in entry.items())
        for person_name, entry in people.items()
    ]
    write_atomic(path, ["\n".join(lines).encode()])
    path.chmod(0o600)


def digest_of(password: str, salt: str) -> str:
    """scrypt of a password, in hex digits."""
    return hashlib.scrypt(password.encode(), salt=bytes.fromhex(salt), n=2**14, r=8, p=1, maxmem=64 * 2**20).hex()


def page(request: Request) -> Response:
    """The login form. A workbench for this machine alone has no login."""
    if request.app.state.logins is None:
        return RedirectResponse("/", 303)
    return HTMLResponse(TEMPLATES.get_template("login.html").render(fault=None))


def enter(request: Request, form: FormData) -> Response:
    """Begin a session."""
    logins: Logins | None = request.app.state.logins
    name = str(form.get("name", ""))
    if logins and (pause := logins.wait(name)):
        words = f"Too many wrong passwords for this name. Try again in {pause} seconds."
        content = TEMPLATES.get_template("login.html").render(fault=words)
        return HTMLResponse(content, 429, {"Retry-After": str(pause)})
    role = logins.role(name, str(form.get("password", ""))) if logins else None
    if role is None:
        if logins:
            logins.failed(name)
        content = TEMPLATES.get_template("login.html").render(fault="No such name, or another password.")
        return HTMLResponse(content, 403)
    assert logins is not None
    logins.failures.pop(name, None)
    sessions: Sessions = request.app.state.sessions
    secret = sessions.enter(site_of(request).person(name, role))
    return set_cookie(RedirectResponse("/", 303), sessions.cookie, secret, request.url.scheme == "https")


def leave(request: Request, form: FormData) -> Response:
    """End a session."""
    request.app.state.sessions.leave(request.headers)
    return RedirectResponse("/login" if request.app.state.logins else "/static/left.txt", 303)
