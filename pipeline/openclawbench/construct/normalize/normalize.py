"""Normalize: raw session files -> trajectories of ReAct steps (paper T7, B.1-B.2); nothing is lost silently."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import polars as pl

from openclawbench.base.canonical_json import sha256_text
from openclawbench.base.session_names import NATIVE_NAME, path_name
from openclawbench.construct.normalize import messages
from openclawbench.construct.normalize.continued import Continued
from openclawbench.construct.normalize.fragments import find_fragments
from openclawbench.construct.normalize.session_file import SessionFile, refuse, trajectory_key
from openclawbench.construct.normalize.session_rows import add_rows, outcome_row, task_rows
from openclawbench.construct.normalize.step_columns import StepColumns
from openclawbench.construct.normalize.trajectory_ids import name_trajectories
from openclawbench.intake.licenses import LICENSE
from openclawbench.records.oracle import SourceOutcome, SourceOutcomes
from openclawbench.records.session import (
    FileOutcome,
    FileOutcomes,
    RunManifest,
    SourceFiles,
    Steps,
    Trajectories,
    Trajectory,
    UserTurn,
    UserTurns,
)
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.runtime.stage import stage
from openclawbench.sources.adapter_calls import parse_long_session, parse_session
from openclawbench.sources.base import CONTINUES, MalformedSession, ParsedSession, RecordDigests, Source
from openclawbench.sources.identification import HEAD_BYTES, first_record, identify_long
from openclawbench.sources.io.jsonl import Fault
from openclawbench.sources.io.utf8_check import are_clean_utf8
from openclawbench.sources.openclaw.session_index import index_fault, is_index
from openclawbench.sources.registry import skip_reason, source_named
from openclawbench.sources.sidecars import harbor, table_row
from openclawbench.tables.bytes_column import iter_bytes
from openclawbench.tables.schema import from_records


@stage(scope="shard")
def normalize(
    files: SourceFiles, manifest: RunManifest, rules: NormalizeRules
) -> tuple[Trajectories, Steps, UserTurns, SourceOutcomes, FileOutcomes]:
    """All sessions of a shard. Copies of one session meet here, because a shard is chosen by identity.

    Never raises on bad input: a file that can't be used becomes a row of FileOutcome with reason, line and sentence.
    """
    columns = StepColumns()
    read, continued = read_files(files, columns, rules)
    sessions = [file for file in read if file.session is not None]
    name_trajectories(sessions, rules)
    continued.link(sessions)
    trajectories = [session for session in sessions if session.disposition == "trajectory"]
    tasks = task_rows(manifest.collect())
    rows: dict[str, list[dict[str, Any]]] = {"trajectory": [], "turn": [], "outcome": []}
    for file in trajectories:
        add_rows(rows, file, tasks)
    return (
        from_records(rows["trajectory"], Trajectory).lazy(),
        columns.table([(trajectory_key(file), file.steps) for file in trajectories]),
        from_records(rows["turn"], UserTurn).lazy(),
        from_records(rows["outcome"], SourceOutcome).lazy(),
        from_records([outcome_row(file) for file in read], FileOutcome).lazy(),
    )


def read_files(files: pl.LazyFrame, columns: StepColumns, rules: NormalizeRules) -> tuple[list[SessionFile], Continued]:
    """Read every file of a shard, each behind those of the session that it continues, and with its end where that is a
    file of its own."""
    table = files.collect()
    continued = Continued(table.select("source_model", "identity", "context").rows())
    order = continued.order()
    table = table[order] if order != sorted(order) else table
    fragments = find_fragments(table)
    read = []
    for place, (at, (row, own_bytes)) in enumerate(zip(order, rows_of(table), strict=True)):
        again = own_bytes
        if place in fragments.end_of:
            again = partial(fragments.content, place, table["content"])
            row |= {"content": again(), "is_clean_utf8": False}
        file = read_file(row, rules, continued.context_of(at, json.loads(row["context"]) if row["context"] else {}))
        if place in fragments.end_of:
            fragments.point_to(place, table, file)
        continued.note(at, file)
        read.append(with_columns(file, columns, again))
    fragments.note(read)
    return read, continued


def with_columns(file: SessionFile, columns: StepColumns, again: Callable[[], bytes]) -> SessionFile:
    """Move the steps of a file's session into the columns; returns the file. Its bytes are not held any longer: `again`
    returns them if they are needed."""
    session = file.session
    if session is not None and session.spooled_steps is not None:
        file.steps, session.spooled_steps = session.spooled_steps, None
    elif session is not None:
        file.steps, session.steps = columns.add(session.steps), []
        if isinstance(session.record_digests, RecordDigests):
            session.record_digests.content = again
    return file


def rows_of(table: pl.DataFrame) -> Iterator[tuple[dict[str, Any], Callable[[], bytes]]]:
    """The rows one by one, each with a function that returns its bytes again. So the bytes of only one large session
    are copied at a time."""
    contents = table["content"]
    rows = zip(table.drop("content").iter_rows(named=True), iter_bytes(contents), are_clean_utf8(contents), strict=True)
    for index, (row, content, is_clean) in enumerate(rows):
        yield row | {"content": content, "is_clean_utf8": is_clean}, partial(content_at, contents, index)


def content_at(contents: pl.Series, index: int) -> bytes:
    """The bytes of a file."""
    content: bytes = contents[index][0]
    return content


def read_file(row: dict[str, Any], rules: NormalizeRules, more: dict[str, Any] | None = None) -> SessionFile:
    """Read one file as far as it goes. `more`: its context, where more than the row's belongs to it."""
    place = (row["source_model"], row["path"], row["member"], row["base_line"], row["base_offset"], row["sha256"])
    file = SessionFile(*place)
    file.identity, source = row["identity"], source_named(row["adapter"])
    content: bytes | memoryview | None = row["content"]
    context = json.loads(row["context"]) if more is None and row["context"] else more or {}
    file.license = context.get(LICENSE)
    file.context_sha256 = sha256_text(row["context"]) if row["context"] else None
    if (noted := context.get("noted")) is not None:
        return note_store(file, noted, rules)
    if source is None and messages.is_archive(file.path):
        return note_archive(file, rules, b"" if content is None else content)
    if (row["error"] is not None or content is None) and (kind := rules.store_companion(file.path)):
        return note_sidecar(file, kind, [], b"")
    if row["error"] is not None or content is None:
        return refuse(file, "unreadable_file", None, messages.unreadable(file, row["error"]))
    if not isinstance(content, memoryview):
        return read_content(file, content, source, context, rules, row.get("is_clean_utf8", False))
    looked_at = read_long(file, content, source, context, rules)
    return file if looked_at is None else read_content(file, looked_at, source, context, rules, False, content)


