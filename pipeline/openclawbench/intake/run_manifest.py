"""The run manifest: which session ran which task. Lines of run_manifest.jsonl in the raw folder or an oracle folder."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from openclawbench.intake.oracles.files import numbered_lines
from openclawbench.intake.oracles.sessions import OtherSubsets, SessionNames
from openclawbench.records.session import RunManifestRow
from openclawbench.rules.intake.oracle import OracleRules
from openclawbench.sources.io.json_values import load_json
from openclawbench.storage.spilled_values import Multimap, SpilledList

Row = dict[str, Any]
BLANK: Row = dict.fromkeys(RunManifestRow.model_fields)


def manifest_rows(
    paths: list[Path], names: SessionNames, rules: OracleRules, faults: list[Row], warnings: list[Row]
) -> Collection[Row]:
    """RunManifestRow dicts of every file, with the names of the sessions here; equal rows count once.

    A broken line is a fault, the rest goes on. A name that several sessions have, and several tasks for one session,
    are faults too: never guessed; a subset that is not the task's is kept, with a warning.
    UnreadableInput for a file that cannot be opened.
    """
    rows, digests = SpilledList[tuple[str, Row]](), Multimap[str]()  # (place, row); session -> digests of its rows
    for path in paths:
        odd = OtherSubsets("run_manifest", str(path), rules)
        for number, row in lines(path, faults):
            odd.look(number, row)
            session = names.find(row["source_model"], row["native_session_basename"])
            if session.sessions > 1:
                faults.append(ambiguous(path, number, row, session.sessions))
                continue
            row["native_session_basename"] = session.basename
            row["subset"] = row["subset"] or rules.known_subset(row["task_id"])
            if digests.add(session_of(row), hashlib.sha256(json.dumps(row).encode()).hexdigest()):
                rows.append((f"{path}:{number}", row))
        warnings += odd.warnings()
    places: dict[tuple[str, str], list[str]] = defaultdict(list)  # session with several rows -> their places
    kept = SpilledList[Row]()
    for place, row in rows:
        if len(digests.get(session_of(row))) > 1:
            places[session_of(row)].append(place)
        else:
            kept.append(row)
    faults += [ambiguous_session(*session, of_session) for session, of_session in places.items()]
    return kept


def session_of(row: Row) -> tuple[str, str]:
    """(source model, name) of the session of a row."""
    return row["source_model"], row["native_session_basename"]


def lines(path: Path, faults: list[Row]) -> Iterator[tuple[int, Row]]:
    """(line, RunManifestRow dict) of a file; a line that is not one is a fault."""
    for number, data in numbered_lines(path):
        try:
            row = RunManifestRow.model_validate(BLANK | load_json(data))
        except (ValueError, TypeError, RecursionError) as error:
            message = f"{path}: line {number}: not a run manifest line: {why(error)}. Correct it and run again."
            faults.append({"reason": "run_manifest_malformed", "file": str(path), "line": number, "message": message})
            continue
        yield number, row.model_dump()


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
