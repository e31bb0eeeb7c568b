"""What an SQLite database must hold to be read as OpenClaw's store, what is said of one that does not, and which of its
sessions have no records."""

import sqlite3
from collections.abc import Iterable

TRANSCRIPT, WINDOWS, VERSIONS = "transcript_events", "session_windows", "schema_meta"
COLUMNS = ("session_id", "seq", "event_json", "event_zstd")
RELEASES = "2026.8 and 2026.9"  # whose layout this is; recorded samples are of 2026.9.6
EXPECTED = f"a table `{TRANSCRIPT}` with the columns {', '.join(COLUMNS)}, as OpenClaw {RELEASES} write it"
NAMES_SAID, NAME_SAID = 12, 40  # names in a sentence, and characters of each: a file chooses them


def why_not_laid_out(connection: sqlite3.Connection) -> str | None:
    """What is expected and what is there instead, as one sentence without its end; null for a store."""
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    if TRANSCRIPT not in tables:
        found = f"the tables {said(tables)}" if tables else "no table at all"
    else:
        there = columns_of(connection, TRANSCRIPT)
        if set(COLUMNS) <= set(there):
            return None
        found = f"`{TRANSCRIPT}` with the columns {said(there)}{written_by(connection, tables)}"
    return f"expected {EXPECTED}; found {found}"


def windows_without_records(connection: sqlite3.Connection) -> list[str]:
    """Ids of sessions that the store knows of and has no record of, sorted; empty where it does not list sessions."""
    if "session_id" not in columns_of(connection, WINDOWS) or not is_table(connection, WINDOWS):
        return []
    rows = connection.execute(
        f"SELECT CAST(session_id AS TEXT) FROM {WINDOWS} WHERE session_id NOT IN"
        f" (SELECT session_id FROM {TRANSCRIPT} WHERE session_id IS NOT NULL) ORDER BY session_id"
    )
    return [str(row[0]) for row in rows]


def is_table(connection: sqlite3.Connection, name: str) -> bool:
    """True for a table; false for a view, whose rows may have no end, and where there is nothing of that name."""
    query = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
    return bool(connection.execute(query, (name,)).fetchone()[0])


def columns_of(connection: sqlite3.Connection, table: str) -> list[str]:
    """Names of a table's columns; none where there is no such table."""
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def written_by(connection: sqlite3.Connection, tables: list[str]) -> str:
    """What the store says of the release that wrote it, to be set behind a list; empty where it does not."""
    if VERSIONS not in tables or not {"app_version", "schema_version"} <= set(columns_of(connection, VERSIONS)):
        return ""
    row = connection.execute(f"SELECT app_version, schema_version FROM {VERSIONS} LIMIT 1").fetchone()
    return "" if row is None else f" (written by {str(row[0])[:NAME_SAID]}, schema {str(row[1])[:NAME_SAID]})"


def said(names: Iterable[str]) -> str:
    """Some names in a sentence, and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - NAMES_SAID} more" if len(listed) > NAMES_SAID else ""
    return ", ".join(name[:NAME_SAID] for name in listed[:NAMES_SAID]) + more