def note_store(file: SessionFile, noted: dict[str, Any], rules: NormalizeRules) -> SessionFile:
    """Note a file without a session of its own: a store, the log of a store, or a row of a table."""
    reason, file.records_in = noted["reason"], noted["records"]
    if reason in messages.TABLE_HINTS:
        word = next((word for word in ("line", "row") if word in noted), None)
        row = None if word is None else f"{word} {noted[word]}"
        return refuse(file, reason, noted.get(word or ""), messages.of_row(file, reason, noted["what"], row))
    kind = rules.store_without_transcripts(noted.get("tables", ()))
    if reason in rules.no_store_reasons and (kind := kind or rules.store_companion(file.path)):
        return note_sidecar(file, kind, [], b"")
    if reason == "unknown_store" and not rules.may_be_store(file.path):
        return note_sidecar(file, "other_database", [], b"")
    if reason in rules.beside_reasons:
        file.disposition = "sidecar"
    return refuse(file, reason, None, messages.of_store(file, reason, noted["what"]))


def read_content(
    file: SessionFile,
    looked_at: bytes,
    source: Source | None,
    context: dict[str, Any],
    rules: NormalizeRules,
    is_clean_utf8: bool,
    full_content: memoryview | None = None,
) -> SessionFile:
    """Read a file's content as far as it goes. `full_content`: all of it, where `looked_at` is only its beginning."""
    content = looked_at if full_content is None else full_content
    size = len(content)
    stored = file.stored = bool(context.get("store"))
    note_row(file, context)
    named_session = stored or ".jsonl" in file.path.rpartition("/")[2]
    first, _ = first_record(looked_at)
    known_kind = None if source else skip_reason(context, first) or rules.named(file.path)
    sidecar, gave = rules.sidecar(first) or known_kind, context.get("gave", [])
    if named_session and sidecar is None and (not looked_at or looked_at.isspace()):
        return refuse(file, "empty_file", None, f"{file.path}: the file is empty. Remove it, or put the session back.")
    if source is None and is_index(file.path) and not rules.is_other_index(first):
        return read_index(file, content, gave)
    unknown = sidecar is None and source is None and not stored
    if unknown and (why := messages.diagnose_damaged_document(file.path, looked_at, first, size)):
        return refuse(file, *why, content)
    if unknown and not gave and (why := messages.name_unread(file, looked_at, first, context, rules)):
        return refuse(file, *why, content)
    if sidecar or (source is None and not named_session):
        return note_sidecar(file, sidecar, gave, content)
    if file.source_model == "":
        return refuse(
            file, "no_source_model", None, f"{file.path}: lies in no folder. Put it under raw/<source_model>/.", content
        )
    if source is None:
        return refuse(file, *messages.no_session(file, looked_at, first, stored), content)
    return parse(file, looked_at, source, context, rules, is_clean_utf8)


