"""An endpoint of fixed latency, in a process of its own.

`python -m benchmarks.fixed_latency MILLISECONDS` prints its port. It costs next to nothing itself: one answer,
made once, to every POST, so much later. GET /stats says what was paid for: an answer is, also where nobody waits for it
any more."""

import asyncio
import json
import re
import sys
import time
from collections import Counter

ANSWER = {"verdict": "accept", "reason": "The step followed what the user asked for. " * 30}


ID = re.compile(rb'id\\*":\\*"([0-9a-f]{64})')  # of a call, in the text of its prompt


def response() -> bytes:
    """The whole response."""
    completion = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "bench",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": json.dumps(ANSWER)}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 1500, "completion_tokens": 300, "total_tokens": 1800},
    }
    body = json.dumps(completion).encode()
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nx-request-id: r1\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Bill:
    """What came and what was paid for."""

    def __init__(self) -> None:
        self.paid: Counter[bytes] = Counter()
        self.requests = self.in_flight = self.most_in_flight = 0
        self.first = self.last = 0.0

    def came(self) -> None:
        """A request is there."""
        self.first = self.first or time.monotonic()
        self.requests += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def answered(self, call: bytes) -> None:
        """Its answer is made."""
        self.paid[call] += 1
        self.in_flight -= 1
        self.last = time.monotonic()

    def response(self) -> bytes:
        """As a response; `span`: seconds from the first request to the last answer."""
        stats = {
            "requests": self.requests,
            "paid": sum(self.paid.values()),
            "different": len(self.paid),
            "most_in_flight": self.most_in_flight,
            "span": self.last - self.first,
        }
        body = json.dumps(stats).encode()
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


class Connection(asyncio.Protocol):
    """One connection: requests of a stated length, each answered after the latency."""

    def __init__(self, latency: float, answer: bytes, bill: Bill) -> None:
        self.latency, self.answer, self.bill = latency, answer, bill
        self.buffer = bytearray()
        self.need = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while self.complete():
            if self.buffer.startswith(b"GET"):
                self.transport.write(self.bill.response())
            else:
                match = ID.search(self.buffer, 0, self.need)
                self.bill.came()
                asyncio.get_running_loop().call_later(self.latency, self.reply, match[1] if match else b"")
            del self.buffer[: self.need]
            self.need = 0

    def complete(self) -> bool:
        """True where a whole request is there; `need` is its length then."""
        if not self.need:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return False
            head = bytes(self.buffer[:end]).lower()
            place = head.find(b"content-length:")
            self.need = end + 4 + (int(head[place + 15 :].split(b"\r\n", 1)[0]) if place >= 0 else 0)
        return len(self.buffer) >= self.need

    def reply(self, call: bytes) -> None:
        """Send the answer."""
        self.bill.answered(call)
        if not self.transport.is_closing():
            self.transport.write(self.answer)


async def serve(milliseconds: float) -> None:
    """Serve until whoever started this is gone."""
    answer, bill = response(), Bill()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(milliseconds / 1000, answer, bill), "127.0.0.1", 0, backlog=4096
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
