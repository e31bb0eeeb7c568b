"""What the judge benchmark measures, each in a process of its own:
`python -m benchmarks.judge_measures NAME URL CALLS IN_FLIGHT FOLDER`. Prints one JSON line."""

import asyncio
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.fixed_latency import response
from benchmarks.measures import cpu_seconds, peak_mb
from openclawbench.judge.client.client_options import ClientOptions
from openclawbench.judge.language_model import LanguageModelJudge
from openclawbench.judge.ledger.ledger import ADD_ANSWER, ADD_SETTLED
from openclawbench.judge.ledger.sqlite_file import locked, open_for_writing
from openclawbench.judge.protocol import AnswerCheck, AnswerProblem, Question
from openclawbench.judge.settings import AskingSettings
from openclawbench.judge.transport.endpoint import Endpoint
from openclawbench.judge.transport.request_options import RequestOptions
from openclawbench.rules.judge.asking import AskingRules
from openclawbench.rules.judge.request import RequestRules
from openclawbench.workspace.judges import make_asking

STEP = '{"step_id":3,"thinking":"List the directory first.","action_text":"exec ls -la /tmp","tool_status":"ok"},'
MATERIAL = (STEP * 55)[:-1]  # about 6 KB, as in docs/why/benchmarks.md
SYSTEM = "You are a strict judge. Answer in JSON."
SCHEMA = '{"type":"object","properties":{"verdict":{"type":"string"},"reason":{"type":"string"}}}'
RPM = 10_000_000.0  # the limits are on, and never reached
SHARD = 250
Result = dict[str, Any]


class Reader:
    """Reads an answer as JSON."""

    digest = "bench"

    def read(self, question: Question, finish: str, text: str) -> AnswerCheck:
        """Its verdict, or a complaint if it gives none."""
        verdict = json.loads(text).get("verdict")
        return AnswerCheck(None, str(verdict)) if verdict else AnswerCheck(AnswerProblem("schema", "verdict"), "schema")


class Questions:
    """A shard of questions, made as they are needed."""

    def __init__(self, start: int, stop: int) -> None:
        self.start, self.stop = start, stop

    def rows(self) -> list[dict[str, Any]]:
        """The rows of JudgeRequest, as far as asking reads them."""
        return [{"request_sha256": f"{number:064x}", "fits": True} for number in range(self.start, self.stop)]

    def questions(self, rows: list[dict[str, Any]]) -> Iterator[Question]:
        """A question a row."""
        for row in rows:
            digest = row["request_sha256"]
            material = f'{{"trajectory_id":"{digest}","steps":[{MATERIAL}]}}'
            yield Question("a", material, None, "bench", "v1", SYSTEM, digest, digest, digest)


def shards(calls: int) -> Iterator[Questions]:
    """All questions, in shards."""
    return (Questions(start, min(start + SHARD, calls)) for start in range(0, calls, SHARD))


def body(number: int) -> dict[str, Any]:
    """What a bare loop sends."""
    user = f'{{"id":"{number:064x}","steps":[{MATERIAL}null]}}'
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": user}]
    return {"model": "bench", "temperature": 0, "messages": messages}


def bare_aiohttp(url: str, calls: int, in_flight: int, _: Path) -> Result:
    """A loop over aiohttp: send, read, parse, keep nothing."""
    import aiohttp
    import msgspec

    async def work(session: aiohttp.ClientSession, numbers: Iterator[int]) -> None:
        for number in numbers:
            async with session.post(f"{url}/chat/completions", data=msgspec.json.encode(body(number))) as response:
                completion = msgspec.json.decode(await response.read())
                msgspec.json.decode(completion["choices"][0]["message"]["content"])

    async def run() -> None:
        numbers = iter(range(calls))
        headers = {"Content-Type": "application/json"}
        connector = aiohttp.TCPConnector(limit=in_flight)
        async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
            await asyncio.gather(*(work(session, numbers) for _ in range(in_flight)))

    asyncio.run(run())
    return {}


def bare_openai(url: str, calls: int, in_flight: int, _: Path) -> Result:
    """A loop over AsyncOpenAI as it comes, its retries off."""
    return openai_loop(url, calls, in_flight)


def bare_openai_aiohttp(url: str, calls: int, in_flight: int, _: Path) -> Result:
    """The same over the client's aiohttp connections."""
    import openai

    return openai_loop(url, calls, in_flight, openai.DefaultAioHttpClient)


