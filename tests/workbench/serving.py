"""A person at a running workbench, without script."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

TOKEN = re.compile(r'name="form_token" value="([^"]+)"')
LOOPBACK = "127.0.0.1"


@dataclass
class Visitor:
    """A person in a browser without script: a cookie, and the token of the forms."""

    base: str
    http: httpx.Client

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.http.get(self.base + path, **options)

    @property
    def form_token(self) -> str:
        match = TOKEN.search(self.get("/q").text)
        assert match
        return match[1]

    def post(self, path: str, as_json: bool = False, **form: Any) -> httpx.Response:
        headers = {"accept": "application/json"} if as_json else {}
        return self.http.post(self.base + path, data={"form_token": self.form_token, **form}, headers=headers)


@dataclass
class Served:
    """A workbench that runs."""

    address: str  # with its token
    data: Path

    @property
    def base(self) -> str:
        return self.address.split("/?")[0]

    def visitor(self) -> Visitor:
        """Who has followed the printed address."""
        http = httpx.Client(headers={"origin": self.base}, follow_redirects=True, timeout=60)
        assert http.get(self.address).status_code == 200
        return Visitor(self.base, http)
