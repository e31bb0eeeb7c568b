"""A question as a chat request: its messages, and the digest under which its answer is kept.

The digest covers what is meant (model, parameters, messages, schema, packet), not how an endpoint had to be told
(response format, a parameter that it refuses), nor how long the answer may be: both stand beside the answer in the
ledger. An answer that was cut off, and one that is asked for again, has another round of the same digest.
"""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from openclawbench.base.canonical_json import canonical_json
from openclawbench.judge.fence import delimited
from openclawbench.judge.protocol import Question
from openclawbench.judge.sent_packet import sent_packet, sent_previous
from openclawbench.rules.request import RequestRules

Message = dict[str, str]
KEY_LIMIT = 8192  # stands in every key where the limit of the answer once stood, so that older answers are found


@dataclass(frozen=True)
class ChatRequest:
    """What is asked of a model. `schema` is JSON text."""

    model: str
    parameters: RequestRules
    messages: list[Message]
    schema_id: str
    schema: str
    packet_sha256: str
    key: bytes  # sha256 of all of these but for the limit of the answer, and of the round
    base: bytes  # the key of the first round
    former_key: bytes  # the same with the limit of the answer
    bytes: int  # of the messages' JSON; after the other fields of bytes, whose type this name hides
    round: int = 0

    @property
    def has_former_key(self) -> bool:
        """True where an answer may stand under the key with its limit."""
        return self.round == 0 and self.former_key != self.key

    def in_round(self, number: int) -> "ChatRequest":
        """The same request in another round."""
        key = hashlib.sha256(self.base + f"\nround {number}".encode()).digest() if number else self.base
        return replace(self, round=number, key=key)


def chat_request(
    model: str, parameters: RequestRules, messages: list[Message], schema_id: str, schema: str, packet_sha256: str
) -> ChatRequest:
    """The request with its key: sha256 over the canonical JSON of what is meant."""
    encoded = msgspec.json.encode(messages)
    limited = parameters.parameters()
    meant: dict[str, Any] = {
        "model": model,
        "parameters": limited | {"max_output_tokens": KEY_LIMIT},
        "messages": msgspec.Raw(encoded),
        "schema": msgspec.Raw(schema.encode()),
        "packet_sha256": packet_sha256,
    }
    key = former = hashlib.sha256(msgspec.json.encode(meant)).digest()
    if limited["max_output_tokens"] != KEY_LIMIT:
        former = hashlib.sha256(msgspec.json.encode(meant | {"parameters": limited})).digest()
    return ChatRequest(model, parameters, messages, schema_id, schema, packet_sha256, key, key, former, len(encoded))


def messages_of(question: Question) -> list[Message]:
    """The shared instructions, which are the same for every question, then the stage's own, which are the same for
    every question of a stage, so that prompt caches of providers hit; then the untrusted material between its fences;
    then the earlier answers, between fences of their own."""
    blocks = [delimited(sent_packet(question.material, question.sent_id or question.trajectory_id))]
    if question.previous is not None:
        blocks.append(delimited(sent_previous(question.previous), "PREVIOUS"))
    instructions = f"{question.shared}\n{question.prompt}" if question.shared else question.prompt
    return [{"role": "system", "content": instructions}, {"role": "user", "content": "\n\n".join(blocks)}]


def corrective(messages: list[Message], text: str | None, complaint: str, prompt: str) -> list[Message]:
    """The same question, asked once more: below it what was wrong with the answer that could not be used, and that
    answer (null: none was whole) as a JSON string between fences, for it may repeat the untrusted material.

    All of it stands in the last message: chat templates of some models refuse two messages of one role in a row.
    """
    *before, last = messages
    former = [] if text is None else [delimited(canonical_json(text), "FORMER")]
    content = "\n\n".join([last["content"].rstrip(), prompt.rstrip(), complaint, *former])
    return [*before, {"role": last["role"], "content": content}]
