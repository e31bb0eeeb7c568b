"""Sessions of a release that keeps them in an SQLite store: as text that can be rewritten, and as the store of a paper.

The text has the events of the session as they stand in `transcript_events`, one per line in the order of `seq`. Below
them are the rows of the other tables, one per line: {"table": NAME, "row": {COLUMN: VALUE}}, without columns that are
null. What else a row of `transcript_events` holds follows from its event.
"""

import json
import sqlite3
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from openclawbench.exam.rewrite import parse_time, record

ROW = b'{"table":'  # begins a line that is a row of a table
TRANSCRIPT = "transcript_events"
OF_SESSION = ("session_nodes", "session_windows")  # tables with one row per session
OF_STORE = "schema_meta"  # a table with one row per store
JSON_COLUMN = "entry_json"  # stands in the text as the object that it is
Row = dict[str, Any]


@cache
def layout() -> dict[str, Any]:
    """What store.toml says."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def is_stored(content: bytes) -> bool:
    """True for the text of a session that a store keeps."""
    return ROW in content[content.rstrip(b"\n").rfind(b"\n") + 1 :]


def session_lines(content: bytes) -> bytes:
    """The events of a session, as JSONL; a session file as it is."""
    if not is_stored(content):
        return content
    return b"".join(line + b"\n" for line in content.split(b"\n") if line and not line.startswith(ROW))


def as_text(events: bytes, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> bytes:
    """The text of a session: its events, and the rows of the other tables with the names of these."""
    lines = []
    for table, columns in rows:
        row = {name: value for name, value in columns.items() if value is not None}
        if JSON_COLUMN in row:
            row[JSON_COLUMN] = json.loads(row[JSON_COLUMN])
        lines.append(compact({"table": table, "row": row}).encode() + b"\n")
    return events + b"".join(lines)


def transcript_rows(content: bytes) -> list[Row]:
    """The rows of `transcript_events` that hold a session."""
    events = session_lines(content).decode().removesuffix("\n").split("\n")
    values = [json.loads(event) for event in events]
    return [
        {
            "session_id": values[0]["id"],
            "seq": seq,
            "event_json": event,
            "created_at": round(parse_time(value["timestamp"]).timestamp() * 1000),
            "event_utf8_bytes": len(event.encode()),
        }
        for seq, (event, value) in enumerate(zip(events, values, strict=True))
    ]


def other_rows(content: bytes) -> list[tuple[str, Row]]:
    """(table, row) of what else the store says of a session."""
    parsed_lines = [record(line) for line in content.split(b"\n") if line.startswith(ROW)]
    return [(parsed["table"], columns(parsed["row"])) for parsed in parsed_lines]


def columns(row: Mapping[str, Any]) -> Row:
    """The columns of a row of the text."""
    return {name: compact(value) if name == JSON_COLUMN else value for name, value in row.items()}


def compact(value: Any) -> str:
    """JSON as the runtime writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def store_of(contents: Iterable[bytes]) -> bytes:
    """The SQLite store with these sessions, in the order in which they began; the oldest one's row says who made it."""
    sessions = [(transcript_rows(content), other_rows(content)) for content in contents]
    sessions.sort(key=lambda session: (session[0][0]["created_at"], session[0][0]["session_id"]))
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as store:
        store.execute(f"PRAGMA user_version = {int(layout()['schema_version'])}")
        store.execute("BEGIN")
        for statement in layout()["tables"].values():
            store.execute(statement)
        for transcript, others in sessions:
            for table, row in others:
                insert(store, table, row)
            for row in transcript:
                insert(store, TRANSCRIPT, row)
        store.execute("COMMIT")
        return store.serialize()


def insert(store: sqlite3.Connection, table: str, row: Row) -> None:
    """Put a row into a table. Of the rows of the table with one row per store the first stays."""
    names = ", ".join(f'"{name}"' for name in row)
    places = ", ".join("?" * len(row))
    verb = "INSERT OR IGNORE" if table == OF_STORE else "INSERT"
    store.execute(f'{verb} INTO "{table}" ({names}) VALUES ({places})', tuple(row.values()))
