"""An endpoint of fixed latency, in a process of its own: `python -m pipeline.bench.fixed_latency MILLISECONDS` prints
its port. It costs next to nothing itself: one answer, made once, to every POST, so much later."""

import asyncio
import json
import sys

ANSWER = {"verdict": "accept", "reason": "The step followed what the user asked for. " * 30}


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


class Connection(asyncio.Protocol):
    """One connection: requests of a stated length, each answered after the latency."""

    def __init__(self, latency: float, answer: bytes) -> None:
        self.latency, self.answer = latency, answer
        self.buffer = bytearray()
        self.need = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while self.complete():
            del self.buffer[: self.need]
            self.need = 0
            asyncio.get_running_loop().call_later(self.latency, self.reply)

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

    def reply(self) -> None:
        """Send the answer."""
        if not self.transport.is_closing():
            self.transport.write(self.answer)


async def serve(milliseconds: float) -> None:
    """Serve until whoever started this is gone."""
    answer = response()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(milliseconds / 1000, answer), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
