"""The transport of the `openai` client itself, over its aiohttp connections, with its own retries switched off."""

from typing import Any, Self

import msgspec

from openclawbench.judge.transport.aiohttp_transport import failure_of
from openclawbench.judge.transport.bounded_body import read_body
from openclawbench.judge.transport.endpoint import Endpoint
from openclawbench.judge.transport.protocol import HttpResponse
from openclawbench.judge.transport.responses import check_response
from openclawbench.rules.judge.asking import AskingRules

NO_KEY = "none"  # the client wants one even where a local server does not


class OpenaiTransport:
    """Sends bodies through AsyncOpenAI. Redirects are not followed: a key goes nowhere else."""

    def __init__(self, endpoint: Endpoint, concurrency: int, rules: AskingRules) -> None:
        self.endpoint, self.concurrency, self.rules = endpoint, concurrency, rules
        self.secrets = endpoint.secrets(rules)

    async def __aenter__(self) -> Self:
        import openai

        self.openai = openai
        times = self.rules.connection
        timeout = openai.Timeout(times.answer_s, connect=times.connect_s)
        self.client = openai.AsyncOpenAI(
            base_url=self.endpoint.base_url,
            api_key=self.endpoint.key or NO_KEY,
            organization=self.endpoint.organization,
            project=self.endpoint.project,
            max_retries=0,
            timeout=timeout,
            http_client=bounded_client(times.largest_answer_bytes, follow_redirects=False, timeout=timeout),
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.client.close()

    async def send(self, body: bytes) -> HttpResponse:
        """The whole answer. Raises TransientError or RejectedRequest."""
        values: dict[str, Any] = msgspec.json.decode(body)
        response: Any
        try:
            response = await self.client.chat.completions.with_raw_response.create(**values)
        except self.openai.APIConnectionError as error:
            raise failure_of(innermost(error)) from error
        except self.openai.APIStatusError as error:  # not handled here: its own words may repeat the key
            response = error.response
        return check_response(response.status_code, response.headers, response.content, self.rules, self.secrets)


def bounded_client(most: int, **values: Any) -> Any:
    """The client's own HTTP client over aiohttp, whose responses are read up to a limit, whatever their status."""
    import openai

    class Bounded(openai.DefaultAioHttpClient):
        """Reads the response itself."""

        async def send(self, request: Any, **options: Any) -> Any:  # of whichever HTTP library the client is built on
            response = await super().send(request, **(options | {"stream": True}))
            try:
                body = await read_body(response.aiter_raw(), response.headers.get("content-encoding", ""), most)
            finally:
                await response.aclose()
            # As bytes: a value that is not ASCII is kept as it came.
            lengths = (b"content-encoding", b"content-length", b"transfer-encoding")
            headers = [(name, value) for name, value in response.headers.raw if name.lower() not in lengths]
            return type(response)(response.status_code, headers=headers, content=body, request=request)

    return Bounded(**values)


def innermost(error: BaseException) -> BaseException:
    """The first cause of an exception: the client reports a lost connection as a timeout."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error
