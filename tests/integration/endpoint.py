"""An OpenAI-compatible endpoint in a process of its own, scripted by tests: `python endpoint.py` prints its port.

It answers as the rules judge would, from the packet between the fences of the prompt, and does what its script says:

  hold           true: no answer until POST /release
  latency_s      how long an answer takes
  faults         kind -> share of calls that end so: a status, `late`, `dropped`, `half_sent`, `broken_body`
  odd            kind -> share of first answers that are none: not_json, fenced, truncated, refusal, empty, wrong_enum,
                 extra_fields, missing_fields, wrong_trajectory, emoji (valid, with half an emoji in it)
  odd_again      true: the answer to a corrective question is as odd as the first
  blind          share of trajectories in which stage A finds no evidence of an anomaly, whatever is there
  odd_stage      stage (A, B1, B2, C) whose answers are odd, each in the way that its user names: Kind not_json.
  busy_above     with more calls than these in flight, a call is refused with 429
  refuse         {status, message}: every call is refused; the message may name {authorization}
  refuse_params  names of body fields that are refused with a 400 that names them
  headers        more headers of each answer
  chars_per_token, reasoning_tokens  how prompts and answers are counted, in place of 4 characters a token of the
                 prompt and 100 tokens an answer; the second is stage (a, b1, b2, c) -> tokens on top of each answer's
Which call a share hits follows from the call itself and how often it came: the same in every run. Request ids are
derived from the request. GET /log says what came, POST /script sets the script and forgets the log.
"""

import asyncio
import hashlib
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from aiohttp import web
from unsent import complete_packet, whole_previous

sys.path.insert(0, str(Path(__file__).parents[2]))

from openclawbench.fulltax.forecast import NO_LANGUAGES
from openclawbench.fulltax.rules_judge import RulesJudge
from openclawbench.records.packet import Evidence

BLOCK = re.compile(r"^BEGIN (\w+) ([0-9a-f]{64})\n(.*)\nEND \1 \2$", re.MULTILINE)
ENUMS = ("route_label", "anomaly_type_l1", "severity", "verdict")  # one of each stage
NAMED = re.compile(r" Kind ([a-z_]+)\.")
AGAIN = "\n\nYour answer to the task above could not be used"
STAGE = re.compile(r"FullTax stage (A|B1|B2|C)\b")


