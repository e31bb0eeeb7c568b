"""Explain, calls of the ledger: the calls behind an answer with attempts, latency and time, and lost calls."""

from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from openclawbench.judge.ledger.sqlite_file import NAME, reading, rows
from openclawbench.judge.protocol import Judge

Row = dict[str, Any]
KEPT = "finish, request_id, prompt_tokens, cached_tokens, completion_tokens, cost_usd, attempts, latency_s, answered_at"


def calls(ledger: Path, judge: Judge, request_sha256: str) -> list[Row]:
    """One row for each answered call, a corrective one last; empty for an embedded judge or without a ledger."""
    if judge.embedded:
        return []
    from openclawbench.judge.language_model import LanguageModelJudge

    if not isinstance(judge, LanguageModelJudge) or not (ledger / NAME).exists():
        return []
    with reading(ledger) as connection:
        question = judge.question_id(request_sha256)
        settled = rows(connection, "select first, last from settled where question = ?", question)
        keys = dict.fromkeys(key for row in settled for key in (row["first"], row["last"]))
        return [answer for key in keys for answer in describe_answer(connection, key)]


def describe_answer(connection: Connection, key: bytes) -> list[Row]:
    """The answer to one request, with its calls that were lost before."""
    lost = rows(connection, "select reason, sent_at from lost where key = ? order by sent_at", key)
    lost_calls = [row | {"sent_at": time_of(row["sent_at"])} for row in lost]
    stored = rows(connection, f"select {KEPT} from answers where key = ?", key)
    return [row | {"answered_at": time_of(row["answered_at"]), "key": key.hex(), "lost": lost_calls} for row in stored]


def time_of(value: float | str) -> str:
    """A time of the ledger as UTC text; the ledger has texts and seconds since 1970."""
    if isinstance(value, str):
        return value
    return datetime.fromtimestamp(value, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
