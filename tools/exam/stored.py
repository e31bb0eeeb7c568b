"""What a store that the real program wrote says of a session, as the text that the exam keeps (exam/store.py)."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openclawbench.exam.store import JSON_COLUMN, OF_SESSION, OF_STORE, TRANSCRIPT, as_text, compact, transcript_rows
from openclawbench.sources.openclaw.sqlite_store import member_content, open_copy

LEFT_OUT = ("skillsSnapshot", "systemPromptReport")  # of entry_json: long lists of what the machine has installed


def stored_session(store: Path, session: str) -> bytes:
    """The text of a session. Raises ValueError if its rows do not follow from the text."""
    with open_copy(store) as connection:
        content = as_text(member_content(store, session), other_rows(connection, session))
        expected = transcript_rows(content)
        stored_rows = rows(connection, f"SELECT * FROM {TRANSCRIPT} WHERE session_id = ? ORDER BY seq", session)
    for row, real in zip(expected, stored_rows, strict=True):
        if any(row[name] != real[name] for name in row if name != "event_json" or real[name] is not None):
            raise ValueError(f"session {session}: the store's row {row['seq']} does not follow from its event")
    return content


def other_rows(connection: sqlite3.Connection, session: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(table, row) of what the other tables say of a session."""
    yield from ((OF_STORE, row) for row in rows(connection, f"SELECT * FROM {OF_STORE}"))
    for table, column in zip(OF_SESSION, ("current_session_id", "session_id"), strict=True):
        for row in rows(connection, f"SELECT * FROM {table} WHERE {column} = ?", session):
            if JSON_COLUMN in row:
                entry = json.loads(row[JSON_COLUMN])
                row[JSON_COLUMN] = compact({key: value for key, value in entry.items() if key not in LEFT_OUT})
            yield table, row


def rows(connection: sqlite3.Connection, query: str, *values: str) -> list[dict[str, Any]]:
    """The rows of a query, by the names of their columns."""
    cursor = connection.execute(query, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]
