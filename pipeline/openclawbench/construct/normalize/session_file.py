"""An input file on its way through normalize: its session, or the reason why it has none."""

from dataclasses import dataclass, field
from typing import Any

from openclawbench.base.session_names import basename, safe_name
from openclawbench.sources.base import ParsedSession
from openclawbench.sources.identification import HEAD_BYTES, WHOLE_JSON, decode, first_line
from openclawbench.sources.io.jsonl import number_of_lines
from openclawbench.sources.io.step_spool import SpooledSteps

SAID = 2000  # characters of a sentence, which may quote a file


@dataclass
class SessionFile:
    """An input file: its session, or the reason why it has none."""

    source_model: str
    path: str
    member: str | None
    base_line: int
    base_offset: int
    sha256: str | None
    session: ParsedSession | None = None
    disposition: str = "quarantined"
    reason: str | None = None
    message: str | None = None
    line: int | None = None
    records_in: int = 0
    trajectory_id: str | None = None
    divergent: bool = False
    parent: str | None = None
    continues: str | None = None  # identity of the session that it continues, then the id of its trajectory
    name: str | None = None  # of the session, where that is the name of a copy
    removed: list[dict[str, Any]] = field(default_factory=list)  # RemovedRecord: what only copies of it still hold
    aliases: set[str] = field(default_factory=set)
    stored: bool = False  # of an SQLite store
    row: str | None = None  # row and column of a table, of a session that is a value of it
    row_number: int | None = None
    identity: str = ""  # equal for copies of one session
    license: str | None = None  # that is stated for it
    context_sha256: str | None = None  # of what lies beside it and is read with it
    steps: range | SpooledSteps = range(0)  # of the session: rows of the shard's columns, or a very long one's own


def refuse(
    file: SessionFile, reason: str, line: int | None, message: str, content: bytes | memoryview | None = None
) -> SessionFile:
    """Note why a file gives no trajectory; its records are counted all the same."""
    if content is not None:
        file.records_in = number_of_records(file, content)
    cut = len(message) > SAID
    file.reason, file.line, file.message = reason, line, f"{message[:SAID]}…" if cut else message
    return file


def number_of_records(file: SessionFile, content: bytes | memoryview) -> int:
    """Records of what gives no trajectory: the lines that are not blank of a file of lines (the first of them is a JSON
    object by itself, or it is named as one and is not a document) and of a session of a store; else one, the document.

    So writing a document anew, on one line or on many, changes nothing.
    """
    lines = number_of_lines(content)
    if lines < 2 or file.stored:
        return lines
    head = bytes(content[:HEAD_BYTES])
    named, document = ".jsonl" in file.path.rpartition("/")[2], len(content) <= WHOLE_JSON
    if isinstance(decode(first_line(head)), dict):
        return lines
    return lines if named and not (document and isinstance(decode(bytes(content)), dict)) else 1


def session_name(file: SessionFile) -> str:
    """Native-session basename: the file's; the session id where a file holds several, or is named for its run."""
    if file.name is not None:
        return file.name
    session_id = file.session.session_id if file.session else None
    if file.member or ".jsonl" not in file.path:
        return safe_name(session_id or file.member or basename(file.path))
    return basename(file.path)


def trajectory_key(file: SessionFile) -> dict[str, str | None]:
    """The key of every row of a trajectory."""
    return {"source_model": file.source_model, "trajectory_id": file.trajectory_id}
