"""The scripted endpoint, asked by the client library of OpenAI."""

import openai
import pytest
from planned import found_task

from openclawbench.collect.plan import planned_task
from openclawbench.collect.scripted_endpoint import ScriptedEndpoint, scripted_endpoint

TOOLS = [{"type": "function", "function": {"name": "b__add", "parameters": {"type": "object"}}}]
WORDS = [{"role": "user", "content": "Add."}]


def client(endpoint: ScriptedEndpoint, worker: int, key: str | None = None) -> openai.OpenAI:
    return openai.OpenAI(base_url=endpoint.base_url(worker), api_key=key or endpoint.key, max_retries=0)


def test_each_worker_gets_its_own_script_streamed_or_not() -> None:
    with scripted_endpoint() as endpoint:
        endpoint.load(0, planned_task(found_task("t_0"), "right").script)
        endpoint.load(1, planned_task(found_task("t_0"), "none").script)
        first = client(endpoint, 0).chat.completions.create(model="m", messages=WORDS, tools=TOOLS)
        assert first.choices[0].finish_reason == "tool_calls"
        call = first.choices[0].message.tool_calls[0].function
        assert (call.name, call.arguments) == ("b__add", '{"a": 1, "b": 2}')
        chunks = list(client(endpoint, 0).chat.completions.create(model="m", messages=WORDS, tools=TOOLS, stream=True))
        assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "Done."
        assert chunks[-1].usage.prompt_tokens > 0
        other = client(endpoint, 1).chat.completions.create(model="m", messages=WORDS, tools=TOOLS)
        assert "None of the functions" in other.choices[0].message.content


def test_a_request_without_tools_takes_no_step() -> None:
    with scripted_endpoint() as endpoint:
        endpoint.load(0, planned_task(found_task("t_0"), "right").script)
        assert client(endpoint, 0).chat.completions.create(model="m", messages=WORDS).choices[0].message.content
        answer = client(endpoint, 0).chat.completions.create(model="m", messages=WORDS, tools=TOOLS)
        assert answer.choices[0].finish_reason == "tool_calls"


def test_another_key_is_refused() -> None:
    with scripted_endpoint() as endpoint, pytest.raises(openai.AuthenticationError):
        client(endpoint, 0, "wrong").chat.completions.create(model="m", messages=WORDS, tools=TOOLS)
