"""One function a neighbour: ask it every prompt. Run in the neighbour's own environment, where the pipeline is not:
`python peer_drivers.py DRIVER PROMPTS URL IN_FLIGHT FOLDER`. PROMPTS is a JSON list of texts, FOLDER what the tool may
keep; where it is not empty the tool is to go on from it."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

SYSTEM = "You are a strict judge. Answer in JSON."
MODEL = "bench"
KEY = "none"
PATIENCE_S = 60


def openai(prompts: list[str], url: str, in_flight: int, _: Path) -> None:
    """The reference: a plain loop over AsyncOpenAI, its retries off."""
    client = import_module("openai").AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0)

    async def ask_prompt(prompt: str) -> str:
        completion = await client.chat.completions.create(model=MODEL, messages=messages(prompt), temperature=0)
        return str(completion.choices[0].message.content)

    asyncio.run(each(prompts, ask_prompt, in_flight))


def litellm(prompts: list[str], url: str, in_flight: int, _: Path) -> None:
    """acompletion."""
    library: Any = import_module("litellm")
    library.suppress_debug_info = True

    async def ask_prompt(prompt: str) -> str:
        how = {"model": f"openai/{MODEL}", "api_base": url, "api_key": KEY, "num_retries": 0, "temperature": 0}
        completion = await library.acompletion(messages=messages(prompt), **how)
        return str(completion.choices[0].message.content)

    asyncio.run(each(prompts, ask_prompt, in_flight))


def instructor(prompts: list[str], url: str, in_flight: int, _: Path) -> None:
    """JSON mode with a record of two fields."""
    library, pydantic = import_module("instructor"), import_module("pydantic")
    record = pydantic.create_model("Verdict", verdict=(str, ...), reason=(str, ...))
    plain = import_module("openai").AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0)
    client = library.from_openai(plain, mode=library.Mode.JSON)

    async def ask_prompt(prompt: str) -> str:
        how = {"model": MODEL, "response_model": record, "max_retries": 1}
        return str((await client.chat.completions.create(messages=messages(prompt), **how)).model_dump())

    asyncio.run(each(prompts, ask_prompt, in_flight))


def pydantic_ai(prompts: list[str], url: str, in_flight: int, _: Path) -> None:
    """An agent without tools."""
    provider = import_module("pydantic_ai.providers.openai").OpenAIProvider(base_url=url, api_key=KEY)
    model = import_module("pydantic_ai.models.openai").OpenAIChatModel(MODEL, provider=provider)
    agent = import_module("pydantic_ai").Agent(model, system_prompt=SYSTEM)

    async def ask_prompt(prompt: str) -> str:
        return str((await agent.run(prompt)).output)

    asyncio.run(each(prompts, ask_prompt, in_flight))


def daft(prompts: list[str], url: str, in_flight: int, _: Path) -> None:
    """`prompt` over a column. It has no bound on what is in flight: a partition goes at once."""
    library = import_module("daft")
    library.set_provider("openai", api_key=KEY, base_url=url)
    how = {"system_message": SYSTEM, "model": MODEL, "provider": "openai", "use_chat_completions": True}
    asked = import_module("daft.functions").prompt(library.col("prompt"), **how)
    answer = library.from_pydict({"prompt": prompts}).with_column("answer", asked).collect().to_pydict()["answer"]
    complete(answer, len(prompts))


def curator(prompts: list[str], url: str, in_flight: int, folder: Path) -> None:
    """LLM with its cache in the folder. Its token counts come from a download: a count by length stands in."""
    tiktoken: Any = import_module("tiktoken")
    tiktoken.get_encoding = tiktoken.encoding_for_model = lambda _: ByLength
    limits = {"max_requests_per_minute": 10_000_000, "max_tokens_per_minute": 10_000_000_000}
    how = {
        "base_url": url,
        "api_key": KEY,
        "max_concurrent_requests": in_flight,
        "request_timeout": PATIENCE_S,
        **limits,
    }
    library = import_module("bespokelabs.curator")
    model = library.LLM(
        model_name="gpt-4o-mini", backend="openai", backend_params={"require_all_responses": False, **how}
    )
    dataset = model(prompts, working_dir=str(folder / "cache"))
    complete([row["response"] for row in getattr(dataset, "dataset", dataset)], len(prompts))


class ByLength:
    """Stands for an encoding of tiktoken."""

    name = "by-length"

    @staticmethod
    def encode(text: str, **_: Any) -> list[int]:
        """Four characters a token."""
        return [0] * (len(text) // 4)


def distilabel(prompts: list[str], url: str, in_flight: int, folder: Path) -> None:
    """A pipeline of one task, its cache in the folder."""
    steps, tasks = import_module("distilabel.steps"), import_module("distilabel.steps.tasks")
    model = import_module("distilabel.models").OpenAILLM(
        model=MODEL, base_url=url, api_key=KEY, max_retries=6, timeout=PATIENCE_S
    )
    with import_module("distilabel.pipeline").Pipeline(name="bench", cache_dir=str(folder / "cache")) as pipeline:
        load = steps.LoadDataFromDicts(data=[{"instruction": prompt} for prompt in prompts], batch_size=in_flight)
        load >> tasks.TextGeneration(llm=model, input_batch_size=in_flight, system_prompt=SYSTEM)
    dataset = pipeline.run(use_cache=True)
    complete(dataset["default"]["train"]["generation"], len(prompts))


def data_designer(prompts: list[str], url: str, in_flight: int, folder: Path) -> None:
    """One text column over a seed table, its artifacts in the folder."""
    config, interface = import_module("data_designer.config"), import_module("data_designer.interface")
    table = import_module("pandas").DataFrame({"prompt": prompts})
    sampling = config.ChatCompletionInferenceParams(max_parallel_requests=in_flight, temperature=0.0)
    model = {"alias": "judge", "model": MODEL, "provider": "bench", "skip_health_check": True}
    chosen = config.ModelConfig(inference_parameters=sampling, **model)
    builder = config.DataDesignerConfigBuilder(model_configs=[chosen])
    builder.with_seed_dataset(config.DataFrameSeedSource(df=table))
    column = {"name": "answer", "prompt": "{{ prompt }}", "model_alias": "judge", "system_prompt": SYSTEM}
    builder.add_column(config.LLMTextColumnConfig(**column))
    provider = config.ModelProvider(name="bench", endpoint=url, api_key=KEY)
    designer = interface.DataDesigner(artifact_path=str(folder / "artifacts"), model_providers=[provider])
    designer.set_run_config(config.RunConfig(buffer_size=200))
    modes = import_module("data_designer.interface.data_designer").ResumeMode
    again = {"resume": modes.IF_POSSIBLE} if (folder / "artifacts").exists() else {}
    dataset = designer.create(builder, num_records=len(prompts), dataset_name="bench", **again).load_dataset()
    complete(list(dataset["answer"]), len(prompts))


def inspect_scout(prompts: list[str], url: str, in_flight: int, folder: Path) -> None:
    """A scan of one scanner over a database of transcripts in the folder."""
    scout, model = import_module("inspect_scout"), import_module("inspect_ai.model")
    transcripts, scans = folder / "transcripts", folder / "scans"
    if not transcripts.exists():
        asyncio.run(write_transcripts(scout, model, prompts, transcripts))

    async def scan_one(transcript: Any) -> Any:
        asked = [model.ChatMessageSystem(content=SYSTEM), model.ChatMessageUser(content=transcript.messages[0].text)]
        output = await model.get_model().generate(asked)
        return scout.Result(value="verdict" in output.completion)

    def bench_judge() -> Any:
        return scan_one

    scan_one.__annotations__ = {"transcript": scout.Transcript, "return": scout.Result}
    bench_judge.__annotations__ = {"return": scout.Scanner[scout.Transcript]}
    scanner = scout.scanner(messages="all")(bench_judge)
    former = sorted(scans.glob("scan_id=*"))
    if former:
        status = scout.scan_resume(str(former[0]), display="none")
    else:
        how = model.GenerateConfig(max_connections=in_flight, max_retries=5, timeout=PATIENCE_S)
        where = {"transcripts": scout.transcripts_from(str(transcripts)), "scans": str(scans)}
        ask = {"model": f"openai-api/mock/{MODEL}", "model_base_url": url, "model_config": how}
        limits = {"max_transcripts": in_flight, "max_processes": 1, "display": "none"}
        status = scout.scan(scanners=[scanner()], **where, **ask, **limits)
    if not status.complete:
        raise ValueError("the scan did not end")


async def write_transcripts(scout: Any, model: Any, prompts: list[str], to: Path) -> None:
    """A transcript a prompt."""
    async with scout.transcripts_db(str(to)) as database:
        await database.insert(
            [
                scout.Transcript(
                    transcript_id=f"t{number:06d}",
                    source_id=f"s{number}",
                    source_type="bench",
                    source_uri=f"bench:{number}",
                    messages=[model.ChatMessageUser(content=prompt), model.ChatMessageAssistant(content="ok")],
                )
                for number, prompt in enumerate(prompts)
            ]
        )


def messages(prompt: str) -> list[dict[str, str]]:
    """The two messages of a call."""
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]


async def each(prompts: list[str], ask_prompt: Callable[[str], Awaitable[str]], in_flight: int) -> None:
    """Every prompt once, so many at a time."""
    answers: list[str] = []

    async def work(remaining: Iterator[str]) -> None:
        for prompt in remaining:
            answers.append(await ask_prompt(prompt))  # noqa: PERF401 (what comes first is appended first)

    remaining = iter(prompts)
    await asyncio.gather(*(work(remaining) for _ in range(in_flight)))
    complete(answers, len(prompts))


def complete(answers: list[Any], count: int) -> None:
    """ValueError where an answer is missing."""
    answered = sum("verdict" in str(answer) for answer in answers)
    if answered != count:
        raise ValueError(f"{answered} of {count} answers")


DRIVERS: dict[str, Callable[[list[str], str, int, Path], None]] = {
    driver.__name__: driver
    for driver in (openai, litellm, instructor, pydantic_ai, daft, curator, distilabel, data_designer, inspect_scout)
}


if __name__ == "__main__":
    name, texts, address, at_once, place = sys.argv[1:]
    os.environ.update(OPENAI_API_KEY=KEY, OPENAI_BASE_URL=address)
    DRIVERS[name](json.loads(Path(texts).read_text()), address, int(at_once), Path(place))
