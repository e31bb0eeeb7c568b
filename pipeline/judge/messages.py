"""A question as a chat request: its messages, and the digest under which its answer is kept.

The digest covers what is meant (model, parameters, messages, schema, packet), not how an endpoint had to be told
(response format, a parameter that it refuses): that stands beside the answer in the ledger.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import msgspec

from pipeline.canonical import canonical_json
from pipeline.judge.fence import delimited
from pipeline.judge.protocol import Question
from pipeline.judge.sent import sent_packet, sent_previous
from pipeline.rules.asking import RequestRules

Message = dict[str, str]


@dataclass(frozen=True)
class ChatRequest:
    """What is asked of a model. `schema` is JSON text."""

    model: str
    parameters: RequestRules
    messages: list[Message]
    schema_id: str
    schema: str
    packet_sha256: str
    key: bytes  # sha256 of all of these
    bytes: int  # of the messages' JSON


def chat_request(
    model: str, parameters: RequestRules, messages: list[Message], schema_id: str, schema: str, packet_sha256: str
) -> ChatRequest:
    """The request with its key: sha256 over the canonical JSON of what is meant."""
    encoded = msgspec.json.encode(messages)
    meant: dict[str, Any] = {
        "model": model,
        "parameters": parameters.parameters(),
        "messages": msgspec.Raw(encoded),
        "schema": msgspec.Raw(schema.encode()),
        "packet_sha256": packet_sha256,
    }
    key = hashlib.sha256(msgspec.json.encode(meant)).digest()
    return ChatRequest(model, parameters, messages, schema_id, schema, packet_sha256, key, len(encoded))


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
