"""A question as a chat request: its messages, and the digest under which its answer is kept.

The digest covers the meaning of a request (model, parameters, messages, schema, packet). It covers neither its form for
an endpoint (response format, parameters that the endpoint refuses) nor the maximum length of the answer; the ledger
keeps both beside the answer. If an answer was cut off or is asked for again, the same digest gets another round.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from openclawbench.base.canonical_json import canonical_json
from openclawbench.judge.fence import delimit_material
from openclawbench.judge.protocol import Question
from openclawbench.judge.sent_packet import sent_packet, sent_previous
from openclawbench.rules.judge.request import RequestRules

Message = dict[str, str]
KEY_LIMIT = 8192  # takes the place of the answer's limit in every key, so that answers of older versions are found


@dataclass(frozen=True)
class ChatRequest:
    """A request to a model. `schema` is JSON text, empty for an answer without a form; `more` holds further fields of
    the body, such as logprobs."""

    model: str
    parameters: RequestRules
    messages: list[Message]
    schema_id: str
    schema: str
    packet_sha256: str
    key: bytes  # sha256 of these fields without the limit of the answer, and of the round
    base: bytes  # the key of the first round
    former_key: bytes  # the key of former versions, which covers the limit of the answer
    bytes: int  # size of the messages' JSON; the last field of bytes, because its name hides the type
    round: int = 0
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_former_key(self) -> bool:
        """True if the ledger may hold an answer under the former key."""
        return self.round == 0 and self.former_key != self.key

    def in_round(self, number: int) -> "ChatRequest":
        """The same request in another round."""
        key = hashlib.sha256(self.base + f"\nround {number}".encode()).digest() if number else self.base
        return replace(self, round=number, key=key)

    def repeated(self) -> "ChatRequest":
        """The same request, asked for an answer of its own."""
        key = hashlib.sha256(self.base + b"\nrepeated").digest()
        return replace(self, key=key, base=key, former_key=key)


def chat_request(
    model: str,
    parameters: RequestRules,
    messages: list[Message],
    schema_id: str,
    schema: str,
    packet_sha256: str,
    more: Mapping[str, Any] | None = None,
) -> ChatRequest:
    """The request with its key: sha256 over the canonical JSON of its meaning."""
    encoded = msgspec.json.encode(messages)
    limited = parameters.parameters()
    meant: dict[str, Any] = {
        "model": model,
        "parameters": limited | {"max_output_tokens": KEY_LIMIT},
        "messages": msgspec.Raw(encoded),
        "schema": msgspec.Raw((schema or "null").encode()),
        "packet_sha256": packet_sha256,
        **({"more": dict(more)} if more else {}),
    }
    key = former = hashlib.sha256(msgspec.json.encode(meant)).digest()
    if limited["max_output_tokens"] != KEY_LIMIT:
        former = hashlib.sha256(msgspec.json.encode(meant | {"parameters": limited})).digest()
    size = len(encoded)
    return ChatRequest(
        model, parameters, messages, schema_id, schema, packet_sha256, key, key, former, size, more=dict(more or {})
    )


def messages_of(question: Question) -> list[Message]:
    """The shared instructions, then the stage's own, then the untrusted material between fences, then the earlier
    answers between fences of their own. What most questions share comes first, so that prompt caches of providers
    hit."""
    blocks = [delimit_material(sent_packet(question.material, question.sent_id or question.trajectory_id))]
    if question.previous is not None:
        blocks.append(delimit_material(sent_previous(question.previous), "PREVIOUS"))
    instructions = f"{question.shared}\n{question.prompt}" if question.shared else question.prompt
    return [{"role": "system", "content": instructions}, {"role": "user", "content": "\n\n".join(blocks)}]


def corrective(messages: list[Message], text: str | None, complaint: str, prompt: str) -> list[Message]:
    """The same question again, followed by the complaint about the unusable answer, and that answer (None: it was not
    complete) as a JSON string between fences, because it may repeat the untrusted material.

    The last message holds all of it: chat templates of some models refuse two messages of one role in a row.
    """
    *before, last = messages
    former = [] if text is None else [delimit_material(canonical_json(text), "FORMER")]
    content = "\n\n".join([last["content"].rstrip(), prompt.rstrip(), complaint, *former])
    return [*before, {"role": last["role"], "content": content}]
