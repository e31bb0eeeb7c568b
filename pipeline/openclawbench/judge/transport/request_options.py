"""The request options that an endpoint accepts: found out with the first question and remembered in the ledger."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import msgspec

from openclawbench.judge.transport.chat_request import ChatRequest, Message

Structured = Literal["json_schema", "json_object", "text"]
WEAKER: dict[Structured, Structured] = {"json_schema": "json_object", "json_object": "text"}
STRUCTURED: tuple[Structured, ...] = ("json_schema", "json_object")
LIMIT_NAMES = ("max_completion_tokens", "max_tokens")
LOGPROBS = ("logprobs", "top_logprobs")


@dataclass(frozen=True)
class RequestOptions:
    """The form of a request. The manifest and each answer in the ledger name it."""

    structured_output: Structured = "json_schema"
    temperature: bool = True
    seed: bool = True
    limit: str | None = LIMIT_NAMES[0]  # name of the parameter that bounds the answer
    logprobs: bool = True  # sent where a request asks for them

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parse the text that the ledger remembers."""
        return cls(**msgspec.json.decode(text))

    @classmethod
    def of_body(cls, body: Mapping[str, Any]) -> Self:
        """The options of a request's body, as `body` writes it. Its values may be JSON."""
        format_ = msgspec.json.encode(body.get("response_format"))
        structured: Structured = next((name for name in STRUCTURED if f'"{name}"'.encode() in format_), "text")
        limit = next((name for name in LIMIT_NAMES if name in body), None)
        return cls(structured, "temperature" in body, "seed" in body, limit)

    @cached_property
    def text(self) -> str:
        """As JSON, to be remembered and kept beside each answer."""
        values = asdict(self)
        if self.logprobs:
            del values["logprobs"]  # as in ledgers from before there was this option
        return msgspec.json.encode(values).decode()

    def without(self, refused: str) -> "RequestOptions | None":
        """The options to try if an endpoint refuses this (an id of [[adaptation]]); null if none are left."""
        if refused == "structured_output":
            weaker = WEAKER.get(self.structured_output)
            return None if weaker is None else replace(self, structured_output=weaker)
        if refused == "temperature":
            return replace(self, temperature=False) if self.temperature else None
        if refused == "seed":
            return replace(self, seed=False) if self.seed else None
        if refused == "logprobs":
            return replace(self, logprobs=False) if self.logprobs else None
        if self.limit is None:
            return None
        return replace(self, limit=LIMIT_NAMES[1] if self.limit == LIMIT_NAMES[0] else None)

    def body(self, request: ChatRequest, plain: str) -> dict[str, Any]:
        """The request body. `plain` introduces the schema if it must be in the prompt."""
        body: dict[str, Any] = {"model": request.model, "messages": self.messages(request, plain)}
        if not request.schema:
            pass  # an answer without a form
        elif self.structured_output == "json_schema":
            schema = {"name": request.schema_id, "strict": True, "schema": msgspec.Raw(request.schema.encode())}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif self.structured_output == "json_object":
            body["response_format"] = {"type": "json_object"}
        if self.temperature:
            body["temperature"] = request.parameters.temperature
        if self.seed:
            body["seed"] = request.parameters.seed
        if self.limit is not None:
            body[self.limit] = request.parameters.max_output_tokens
        return body | {name: value for name, value in request.more.items() if self.logprobs or name not in LOGPROBS}

    def messages(self, request: ChatRequest, plain: str) -> list[Message]:
        """The messages, with the schema below the instructions if the endpoint does not take it as a parameter."""
        if self.structured_output == "json_schema" or not request.schema:
            return request.messages
        system, *later = request.messages
        content = f"{system['content'].rstrip()}\n\n{plain.rstrip()}\n\n{request.schema}"
        return [{"role": "system", "content": content}, *later]