def openai_loop(url: str, calls: int, in_flight: int, http: Callable[[], Any] = lambda: None) -> Result:
    """Send, read, parse, keep nothing; `http` makes the client's connections (null: its own)."""
    import openai

    async def work(client: openai.AsyncOpenAI, numbers: Iterator[int]) -> None:
        for number in numbers:
            completion = await client.chat.completions.create(**body(number))
            json.loads(completion.choices[0].message.content)

    async def run() -> None:
        numbers = iter(range(calls))
        async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0, http_client=http()) as client:
            await asyncio.gather(*(work(client, numbers) for _ in range(in_flight)))

    asyncio.run(run())
    return {}


def engine(url: str, calls: int, in_flight: int, folder: Path) -> Result:
    """The asking engine over the thin transport: ledger, retries, budget and limits on."""
    return ask(url, calls, in_flight, folder, "aiohttp")


def engine_openai(url: str, calls: int, in_flight: int, folder: Path) -> Result:
    """The asking engine over the `openai` client."""
    return ask(url, calls, in_flight, folder, "openai")


def ask(url: str, calls: int, in_flight: int, folder: Path, transport: str) -> Result:
    """Ask what the ledger in the folder has no answer to."""
    settings = AskingSettings.of(
        {"base_url": url, "concurrency": in_flight, "rpm": RPM, "budget_usd": 1e9, "price_in": 1, "price_out": 1}
        | {"transport": transport}
    )
    first: list[float] = []
    judge = judge_of(folder, timed(make_asking("bench", settings, AskingRules.load(), lambda _: None), first))
    started = time.perf_counter()
    judge.prepare("a", shards(calls), calls)
    return {"to_first_call": first[0] - started if first else None}


def judge_of(folder: Path, asking: ClientOptions | None) -> LanguageModelJudge:
    """The judge of the benchmark."""
    return LanguageModelJudge(
        "bench", folder, {"bench": SCHEMA}, Reader(), RequestRules.load(), AskingRules.load(), asking
    )


def fill(folder: Path, answered: int) -> None:
    """A ledger in which the first questions have answers of about 2 KB, as the engine leaves it."""
    judge = judge_of(folder, None)
    content = response().partition(b"\r\n\r\n")[2]
    with locked(folder), closing(open_for_writing(folder)) as connection:
        connection.execute("begin")
        for number in range(answered):
            digest = f"{number:064x}"
            key = hashlib.sha256(digest.encode()).digest()
            row = (key, "a", "bench", digest, digest, "complete", content, "r1", 1500, 0, 300, 0.002, 6000, 1, 0.2)
            for kind, values in (
                (ADD_ANSWER, (*row, 0.0, RequestOptions().text, None, hashlib.sha256(content).digest(), None, 0)),
                (ADD_SETTLED, settled(judge, digest, key)),
            ):
                connection.execute(kind.over(1), values)
        connection.execute("commit")


def settled(judge: LanguageModelJudge, digest: str, key: bytes) -> tuple[bytes | str, ...]:
    """The row that says which answer stands for a question."""
    return judge.question_id(digest), key, key, "read", judge.reads_as, key


def timed(asking: ClientOptions, first: list[float]) -> ClientOptions:
    """The same asking; notes when it sends for the first time."""

    def transport(endpoint: Endpoint, concurrency: int, rules: AskingRules) -> Any:
        sender = asking.transport(endpoint, concurrency, rules)
        send = sender.send

        async def noted(content: bytes) -> Any:
            if not first:
                first.append(time.perf_counter())
            return await send(content)

        sender.send = noted  # type: ignore[assignment, method-assign]
        return sender

    return ClientOptions(**{**vars(asking), "transport": transport})


MEASURES: dict[str, Callable[[str, int, int, Path], Result]] = {
    function.__name__: function for function in (bare_aiohttp, bare_openai, bare_openai_aiohttp, engine, engine_openai)
}


ENGINES = (engine.__name__, engine_openai.__name__)


def main(name: str, url: str, calls: str, in_flight: str, folder: str) -> None:
    """Measure one."""
    import_module("openai" if "openai" in name else "aiohttp")  # the program's start is not measured
    if name in ENGINES:  # the first question to an unknown endpoint goes alone, and is asked before
        MEASURES[name](url, 1, 1, Path(folder))
    before, started = cpu_seconds(), time.perf_counter()
    measured_values = MEASURES[name](url, int(calls), int(in_flight), Path(folder))
    seconds, cpu = time.perf_counter() - started, cpu_seconds() - before
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak_mb": peak_mb(), **measured_values}))


if __name__ == "__main__":
    main(*sys.argv[1:])
