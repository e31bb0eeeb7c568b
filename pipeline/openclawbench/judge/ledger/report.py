"""What a ledger holds: counts, costs, calls that may have been paid for without an answer, and faults."""

import hashlib
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from openclawbench.errors import LedgerError
from openclawbench.judge.ledger.sqlite_file import (
    NAME,
    as_ledger_error,
    has_digests,
    has_table,
    is_current,
    locked,
    open_for_writing,
    rows,
)
from openclawbench.judge.transport.completion import Failed, parse_completion

REFUSED = ("too_long", "content_filter", "refused")  # outcomes whose response is an endpoint's error


def stats(connection: sqlite3.Connection) -> dict[str, Any]:
    """Answers by stage, model and finish; outcomes of questions; and each call without an answer."""
    answers = rows(
        connection,
        "select stage, model, finish, count(*) as answers, sum(prompt_tokens) as prompt_tokens, sum(cached_tokens) as "
        "cached_tokens, sum(completion_tokens) as completion_tokens, round(total(cost_usd), 6) as usd "
        "from answers group by stage, model, finish order by stage, model, finish",
    )
    questions = rows(connection, "select outcome, count(*) as questions from settled group by outcome order by outcome")
    lost = rows(
        connection,
        "select lower(hex(lost.key)) as key, lost.stage, lost.trajectory_id, reason, sent_at, answers.key is not null "
        "as asked_again from lost left join answers using(key) order by sent_at, lost.key",
    )
    open_ = rows(
        connection,
        "select lower(hex(key)) as key, stage, trajectory_id, sent_at from intents order by sent_at, key",
    )
    for row in (*lost, *open_):
        row["sent_at"] = moment(row["sent_at"])
    return {
        "answers": answers,
        "usd": round(sum(answer["usd"] for answer in answers), 6),
        "questions": questions,
        "estimated_usage": estimated_usage(connection),
        "unread_responses": count_unread(connection),
        "corrective": connection.execute("select count(*) from answers where corrects is not null").fetchone()[0],
        "attempts": connection.execute("select coalesce(sum(attempts), 0) from answers").fetchone()[0],
        "maybe_paid_without_answer": lost,
        "in_flight": open_,
        "batches": rows(
            connection,
            "select batches.name, id, status, count(batched.key) as requests from batches left join batched "
            "on batched.batch = batches.name group by batches.name order by created_at",
        ),
        "endpoints": rows(connection, "select base_url, model, accepts from endpoints order by base_url, model"),
    }


def estimated_usage(connection: sqlite3.Connection) -> int:
    """The number of answers whose usage was missing or impossible, and so was estimated from their bytes."""
    if not is_current(connection):
        return 0
    return int(connection.execute("select count(*) from answers where usage_estimated").fetchone()[0])


def count_unread(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """Responses with status 200 that were not answers, by reason."""
    if not has_table(connection, "unread"):
        return []
    return rows(connection, "select reason, count(*) as responses from unread group by reason order by reason")


def moment(seconds: float) -> str:
    """UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def faults(connection: sqlite3.Connection) -> Iterator[str]:
    """The faults of a ledger, a sentence each; empty if it is sound."""
    try:
        for (line,) in connection.execute("pragma integrity_check"):
            if line != "ok":
                yield f"SQLite: {line}"
        missing = (
            "select lower(hex(question)) from settled where first not in (select key from answers) "
            "or last not in (select key from answers)"
        )
        for (question,) in connection.execute(missing):
            yield f"question {question}: the answer that stands for it is missing"
        digest = "response_sha256" if has_digests(connection) else "null"
        columns = f"lower(hex(key)), {digest}, finish, response, prompt_tokens, completion_tokens"
        for key, sha256, finish, response, prompt, completion in connection.execute(f"select {columns} from answers"):
            if sha256 is not None and hashlib.sha256(response).digest() != sha256:
                yield f"answer {key}: the response is not what was received: its digest is another"
            elif finish not in REFUSED and (why := differs(finish, response, prompt, completion)):
                yield f"answer {key}: {why}"
    except (sqlite3.DatabaseError, LedgerError) as error:
        yield f"SQLite: {error}"


def differs(finish: str, response: bytes, prompt: int, completion: int) -> str | None:
    """How an answer's columns differ from its verbatim response; None if they agree."""
    try:
        parsed_answer = parse_completion(response)
    except (ValueError, LookupError, RecursionError, Failed) as error:
        return f"the response cannot be read: {error}"
    stored_tokens = {"prompt_tokens": prompt, "completion_tokens": completion}
    stated = {name: value for name, value in parsed_answer.usage.model_dump().items() if name in stored_tokens}
    same = all(stored_tokens[name] == stated[name] for name in stored_tokens if name not in parsed_answer.missing)
    finishes = (
        {parsed_answer.finish, "empty"} if parsed_answer.text_from != "content" else {parsed_answer.finish}
    )  # as former versions read it
    return None if same and finish in finishes else "its columns differ from its response"


def export_answers(connection: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    """Every answer as plain data, in order of time, with its response as text."""
    cursor = connection.execute("select * from answers order by answered_at, key")
    names = [column[0] for column in cursor.description]
    for values in cursor:
        row = dict(zip(names, values, strict=True))
        yield row | {
            "key": row["key"].hex(),
            "corrects": hexadecimal(row["corrects"]),
            "response_sha256": hexadecimal(row.get("response_sha256")),
            "answered_at": moment(row["answered_at"]),
            "response": row["response"].decode("utf-8", "backslashreplace"),
        }


def hexadecimal(digest: bytes | None) -> str | None:
    """A digest as text; None stays None."""
    return None if digest is None else digest.hex()


def compact(folder: Path) -> tuple[int, int]:
    """Free unused space without removing answers. Returns the size before and after, in bytes. Raises LedgerLocked and
    LedgerError."""
    path = folder / NAME
    with locked(folder):
        before = size(folder)
        connection = open_for_writing(folder)
        try:
            connection.execute("vacuum")
            connection.execute("pragma wal_checkpoint(truncate)")
        except sqlite3.Error as error:
            raise as_ledger_error(path, error) from error
        finally:
            connection.close()
    return before, size(folder)


def size(folder: Path) -> int:
    """Bytes of the ledger and its side files."""
    try:
        return sum(path.stat().st_size for path in folder.glob(f"{NAME}*"))
    except OSError as error:
        raise LedgerError(f"{folder}: cannot be read: {error.strerror}.") from error
