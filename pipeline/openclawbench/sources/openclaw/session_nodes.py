"""session_nodes, the table of OpenClaw's SQLite store that says of its sessions what sessions.json said of the files:
run context by session id, and its faults, told because what a row says is lost with them."""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from openclawbench.sources.io.json_values import text_of
from openclawbench.sources.io.not_json import why_not_json
from openclawbench.sources.openclaw.context import run_context
from openclawbench.sources.openclaw.session_index import and_more, entry_faults, key_said
from openclawbench.sources.openclaw.store_layout import columns_of, is_table

NODES = "session_nodes"
COLUMNS = ("session_key", "entry_json", "current_session_id", "status", "spawned_by", "label")
Node = dict[str, Any]  # a row, by the names of its columns


@dataclass
class Nodes:
    """What the table says: run context (RunContext fields) by session id, and one sentence for all that is broken."""

    contexts: dict[str, dict[str, Any]] = field(default_factory=dict)
    fault: str | None = None


def read_nodes(connection: sqlite3.Connection) -> Nodes:
    """The table's rows in the order of keys; of several for one session the first counts. Nothing where a store has no
    such table. What can be used of a broken row is used: its other columns, another row."""
    found, faults = Nodes(), []
    try:
        for node in rows_of(connection):
            entry, why = entry_of(node)
            session_id = text_of(entry.get("sessionId")) or text_of(node["current_session_id"])
            faults += [f"the row of session_key {key_said(node['session_key'])}: {one}" for one in why]
            if session_id is not None:
                found.contexts.setdefault(session_id, context_of(node, entry))
            elif not why:
                faults.append(f"the row of session_key {key_said(node['session_key'])}: it names no session")
    except sqlite3.Error as error:
        faults.append(f"it cannot be read to its end: {error}")
    if faults:
        found.fault = f"{faults[0]}{and_more(len(faults))}"
    return found


def rows_of(connection: sqlite3.Connection) -> Iterator[Node]:
    """The rows, null for a column that this store does not have. Text that is not UTF-8 has U+FFFD in its place."""
    there = columns_of(connection, NODES)
    wanted = [name for name in COLUMNS if name in there]
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
        yield dict.fromkeys(COLUMNS) | dict(zip(wanted, texts, strict=True))


def entry_of(node: Node) -> tuple[dict[str, Any], list[str]]:
    """A row's entry, empty where it can't be read, and what is wrong with it."""
    text = node["entry_json"]
    if text is None:
        return {}, ["`entry_json` is no text"]
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError) as error:
        return {}, [f"`entry_json` is not JSON: {why_not_json(text, error)}"]
    if not isinstance(entry, dict):
        return {}, ["`entry_json` is no object"]
    return entry, [what for _, what in entry_faults({"": entry})]


def context_of(node: Node, entry: dict[str, Any]) -> dict[str, Any]:
    """RunContext fields of a row; its own columns where the entry does not say."""
    context = run_context(text_of(node["session_key"]), entry)
    for name in ("status", "spawned_by", "label"):
        context[name] = context[name] or text_of(node[name])
    return context