def note_row(file: SessionFile, context: dict[str, Any]) -> None:
    """Note which row of a table a session is a value of, if it is not bytes of the file."""
    facts = context.get(table_row.FACTS)
    if facts is not None and facts["part"]:
        file.row_number = facts["number"]
        row, _, column = (file.member or "").partition(".")
        file.row = f"{row.rstrip('0123456789')} {file.row_number}, column {column}"


def note_sidecar(file: SessionFile, kind: str | None, gave: list[str], content: bytes | memoryview) -> SessionFile:
    """Note a file beside sessions. `kind`: id of the rule that recognizes it; `gave`: what sessions took from it."""
    file.disposition = "sidecar"
    reason = "used_as_context" if gave else kind or "no_session"
    return refuse(file, reason, None, messages.sidecar_sentence(file, kind, gave), content)


def note_archive(file: SessionFile, rules: NormalizeRules, content: bytes | memoryview) -> SessionFile:
    """Note an archive: nothing in it is read."""
    if kind := rules.store_companion(file.path):
        return note_sidecar(file, kind, [], content)
    file.disposition = "sidecar"
    return refuse(file, messages.ARCHIVE, None, messages.archive(file), content)


def read_index(file: SessionFile, content: bytes | memoryview, gave: list[str]) -> SessionFile:
    """Note a session index, and which parts of it cannot be used."""
    if (fault := index_fault(file.path, content)) is None:
        return note_sidecar(file, None, gave, content)
    file.disposition = "sidecar"
    return refuse(file, fault.reason, fault.line, messages.broken_index(file, fault), content)


def read_long(
    file: SessionFile, content: memoryview, source: Source | None, context: dict[str, Any], rules: NormalizeRules
) -> bytes | None:
    """Read a very long session in little memory, if its adapter can. Returns the bytes that remain to be read: None if
    the adapter could, else the beginning of the file if that suffices, or all of it."""
    head = bytes(content[:HEAD_BYTES])
    if source is None:
        return bytes(content) if identify_long(file.path, head, len(content)) is None else head
    if not source.reads_long:
        return bytes(content)
    if file.source_model == "" or rules.sidecar(first_record(head)[0]):
        return head
    session = parse_long_session(source, content, context, rules)
    if session is None:
        return bytes(content)
    note_session(file, session, context)
    return None


def parse(
    file: SessionFile,
    content: bytes,
    source: Source,
    context: dict[str, Any],
    rules: NormalizeRules,
    is_clean_utf8: bool,
) -> SessionFile:
    """Run the adapter over a file that is a session."""
    stored = bool(context.get("store"))
    try:
        session = parse_session(source, content, context, rules, is_clean_utf8)
    except MalformedSession as error:
        if error.fault.reason in rules.beside_reasons:
            file.disposition = "sidecar"
        return refuse(file, error.fault.reason, *messages.describe_refusal(file, error.fault, stored), content)
    except RecursionError:
        return refuse(file, "nested_too_deeply", None, messages.too_deep(file, stored), content)
    table_row.add_to(session, context, rules)
    note_session(file, session, context)
    return file


def note_session(file: SessionFile, session: ParsedSession, context: dict[str, Any]) -> None:
    """Note the session that a file holds."""
    session.identity = file.identity
    file.session = session
    file.parent, file.continues = context.get("parent_trajectory_id"), context.get(CONTINUES)
    if file.parent is not None:
        harbor.leave_to_parent(session)
    if "circular_parent" in context:
        sentence = f"its parent would be {context['circular_parent']}, which makes it its own ancestor; none is noted"
        session.warnings.append(Fault("circular_parent", 1, sentence))
    if "ambiguous_parent" in context:
        sentence = f"{context['ambiguous_parent']} sessions have the name of its parent or predecessor; none is noted"
        session.warnings.append(Fault("ambiguous_parent", 1, sentence))
    if NATIVE_NAME in context:
        file.aliases.add(context[NATIVE_NAME])
    if file.member is None and (name := path_name(file.path)):
        file.aliases.add(name)
    file.records_in = session.records_in
    file.disposition = "trajectory"
