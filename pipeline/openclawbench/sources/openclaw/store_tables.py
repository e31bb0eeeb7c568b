"""Tables of OpenClaw's SQLite store: the layout, sessions without records, run contexts in session_nodes."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from openclawbench.sources.io.json_values import text_of, why_not_json
from openclawbench.sources.openclaw.context import run_context
from openclawbench.sources.openclaw.session_index import entry_faults, more_faults, quoted_key

TRANSCRIPT, WINDOWS, VERSIONS = "transcript_events", "session_windows", "schema_meta"
COLUMNS = ("session_id", "seq", "event_json", "event_zstd")
RELEASES = "2026.8 and 2026.9"  # whose layout this is; recorded samples are of 2026.9.6
EXPECTED = f"a table `{TRANSCRIPT}` with the columns {', '.join(COLUMNS)}, as OpenClaw {RELEASES} write it"
NAMES_SAID, NAME_SAID = 12, 40  # names in a sentence, and characters of each: a file chooses them


def layout_difference(connection: sqlite3.Connection) -> str | None:
    """The difference between the expected tables and those of a file, without a full stop; None for a store."""
    tables = tables_of(connection)
    if TRANSCRIPT not in tables:
        described = f"the tables {list_names(tables)}" if tables else "no table at all"
    else:
        columns = columns_of(connection, TRANSCRIPT)
        if set(COLUMNS) <= set(columns):
            return None
        described = f"`{TRANSCRIPT}` with the columns {list_names(columns)}{written_by(connection, tables)}"
    return f"expected {EXPECTED}; found {described}"


def tables_of(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Names of a database's tables, sorted."""
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return tuple(str(row[0]) for row in rows)


def windows_without_records(connection: sqlite3.Connection) -> list[str]:
    """Ids of sessions that the store knows of and has no record of, sorted; empty if it does not list sessions."""
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
    """Names of a table's columns; empty if the table does not exist."""
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def written_by(connection: sqlite3.Connection, tables: Collection[str]) -> str:
    """The release that wrote the store, as the end of a sentence; empty if the store does not say it."""
    if VERSIONS not in tables or not {"app_version", "schema_version"} <= set(columns_of(connection, VERSIONS)):
        return ""
    row = connection.execute(f"SELECT app_version, schema_version FROM {VERSIONS} LIMIT 1").fetchone()
    return "" if row is None else f" (written by {str(row[0])[:NAME_SAID]}, schema {str(row[1])[:NAME_SAID]})"


def list_names(names: Iterable[str]) -> str:
    """Some names in a sentence, and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - NAMES_SAID} more" if len(listed) > NAMES_SAID else ""
    return ", ".join(name[:NAME_SAID] for name in listed[:NAMES_SAID]) + more


NODES = "session_nodes"
NODE_COLUMNS = ("session_key", "entry_json", "current_session_id", "status", "spawned_by", "label")
Node = dict[str, Any]  # a row, by the names of its columns


@dataclass
class Nodes:
    """What the table says: run context (RunContext fields) by session id, and one sentence for all that is broken."""

    contexts: dict[str, dict[str, Any]] = field(default_factory=dict)
    fault: str | None = None


def read_nodes(connection: sqlite3.Connection) -> Nodes:
    """The table's rows in the order of keys; of several for one session the first counts. Nothing if a store has no
    such table. What can be used of a broken row is used: its other columns, another row."""
    nodes, faults = Nodes(), []
    try:
        for node in rows_of(connection):
            entry, why = entry_of(node)
            session_id = text_of(entry.get("sessionId")) or text_of(node["current_session_id"])
            faults += [f"the row of session_key {quoted_key(node['session_key'])}: {reason}" for reason in why]
            if session_id is not None:
                nodes.contexts.setdefault(session_id, context_of(node, entry))
            elif not why:
                faults.append(f"the row of session_key {quoted_key(node['session_key'])}: it names no session")
    except sqlite3.Error as error:
        faults.append(f"it cannot be read to its end: {error}")
    if faults:
        nodes.fault = f"{faults[0]}{more_faults(len(faults))}"
    return nodes


def rows_of(connection: sqlite3.Connection) -> Iterator[Node]:
    """The rows, null for a column that this store does not have. Text that is not UTF-8 has U+FFFD in its place."""
    columns = columns_of(connection, NODES)
    wanted = [name for name in NODE_COLUMNS if name in columns]
    if not wanted or not is_table(connection, NODES):
        return
    casts = ", ".join(f"typeof({name}), CAST({name} AS BLOB)" for name in wanted)
    order = "ORDER BY session_key" if "session_key" in wanted else ""
    for row in connection.execute(f"SELECT {casts} FROM {NODES} {order}"):
        kinds, values = row[::2], row[1::2]
        texts = [
            value.decode("utf-8", "replace") if kind == "text" else None
            for kind, value in zip(kinds, values, strict=True)
        ]
        yield dict.fromkeys(NODE_COLUMNS) | dict(zip(wanted, texts, strict=True))


def entry_of(node: Node) -> tuple[dict[str, Any], list[str]]:
    """A row's entry, empty if it cannot be read, and what is wrong with it."""
    text = node["entry_json"]
    if text is None:
        return {}, ["`entry_json` is not text"]
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError) as error:
        return {}, [f"`entry_json` is not JSON: {why_not_json(text, error)}"]
    if not isinstance(entry, dict):
        return {}, ["`entry_json` is not an object"]
    return entry, [what for _, what in entry_faults({"": entry})]


def context_of(node: Node, entry: dict[str, Any]) -> dict[str, Any]:
    """RunContext fields of a row; its own columns where the entry does not say."""
    context = run_context(text_of(node["session_key"]), entry)
    for name in ("status", "spawned_by", "label"):
        context[name] = context[name] or text_of(node[name])
    return context
