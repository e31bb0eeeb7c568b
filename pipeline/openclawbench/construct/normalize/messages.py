"""Sentences about files that cannot be used: file, session, line, cause and what to do."""

import re
from typing import Any

from openclawbench.base.session_names import unpacked
from openclawbench.construct.normalize.session_file import SessionFile
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.identification import WHOLE_JSON, first_record
from openclawbench.sources.io.file_encodings import other_form
from openclawbench.sources.io.json_values import TOO_DEEP, why_not_json
from openclawbench.sources.io.jsonl import BOM, FATAL, Fault, is_too_deep, pieces
from openclawbench.sources.openclaw.sqlite_store import FILE_NAME, STORE_HINT
from openclawbench.sources.registry import FORMATS, explain_rejection
from openclawbench.sources.sidecars.harbor import CONVERTED
from openclawbench.sources.sidecars.run_artifact_paths import RUN_FILE
from openclawbench.sources.tables.rows import NO_RUN

LINE_HINT = "Repair or remove the line; a step may be lost with it."
ROW_HINT = "Repair or remove the line; the other lines are read."
INDEX_HINT = (
    "What it says there of the runs beside it (aborted, cost, parent) is not used; the sessions are read. "
    "Repair the file, or remove it."
)
STORE_HINTS = {
    "unknown_store": "Take it out of the raw folder if it is another program's; a store of another release has to be "
    "exported to JSONL first.",
    "empty_store": "Put the store back together with the `-wal` file beside it, in which its records may be, or remove "
    "it.",
    "windows_without_records": "Nothing is read of them: they never came to an answer, or their records were removed.",
    "broken_context": "What it says there of runs (aborted, cost, parent) is not used; the sessions are read. Take the "
    "store from a backup, or mend the row.",
}
TABLE_HINTS = {
    "not_json": "Repair the row or remove it; the other rows are read.",
    "not_a_session": "Put the session there or remove the row; the other rows are read.",
    "too_large": "Put that session into a file of its own, or remove the row; the other rows are read.",
    "noncommercial_license": "It is not mixed in with other data. If all your use is non-commercial, run with "
    "--noncommercial accept; else take it out of the raw folder.",
}
ARCHIVE, UNSUPPORTED = "archive", "unsupported_session"  # reason codes
ARCHIVES = re.compile(r"\.(zip|7z|rar|t(ar\.)?(gz|zst|xz|bz2|lz4)|tar)$", re.IGNORECASE)  # own choice
NOT_JSON = "Is this a session file? Take it out of the raw folder, or repair the line."
NAMES = (source.format_name for source in FORMATS)
FORMATS_READ = ", ".join(dict.fromkeys(("openclaw", "openclaw_sqlite", *NAMES)))
CONVERT = f"Take the file out of the raw folder, or convert it to a format that is read: {FORMATS_READ}."
COMPLETE = "Add what is missing, or take the file out of the raw folder."


def unreadable(file: SessionFile, error: str) -> str:
    """Sentence for bytes that could not be read. An error that ends with a full stop already says what to do."""
    return f"{file.path}: {error}" if error.endswith(".") else f"{file.path}: {error}. Make it readable and run again."


def broken_index(file: SessionFile, fault: Fault) -> str:
    """Sentence for a session index that can be used only in part."""
    return f"{file.path}: {fault.message}. {INDEX_HINT}"


def of_store(file: SessionFile, reason: str, what: str) -> str:
    """Sentence for something about a store that is not a session; of a log of a store, which `what` names."""
    if reason == "store_log":
        return f"{file.path}: a log of {what}, which is read with it."
    kind = "an SQLite database that is not laid out as OpenClaw's store: " if reason == "unknown_store" else ""
    table = f"{file.member}: " if file.member else ""
    return f"{file.path}: {table}{kind}{what}. {STORE_HINTS[reason]}"


def of_row(file: SessionFile, reason: str, what: str, row: str | None) -> str:
    """Sentence for a row of a table that gives no session. `row`: which, as in `line 7`."""
    where = f"{row}: " if row else ""
    return f"{file.path}: {where}{what}. {TABLE_HINTS[reason]}"


def is_archive(path: str) -> bool:
    """True for a file that is named as an archive, and not as a session."""
    return ARCHIVES.search(path) is not None and ".jsonl" not in path.rpartition("/")[2]


def archive(file: SessionFile) -> str:
    """Sentence for an archive."""
    return f"{file.path}: an archive, which is not looked into. If it holds sessions, unpack it; else remove it."


def sidecar_sentence(file: SessionFile, kind: str | None, gave: list[str]) -> str:
    """Sentence for a file that lies beside sessions: what it is, if a rule knows it, and what they took of it."""
    what = f" ({kind})" if kind else ""
    if file.member is not None:
        return f"{file.path}: {file.member}: lies beside sessions and is not one{what}."
    if gave:
        return f"{file.path}: lies beside sessions{what} and gave them: {'; '.join(gave)}."
    return f"{file.path}: lies beside sessions and is not one{what}."


