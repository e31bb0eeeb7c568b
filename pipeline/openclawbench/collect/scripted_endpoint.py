"""An OpenAI-compatible endpoint on this machine that answers from a plan's scripts: for a collection without a
model."""

import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

from openclawbench.collect.scripting import Script, ScriptedStep

CHARACTERS_A_TOKEN = 4  # of its usage, which is an estimate
SUMMARY = ScriptedStep(text="A summary of what was said so far.")  # of a request without tools: OpenClaw's compaction
BEYOND = ScriptedStep(text="Done.")  # after the last step


class ScriptedEndpoint:
    """`load` says what the worker's agent is told next; the agent asks `base_url(worker)` with `key`."""

    def __init__(self) -> None:
        self.key = secrets.token_urlsafe(16)
        self.scripts: dict[str, Iterator[ScriptedStep]] = {}
        self.lock = threading.Lock()
        self.numbers = count(1)
        endpoint = self

        class Handler(Answering):
            def step(self, worker: str) -> ScriptedStep:
                with endpoint.lock:
                    return next(endpoint.scripts.get(worker, iter(())), BEYOND)

            def is_known(self, key: str) -> bool:
                return secrets.compare_digest(key, f"Bearer {endpoint.key}")

            def number(self) -> int:
                with endpoint.lock:
                    return next(endpoint.numbers)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    def base_url(self, worker: int) -> str:
        """The address for a worker's agent."""
        return f"http://127.0.0.1:{self.server.server_address[1]}/{worker}/v1"

    def load(self, worker: int, script: Script | None) -> None:
        """Begin a task."""
        with self.lock:
            self.scripts[str(worker)] = iter(script.steps if script else [])


class Answering(BaseHTTPRequestHandler):
    """Chat completions, streamed or whole."""

    protocol_version = "HTTP/1.1"

    def step(self, worker: str) -> ScriptedStep:
        """The next step of the worker's script."""
        raise AssertionError(worker)

    def is_known(self, key: str) -> bool:
        """True if requests with this key are answered."""
        raise AssertionError(key)

    def number(self) -> int:
        """A number that no other answer has."""
        raise AssertionError

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on stderr."""

    def do_POST(self) -> None:
        """Answer a question."""
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.is_known(self.headers.get("Authorization", "")):
            self.send(401, {"error": {"message": "the key is wrong", "type": "invalid_request_error"}})
            return
        body = json.loads(content)
        step = self.step(self.path.split("/")[1]) if body.get("tools") else SUMMARY
        number = self.number()
        calls: list[dict[str, Any]] = [
            {
                "index": place,
                "id": f"call_{number:06d}_{place}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for place, (name, arguments) in enumerate(step.calls)
        ]
        characters = len(step.text) + sum(len(call["function"]["arguments"]) for call in calls)
        usage = {
            "prompt_tokens": len(content) // CHARACTERS_A_TOKEN,
            "completion_tokens": max(1, characters // CHARACTERS_A_TOKEN),
        }
        usage["total_tokens"] = sum(usage.values())
        reason = "tool_calls" if calls else "stop"
        common = {"id": f"chatcmpl-scripted-{number:06d}", "created": 0, "model": body.get("model", "")}
        if not body.get("stream"):
            message = {"role": "assistant", "content": step.text or None} | ({"tool_calls": calls} if calls else {})
            choice = {"index": 0, "message": message, "finish_reason": reason}
            self.send(200, {**common, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        delta: dict[str, Any] = {"role": "assistant", "content": step.text or None} | (
            {"tool_calls": calls} if calls else {}
        )
        chunks: list[dict[str, Any]] = [
            {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {"choices": [], "usage": usage},
        ]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for chunk in chunks:
            line = json.dumps({**common, "object": "chat.completion.chunk", **chunk})
            self.wfile.write(f"data: {line}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def send(self, status: int, body: dict[str, Any]) -> None:
        """A whole answer."""
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def scripted_endpoint() -> Iterator[ScriptedEndpoint]:
    """A running endpoint, which stops when the context ends."""
    endpoint = ScriptedEndpoint()
    thread = threading.Thread(target=endpoint.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.server.shutdown()
        endpoint.server.server_close()
        thread.join(timeout=10)
