"""An OpenAI-compatible endpoint on 127.0.0.1 whose answers are a script: the model of a recorded session."""

import itertools
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

AFTER_THE_SCRIPT = {"text": "The script of this session is at its end."}


class ScriptedModel:
    """Serves a script: `steps` in order, one a request that offers tools. POST /script sets another one."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []
        self.position = 0
        self.numbers = itertools.count(1)
        self.lock = threading.Lock()
        model = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *arguments: Any) -> None:
                pass

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.path == "/script":
                    model.load(json.loads(body))
                    self.answer(b"{}", "application/json")
                else:
                    self.answer(model.stream(json.loads(body), len(body)), "text/event-stream")

            def answer(self, content: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    def __enter__(self) -> "ScriptedModel":
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.shutdown()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.server.server_address[1])

    def load(self, steps: list[dict[str, Any]]) -> None:
        """Start another script."""
        with self.lock:
            self.steps, self.position = steps, 0

    def next_step(self, offers_tools: bool) -> dict[str, Any]:
        """The answer to the next request. One without tools (a title, a summary) is not part of the script."""
        with self.lock:
            if not offers_tools or self.position >= len(self.steps):
                return AFTER_THE_SCRIPT
            self.position += 1
            return self.steps[self.position - 1]

    def stream(self, request: dict[str, Any], size: int) -> bytes:
        """The server-sent events of an answer. `size`: bytes of the request, from which the usage is estimated."""
        step, number = self.next_step(bool(request.get("tools"))), next(self.numbers)
        head = {"id": f"chatcmpl-{number:08x}", "object": "chat.completion.chunk", "model": request.get("model", "")}
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        if step.get("thinking"):
            deltas.append({"reasoning_content": step["thinking"]})
        if step.get("text"):
            deltas.append({"content": step["text"]})
        for index, (tool, arguments) in enumerate(step.get("calls", [])):
            function = {"name": tool, "arguments": json.dumps(arguments, ensure_ascii=False)}
            call = {"index": index, "id": f"call_{next(self.numbers):08x}", "type": "function", "function": function}
            deltas.append({"tool_calls": [call]})
        finish = "tool_calls" if step.get("calls") else "stop"
        written = len(json.dumps(step)) // 4
        usage = {"prompt_tokens": size // 4, "completion_tokens": written, "total_tokens": size // 4 + written}
        chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        chunks.append({**head, "choices": [], "usage": usage})
        return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"