class Endpoint:
    """State of the process."""

    def __init__(self) -> None:
        self.judge = RulesJudge()
        self.reset({})

    def reset(self, script: dict[str, Any]) -> None:
        self.script = script
        self.came: Counter[str] = Counter()  # calls of each request
        self.paid: Counter[str] = Counter()  # answers made for each request
        self.received: Counter[str] = Counter()  # answers sent to the end
        self.times: list[float] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.busy: list[bool] = []  # for each call in order: whether it came to too many
        self.in_flight = self.most_in_flight = 0
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}

    def log(self) -> dict[str, Any]:
        return {
            "calls": sum(self.came.values()),
            "requests": len(self.came),
            "came": dict(self.came),
            "paid": dict(self.paid),
            "received": dict(self.received),
            "times": self.times,
            "bodies": self.bodies[:200],
            "headers": self.headers[:200],
            "busy": self.busy,
            "most_in_flight": self.most_in_flight,
            "batches": list(self.batches.values()),
        }

    def hit(self, name: str, digest: str, salt: object) -> str | None:
        """The kind of a script's shares that hits a call, if one does."""
        place = int(hashlib.sha256(f"{name}{digest}{salt}".encode()).hexdigest()[:8], 16) / 2**32
        for kind, share in self.script.get(name, {}).items():
            if place < share:
                return kind
            place -= share
        return None

    async def chat(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body = json.loads(raw)
        digest = hashlib.sha256(json.dumps(body["messages"]).encode()).hexdigest()
        self.times.append(time.monotonic())
        if len(self.bodies) < 200:
            self.bodies.append(body)
            self.headers.append(dict(request.headers))
        if refused := self.refusal(body, request):
            return refused
        self.came[digest] += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.busy.append(self.in_flight > self.script.get("busy_above", self.in_flight))
        try:
            if self.busy[-1]:
                return problem(429, "too many requests at once")
            return await self.respond(request, body, digest, self.hit("faults", digest, self.came[digest]))
        finally:
            self.in_flight -= 1

    def refusal(self, body: dict[str, Any], request: web.Request) -> web.Response | None:
        """A 4xx where the script wants one."""
        if refuse := self.script.get("refuse"):
            message = refuse["message"].format(authorization=request.headers.get("Authorization"))
            return problem(refuse["status"], message)
        for name in self.script.get("refuse_params", []):
            if name in body or (body.get("response_format") or {}).get("type") == name:
                return problem(400, f"Unsupported parameter: '{name}' is not supported with this model.")
        return None

    async def upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        self.files[name := f"file-{len(self.files)}"] = form["file"].file.read()
        return web.json_response({"id": name})

    async def make_batch(self, request: web.Request) -> web.Response:
        body = await request.json()
        lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        name = f"batch-{len(self.batches)}"
        self.batches[name] = {"id": name, "status": "in_progress", "looked": 0, "metadata": body["metadata"]}
        self.batches[name] |= {"lines": len(lines), "output_file_id": f"out-{name}", "error_file_id": f"err-{name}"}
        good, bad = [], []
        for line in lines:
            digest = hashlib.sha256(json.dumps(line["body"]["messages"]).encode()).hexdigest()
            self.came[digest] += 1
            answer: dict[str, Any] = {"custom_id": line["custom_id"], "error": None}
            if refused := self.refusal(line["body"], request):
                bad.append(answer | {"response": {"status_code": 400, "body": json.loads(refused.body)}})
                continue
            if self.hit("faults", digest, self.came[digest]):
                bad.append(answer | {"response": {"status_code": 500, "request_id": "x", "body": {"error": {}}}})
                continue
            self.paid[digest] += 1
            response = {"status_code": 200, "request_id": f"req-{digest[:20]}"}
            good.append(answer | {"response": response | {"body": self.completion(line["body"], digest)}})
        for kind, result in (("out", good), ("err", bad)):
            self.files[f"{kind}-{name}"] = b"".join(json.dumps(entry).encode() + b"\n" for entry in result) + b"\n"
        if self.script.get("lose_batch"):
            self.script.pop("lose_batch")
            request.transport.close()
        return web.json_response(self.batches[name])

    async def look_at_batch(self, request: web.Request) -> web.Response:
        batch = self.batches[request.match_info["name"]]
        batch["looked"] += 1
        if batch["looked"] > self.script.get("looks", 1):
            batch["status"] = "completed"
        if why := self.script.get("fail_batches"):
            batch |= {"status": "failed", "errors": {"data": [{"message": why}]}, "output_file_id": None}
            batch["error_file_id"] = None
        return web.json_response(batch)

    async def list_batches(self, _: web.Request) -> web.Response:
        return web.json_response({"data": list(self.batches.values()), "has_more": False})

    async def content_of(self, request: web.Request) -> web.Response:
        return web.Response(body=self.files[request.match_info["name"]])

    async def respond(
        self, request: web.Request, body: dict[str, Any], digest: str, fault: str | None
    ) -> web.StreamResponse:
        headers = {"x-request-id": f"req-{digest[:20]}", **self.script.get("headers", {})}
        if fault and fault.isdigit():
            more = {"Retry-After": self.script.get("retry_after", "0")} if fault in ("429", "503") else {}
            return problem(int(fault), "try again", headers | more)
        while self.script.get("hold"):
            await asyncio.sleep(0.05)
        await asyncio.sleep(self.script.get("latency_s", 0.0))
        if fault == "dropped":
            request.transport.close()
            return web.Response()
        content = json.dumps(self.completion(body, digest)).encode()
        self.paid[digest] += 1
        if fault == "late":
            await asyncio.sleep(self.script.get("late_s", 5.0))
        if fault == "half_sent":
            response = web.StreamResponse(headers=headers | {"Content-Length": str(len(content))})
            await response.prepare(request)
            await response.write(content[: len(content) // 2])
            request.transport.close()
            return response
        if fault == "broken_body":
            content = content[: len(content) // 2]
        response = web.Response(body=content, content_type="application/json", headers=headers)
        await response.prepare(request)
        await response.write_eof()
        if fault is None:
            self.received[digest] += 1
        return response

    def completion(self, body: dict[str, Any], digest: str) -> dict[str, Any]:
        messages = body["messages"]
        again = AGAIN in messages[1]["content"]
        odd = None if again and not self.script.get("odd_again") else self.hit("odd", digest if not again else "", 0)
        if again and self.script.get("odd_again") and self.script.get("odd"):
            odd = next(iter(self.script["odd"]))
        if stage := self.script.get("odd_stage"):
            match, asked = NAMED.search(messages[1]["content"]), stage_of(messages)
            odd = match[1] if match and asked and asked[1] == stage else None
        message: dict[str, Any] = {"role": "assistant", "content": self.content(messages, odd)}
        if odd == "refusal":
            message = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
        chars = self.script.get("chars_per_token", 4)
        prompt = int(sum(len(member["content"]) for member in messages) // chars)
        answer = 100
        if reasoning := self.script.get("reasoning_tokens"):
            answer = int(len(message["content"] or "") // chars) + reasoning[stage_of(messages)[1].lower()]
        return {
            "id": f"chatcmpl-{digest[:20]}",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "length" if odd == "truncated" else "stop"}],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": answer,
                "total_tokens": prompt + answer,
                "prompt_tokens_details": {"cached_tokens": prompt // 2},
            },
        }

    def content(self, messages: list[dict[str, str]], odd: str | None) -> str:
        """The rules judge's answer, spoilt where it is to be odd."""
        text = self.answer(messages)
        value = json.loads(text)
        name = next(iter(set(value) & {"reasoning_summary", "annotator_rationale_refined", "short_rationale"}), None)
        spoilt = {
            "not_json": "The trajectory looks normal to me.",
            "fenced": f"```json\n{text}\n```",
            "truncated": text[: len(text) // 2],
            "empty": "",
            "wrong_enum": json.dumps(value | dict.fromkeys(ENUMS & value.keys(), "odd")),
            "extra_fields": json.dumps(value | {"comment": "more"}),
            "missing_fields": json.dumps({"trajectory_id": value["trajectory_id"]}),
            "wrong_trajectory": json.dumps(value | {"trajectory_id": "another"}),
            "emoji": json.dumps(value | {name or "annotator_rationale": "half an emoji \ud83d"}),
        }
        return spoilt.get(odd or "", text)

    def answer(self, messages: list[dict[str, str]]) -> str:
        """What the rules judge says of the packet between the fences."""
        actual_match = stage_of(messages)
        blocks = {name: json.loads(inside) for name, _, inside in BLOCK.findall(messages[1]["content"])}
        if actual_match is None or "PACKET" not in blocks:
            return json.dumps({"trajectory_id": "none"})
        packet = complete_packet(blocks["PACKET"])
        evidence = Evidence.model_validate({name: (packet | NO_LANGUAGES)[name] for name in Evidence.model_fields})
        previous = whole_previous(blocks.get("PREVIOUS") or {}, evidence.trajectory_id)
        sentence = self.judge.answer(actual_match[1].lower(), evidence, previous)
        place = int(hashlib.sha256(evidence.trajectory_id.encode()).hexdigest()[:8], 16) / 2**32
        if actual_match[1] == "A" and place < self.script.get("blind", 0.0):
            sentence = sentence.model_copy(update={"route_label": "no_anomaly_evidence", "routing_confidence": "high"})
        return sentence.model_dump_json()


def stage_of(messages: list[dict[str, str]]) -> re.Match[str] | None:
    """The stage that is asked, by what stands outside the blocks."""
    return STAGE.search(BLOCK.sub("", "\n".join(message["content"] for message in messages)))


def problem(status: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    error = {"error": {"message": message, "type": "error", "param": None, "code": None}}
    return web.json_response(error, status=status, headers=headers)


def application(endpoint: Endpoint) -> web.Application:
    async def script(request: web.Request) -> web.Response:
        endpoint.reset(await request.json())
        return web.json_response({})

    async def release(_: web.Request) -> web.Response:
        endpoint.script["hold"] = False
        return web.json_response({})

    async def log(_: web.Request) -> web.Response:
        return web.json_response(endpoint.log())

    async def count(_: web.Request) -> web.Response:
        return web.Response(text=str(sum(endpoint.came.values())))

    app = web.Application(client_max_size=1 << 28)
    app.router.add_post("/v1/chat/completions", endpoint.chat)
    app.router.add_post("/v1/files", endpoint.upload)
    app.router.add_get("/v1/files/{name}/content", endpoint.content_of)
    app.router.add_post("/v1/batches", endpoint.make_batch)
    app.router.add_get("/v1/batches", endpoint.list_batches)
    app.router.add_get("/v1/batches/{name}", endpoint.look_at_batch)
    app.router.add_post("/script", script)
    app.router.add_post("/release", release)
    app.router.add_get("/log", log)
    app.router.add_get("/count", count)
    return app


async def main(endpoint: Endpoint) -> None:
    runner = web.AppRunner(application(endpoint), access_log=None, handle_signals=False)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=4096)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.to_thread(sys.stdin.read)  # until whoever started this is gone


if __name__ == "__main__":
    asyncio.run(main(Endpoint()))