def describe_refusal(file: SessionFile, fault: Fault, stored: bool) -> tuple[int | None, str]:
    """Line of the file and sentence for a session that its adapter refused. `stored`: it is one of an SQLite store."""
    line = None if fault.line is None else file.base_line + fault.line - 1
    message = fault.message.removeprefix(f"line {fault.line}: ")
    if file.row is not None:
        return file.row_number, f"{place(file, stored)}: {message}. {TABLE_HINTS['not_json']}"
    where = "" if message == fault.message else f"{'record' if stored else 'line'} {line}: "
    hint = (STORE_HINT if stored else LINE_HINT) if fault.reason in FATAL else ""
    return line, f"{place(file, stored)}: {where}{message}. {hint}".rstrip()


def too_deep(file: SessionFile, stored: bool) -> str:
    """Sentence for a session with a value that is nested too deeply, at a place that the adapter does not know."""
    return f"{place(file, stored)}: {TOO_DEEP}. {STORE_HINT if stored else LINE_HINT}"


def place(file: SessionFile, stored: bool) -> str:
    """The file, and the session of a store or of a table."""
    return f"{file.path}: {file.row}" if file.row else f"{file.path}: session {file.member}" if stored else file.path


def no_session(file: SessionFile, content: bytes, first: Any, stored: bool) -> tuple[str, int, str]:
    """Reason, line and sentence for a file, or a line of one that holds several sessions, whose first record no source
    claims."""
    number, _, data = next(pieces(content), (1, 0, b""))
    line = file.base_line + number - 1
    where = f"{place(file, stored)}: {'record' if stored else 'line'} {line}"
    inside = STORE_HINT if stored else ROW_HINT if file.member is not None else None
    if first is None and is_too_deep(data):
        return "nested_too_deeply", line, f"{where}: {TOO_DEEP}. {inside or LINE_HINT}"
    if first is None and inside is None and (form := other_form(content)):
        return "not_json", line, f"{file.path}: {form}, or take the file out of the raw folder."
    if first is None:
        why = why_not_json(data.decode("utf-8", "surrogateescape").strip(), ValueError("no JSON object"))
        return "not_json", line, f"{where}: not JSON: {why}. {inside or NOT_JSON}"
    if rejection := explain_rejection(first):
        return "not_a_session", line, f"{where}: {rejection}. {inside or COMPLETE}"
    what = "a record" if inside else "the first record is"
    return "not_a_session", line, f"{where}: {what} of no known session format. {inside or CONVERT}"


def name_unread(
    file: SessionFile, content: bytes, first: Any, context: dict[str, Any], rules: NormalizeRules
) -> tuple[str, int | None, str] | None:
    """Reason, line and sentence for a file that holds what no adapter reads and that is more than something beside
    sessions: rows that are no runs, or a session of a format that is not supported, by what it looks like; None for
    any other file. What Harbor made the trajectory of that lies beside it is known."""
    if first is None and content.removeprefix(BOM).lstrip().startswith(b"["):
        first, _ = first_record(content, may_be_list=True)
    looks = rules.unsupported(first, file.path)
    if looks is None and (what := context.get(NO_RUN)) is not None:
        return NO_RUN, 1, f"{file.path}: {what}. Take the file out of the raw folder, or write sessions into it."
    looks = looks or rules.seems_session(first)
    if looks is None or context.get(CONVERTED):
        return None
    return UNSUPPORTED, None, f"{file.path}: looks like {looks}, a session of a format that is not read. {CONVERT}"


def diagnose_damaged_document(path: str, content: bytes, first: Any, size: int) -> tuple[str, int | None, str] | None:
    """Reason, line and sentence; None if the file may well be anything. `first`: its first record, None if that
    is not JSON. `size`: its bytes, of which `content` may be the beginning only."""
    name = unpacked(path.rpartition("/")[2])
    if name == FILE_NAME:
        problem = f"{path}: is named as OpenClaw's store and is not an SQLite database."
        sentence = f"{problem} Put the store back, or remove the file."
        return "unreadable_file", None, sentence
    if not name.endswith(".json"):
        return None
    if RUN_FILE.match(name) and (not content or content.isspace()):
        return "empty_file", None, f"{path}: the file is empty. Remove it, or put the run back."
    seems_document = first is None and content.removeprefix(BOM).lstrip().startswith(b"{")
    if seems_document and size > WHOLE_JSON:
        sentence = (
            f"{path}: a JSON document of more than {WHOLE_JSON >> 20} MB, which is not looked into. Is it a run? Split "
            "it, or take it out of the raw folder."
        )
        return "too_large", None, sentence
    if seems_document:
        sentence = (
            f"{path}: begins as a JSON document and is not one: cut off or damaged. Put it back whole, or remove it."
        )
        return "not_json", None, sentence
    if isinstance(first, list) and first and any(source.detect(first[0]) for source in FORMATS):
        sentence = f"{path}: a list of documents, where each has to be a file of its own. Write one file for each."
        return "not_a_session", None, sentence
    return None
