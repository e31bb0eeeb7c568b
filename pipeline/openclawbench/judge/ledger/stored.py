"""An answer as the ledger keeps it, and reading it again."""

import hashlib
import sqlite3
from dataclasses import dataclass

from openclawbench.errors import LedgerError
from openclawbench.judge.client.messages import ChatRequest
from openclawbench.judge.client.transport import ParsedAnswer


@dataclass(frozen=True)
class StoredAnswer:
    """An answer as it was kept."""

    key: bytes
    finish: str
    response: bytes
    request_id: str | None
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost_usd: float
    answer_limit: int | None = None  # tokens that the answer might have; null: as KEY_LIMIT of messages.py
    usage_estimated: bool = False  # the endpoint did not state its usage, or one that cannot be
    parsed: ParsedAnswer | None = None  # where it was just received; not a column


def storable(text: str) -> str:
    """Text as a database takes it: what is no character (bytes of a header or a file name that are no UTF-8) is written
    out."""
    return text.encode("utf-8", "backslashreplace").decode()


def stored(connection: sqlite3.Connection, key: bytes) -> StoredAnswer | None:
    """The answer to a request by its key; null where there is none. LedgerError where the response is not the one that
    was received: its digest stands beside it."""
    cursor = connection.execute("select * from answers where key = ?", (key,))
    row = cursor.fetchone()
    if row is None:
        return None
    values = {column[0]: value for column, value in zip(cursor.description, row, strict=True)}
    digest = values.get("response_sha256")
    if digest is not None and hashlib.sha256(values["response"]).digest() != digest:
        raise LedgerError(
            f"the ledger's answer {key.hex()} ({values['trajectory_id']}) was altered: it is not what was received, "
            "and is not used. `openclawbench ledger verify` lists every such answer; put a copy of the ledger in its "
            "place."
        )
    names = [name for name in StoredAnswer.__dataclass_fields__ if name in values]
    return StoredAnswer(**{name: values[name] for name in names if values[name] is not None or name == "request_id"})


def answer_to(connection: sqlite3.Connection, request: ChatRequest) -> StoredAnswer | None:
    """The answer to a request; null where there is none. Before answers of another limit were found under one key, the
    limit stood in it."""
    found = stored(connection, request.key)
    return stored(connection, request.former_key) if found is None and request.has_former_key else found
