"""The scripted endpoint as servers and gateways really answer: `python faulty.py` prints its port.

Beside the script of endpoint.py, of which it answers what is said here otherwise:

  completion   fields that replace those of the completion; null leaves a field out
  choice       the same of its choice; `message` the same of the choice's message
  text         the answer as it is written: `{answer}` stands for the rules judge's JSON
  step_ids     how the answer's step numbers are written: `text`, `true`, `float`
  repeats      `other`: a field of the answer is given twice, with another value; `same`: with the same one
  first        so many of the calls of each request get the fault, and later ones the usual answer; null: all
  body         {status, json or text, headers}: this response in place of an answer
  raw          bytes (as Latin-1 text) of a whole response in place of an answer; `{body}` stands for the usual one
  endless      `plain`: a body without an end; `gzip`: a small body that decompresses to gigabytes
  encoded      true: the usual answer, compressed with gzip
  poison       part of a session's text: questions that hold it are refused with 400, for no known reason
  list_faults  so many listings of batches end in 503
GET /log says besides how many bytes of an endless body were taken.
"""

import asyncio
import gzip
import json
import zlib
from typing import Any

from aiohttp import web
from endpoint import AGAIN, Endpoint, main, problem

PIECE = 1 << 16
BOMB = 3 << 30  # bytes that a small body decompresses to
STEPS = ("earliest_recoverable_onset", "earliest_harmful_onset", "earliest_onset_proxy")


class Faulty(Endpoint):
    """State of the process."""

    def reset(self, script: dict[str, Any]) -> None:
        super().reset(script)
        self.bytes_sent = 0
        self.listed = 0

    def log(self) -> dict[str, Any]:
        return super().log() | {"bytes_sent": self.bytes_sent}

    async def list_batches(self, request: web.Request) -> web.Response:
        self.listed += 1
        if self.listed <= self.script.get("list_faults", 0):
            return problem(503, "try again")
        return await super().list_batches(request)

    def refusal(self, body: dict[str, Any], request: web.Request) -> web.Response | None:
        if (poison := self.script.get("poison")) and poison in body["messages"][1]["content"]:
            return problem(400, "the request holds what this server cannot take")
        return super().refusal(body, request)

    async def respond(
        self, request: web.Request, body: dict[str, Any], digest: str, fault: str | None
    ) -> web.StreamResponse:
        if not self.is_hit(digest):
            return await super().respond(request, body, digest, fault)
        if self.script.get("endless"):
            return await self.without_end(request)
        if inputs := self.script.get("body"):
            self.paid[digest] += 1
            text = inputs["text"] if "text" in inputs else json.dumps(inputs["json"])
            return web.Response(text=text, status=inputs.get("status", 200), headers=inputs.get("headers"))
        usual = json.dumps(self.completion(body, digest)).encode()
        if raw := self.script.get("raw"):
            self.paid[digest] += 1
            assert request.transport
            request.transport.write(raw.encode("latin-1").replace(b"{body}", usual))
            request.transport.close()
            return web.Response()
        if self.script.get("encoded"):
            self.paid[digest] += 1
            return web.Response(body=gzip.compress(usual), headers={"Content-Encoding": "gzip"})
        return await super().respond(request, body, digest, fault)

    def is_hit(self, digest: str) -> bool:
        first = self.script.get("first")
        return first is None or self.came[digest] <= first

    async def without_end(self, request: web.Request) -> web.StreamResponse:
        """A body that is far larger than an answer may be."""
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        packer = None
        if self.script["endless"] == "gzip":
            response.headers["Content-Encoding"] = "gzip"
            packer = zlib.compressobj(9, wbits=31)
        await response.prepare(request)
        blanks, unpacked = b" " * PIECE, 0
        try:
            while packer is None or unpacked < BOMB:
                piece = blanks if packer is None else packer.compress(blanks * 16)
                unpacked += PIECE * 16
                if piece:
                    await response.write(piece)
                self.bytes_sent += len(piece)
                await asyncio.sleep(0)
        except (ConnectionError, asyncio.CancelledError):
            pass
        return response

    def completion(self, body: dict[str, Any], digest: str) -> dict[str, Any]:
        row = super().completion(body, digest)
        if not self.is_hit(digest):
            return row
        choice = row["choices"][0]
        again = AGAIN in body["messages"][1]["content"]
        text = self.written(choice["message"]["content"] or "")
        choice["message"]["content"] = text if again and not self.script.get("odd_again") else self.wrapped(text)
        if again and not self.script.get("odd_again"):
            return row
        for part, name in ((choice["message"], "message"), (choice, "choice"), (row, "completion")):
            for field, value in self.script.get(name, {}).items():
                part[field] = filled(value, text)
        return {field: value for field, value in row.items() if value is not None}

    def wrapped(self, text: str) -> str:
        """The answer's text, as the script writes it."""
        template: str = self.script.get("text", "{answer}")
        return template.replace("{answer}", text)

    def written(self, text: str) -> str:
        """The answer's JSON, with what the script changes of its values; what is not JSON as it is."""
        try:
            value = json.loads(text)
        except ValueError:  # one that endpoint.py has spoilt
            return text
        if kind := self.script.get("step_ids"):
            for quote in value.get("evidence_steps", []):
                number = quote["step_id"]
                quote["step_id"] = {"text": str(number), "true": True, "float": float(number)}[kind]
        text = json.dumps(value)
        if repeats := self.script.get("repeats"):
            name = next(entry for entry in value if entry != "trajectory_id")
            other = value[name] if repeats == "same" else "another value"
            text = f"{text[:-1]}, {json.dumps(name)}: {json.dumps(other)}}}"
        return text


def filled(value: Any, answer: str) -> Any:
    """A value of the script, with the answer where it is to stand."""
    if isinstance(value, str):
        return value.replace("{answer}", answer)
    if isinstance(value, list):
        return [filled(entry, answer) for entry in value]
    if isinstance(value, dict):
        return {name: filled(entry, answer) for name, entry in value.items()}
    return value


if __name__ == "__main__":
    asyncio.run(main(Faulty()))
