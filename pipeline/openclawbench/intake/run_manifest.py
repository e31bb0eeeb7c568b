"""The run manifest: which session ran which task. Lines of run_manifest.jsonl in the raw folder or an oracle folder."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from openclawbench.intake.oracles.files import content_of
from openclawbench.intake.oracles.sessions import SessionNames, other_subsets
from openclawbench.records.session import RunManifestRow
from openclawbench.rules.oracle import OracleRules
from openclawbench.sources.io.json_values import load_json
from openclawbench.sources.io.jsonl import pieces

Row = dict[str, Any]
BLANK: Row = dict.fromkeys(RunManifestRow.model_fields)


def manifest_rows(
    paths: list[Path], names: SessionNames, rules: OracleRules, faults: list[Row], warnings: list[Row]
) -> list[Row]:
    """RunManifestRow dicts of every file, with the names of the sessions here; equal rows count once.

    A broken line is a fault, the rest goes on. A name that several sessions have, and several tasks for one session,
    are faults too: never guessed; a subset that is not the task's is kept, with a warning.
    UnreadableInput for a file that cannot be opened.
    """
    rows_by_model: dict[tuple[str, str], dict[str, tuple[str, Row]]] = defaultdict(dict)
    for path in paths:
        read = lines(path, faults)
        warnings += other_subsets("run_manifest", str(path), read, rules)
        for number, row in read:
            session = names.find(row["source_model"], row["native_session_basename"])
            if session.sessions > 1:
                faults.append(ambiguous(path, number, row, session.sessions))
                continue
            row["native_session_basename"] = session.basename
            row["subset"] = row["subset"] or rules.known_subset(row["task_id"])
            of_session = rows_by_model[row["source_model"], row["native_session_basename"]]
            of_session.setdefault(json.dumps(row), (f"{path}:{number}", row))
    kept_rows = []
    for (model, name), rows in rows_by_model.items():
        if len(rows) > 1:
            faults.append(ambiguous_session(model, name, [place for place, _ in rows.values()]))
        else:
            kept_rows += [row for _, row in rows.values()]
    return kept_rows


def lines(path: Path, faults: list[Row]) -> list[tuple[int, Row]]:
    """(line, RunManifestRow dict) of a file; a line that is not one is a fault."""
    manifest_lines = []
    for number, _, data in pieces(content_of(path)):
        try:
            row = RunManifestRow.model_validate(BLANK | load_json(data))
        except (ValueError, TypeError, RecursionError) as error:
            message = f"{path}: line {number}: not a run manifest line: {why(error)}. Correct it and run again."
            faults.append({"reason": "run_manifest_malformed", "file": str(path), "line": number, "message": message})
            continue
        manifest_lines.append((number, row.model_dump()))
    return manifest_lines


def why(error: Exception) -> str:
    """Why a line is not valid, in a few words: the first field at fault, if there is one."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error)


def ambiguous(path: Path, line: int, row: Row, sessions: int) -> Row:
    """The fault of a line whose name several sessions have."""
    name = f"{row['source_model']}/{row['native_session_basename']}"
    message = (
        f"{path}: line {line}: {sessions} sessions are called {name}, so it names none. Name the one that is meant."
    )
    return {"reason": "run_manifest_ambiguous", "file": str(path), "line": line, "message": message}


def ambiguous_session(model: str, name: str, places: list[str]) -> Row:
    """The fault of a session with several manifest rows."""
    file, _, line = places[1].rpartition(":")
    return {
        "reason": "run_manifest_several_tasks",
        "file": file,
        "line": int(line),
        "message": f"{', '.join(places)}: name different tasks for the session {model}/{name}, so none is used. "
        "Keep the line that is true and run again.",
    }
