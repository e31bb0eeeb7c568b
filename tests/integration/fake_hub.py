"""A stand-in for the Hub's HTTP endpoint: repositories in memory, large files through LFS, faults as scripted."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LARGE = (".parquet", ".jsonl")


@dataclass
class Hub:
    """What it holds, what came, and what it is to do."""

    token: str
    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)  # path -> content, of its one repository
    private: bool | None = None  # null: there is no repository
    blobs: dict[str, bytes] = field(default_factory=dict)  # LFS: sha256 -> content
    log: list[str] = field(default_factory=list)  # method and path
    commits: int = 0
    refuse: int = 0  # status of every call that writes
    uploads_before_failure: int = -1  # after so many, an upload fails

    def count(self, what: str) -> int:
        return sum(what in line for line in self.log)


@contextmanager
def fake_hub(token: str) -> Iterator[Hub]:
    """The endpoint, on this machine, for as long as it is needed."""
    hub = Hub(token)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Nothing on stderr."""

        def body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def say(self, value: Any, status: int = 200) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            if status >= 400:
                self.send_header("X-Error-Message", value["error"])
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def allowed(self) -> bool:
            hub.log.append(f"{self.command} {self.path}")
            if self.headers.get("Authorization") == f"Bearer {hub.token}":
                return True
            self.body()
            self.say({"error": "Invalid user token."}, 401)
            return False

        def do_GET(self) -> None:
            if not self.allowed():
                return
            if "/tree/" in self.path:
                rows = [{"type": "file", "path": p, "size": len(c), "oid": "0"} for p, c in hub.files.items()]
                self.say(rows)
            elif hub.private is None:
                self.say({"error": "Repository not found"}, 404)
            else:
                self.say({"id": "ada/set", "private": hub.private, "sha": "0" * 40, "siblings": []})

        def do_PUT(self) -> None:
            hub.log.append(f"PUT {self.path}")
            content = self.body()
            if hub.uploads_before_failure == 0:
                self.say({"error": "full"}, 507)
                return
            hub.uploads_before_failure -= 1
            hub.blobs[self.path.rpartition("/")[2]] = content
            self.say({})

        def do_POST(self) -> None:
            if not self.allowed():
                return
            body = self.body()
            if hub.refuse:
                self.say({"error": "You have no right to do this."}, hub.refuse)
            elif self.path == "/api/repos/create":
                document = json.loads(body)
                if hub.private is not None:
                    self.say({"error": "exists", "url": f"{hub.url}/datasets/ada/set"}, 409)
                    return
                hub.private = document.get("visibility") == "private" or document.get("private") is True
                self.say({"url": f"{hub.url}/datasets/ada/set", "id": "ada/set"})
            elif "/preupload/" in self.path:
                rows = json.loads(body)["files"]
                modes = ["lfs" if row["path"].endswith(LARGE) else "regular" for row in rows]
                self.say(
                    {"files": [{**r, "uploadMode": m, "shouldIgnore": False} for r, m in zip(rows, modes, strict=True)]}
                )
            elif self.path.endswith("/objects/batch"):
                self.say({"objects": [self.owed(entry) for entry in json.loads(body)["objects"]]})
            elif "/commit/" in self.path:
                self.commit([json.loads(line) for line in body.splitlines()])
            else:
                self.say({"errors": [], "warnings": []})

        def owed(self, operation: dict[str, Any]) -> dict[str, Any]:
            """An upload for what is not here yet."""
            upload = {"upload": {"href": f"{hub.url}/lfs/{operation['oid']}"}}
            return {**operation, **({} if operation["oid"] in hub.blobs else {"actions": upload})}

        def commit(self, lines: list[dict[str, Any]]) -> None:
            for line in lines:
                value = line["value"]
                if line["key"] == "file":
                    hub.files[value["path"]] = base64.b64decode(value["content"])
                elif line["key"] == "lfsFile":
                    content = hub.blobs[value["oid"]]
                    assert hashlib.sha256(content).hexdigest() == value["oid"]
                    hub.files[value["path"]] = content
                elif line["key"] == "deletedFile":
                    del hub.files[value["path"]]
            hub.commits += 1
            url = f"{hub.url}/datasets/ada/set/commit/{hub.commits}"
            self.say({"success": True, "commitUrl": url, "commitOid": str(hub.commits)})

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
