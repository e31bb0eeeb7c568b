"""Native OpenClaw session JSONL (and clawdbot, pi): one file -> one session on its active branch."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import msgspec

from openclawbench.base.session_names import NATIVE_NAME, basename
from openclawbench.records.session import RunContext
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.base import MalformedSession, ParsedSession, RecordDigests, Source, read_session_lines
from openclawbench.sources.io.bounded_counter import NamedCounts
from openclawbench.sources.io.content_text import QUOTED
from openclawbench.sources.io.json_values import text_of
from openclawbench.sources.io.jsonl import Fault, RawFile, RawLine, read_lines, readable
from openclawbench.sources.io.record_spans import LazyContent, Spans
from openclawbench.sources.io.step_spool import StepSpool
from openclawbench.sources.io.timestamps import iso_time, time_fault
from openclawbench.sources.openclaw.background_commands import link_background
from openclawbench.sources.openclaw.branches import (
    Branch,
    LeafMove,
    Node,
    active_branch,
    is_chain,
    with_leaf_moves,
)
from openclawbench.sources.openclaw.context import first_prompt, native_name
from openclawbench.sources.openclaw.copied_context import off_branch, own_branch
from openclawbench.sources.openclaw.history import history_of
from openclawbench.sources.openclaw.records import (
    LINE,
    METADATA,
    Message,
    Outline,
    SessionRecord,
    decode_line,
    decode_outline,
)
from openclawbench.sources.openclaw.repeats import Repeats, may_repeat
from openclawbench.sources.openclaw.run_summary import run_summary
from openclawbench.sources.openclaw.steps import StepBuilder
from openclawbench.sources.sidecars import harbor
from openclawbench.sources.sidecars.jsonl_sidecar import is_session_header
from openclawbench.sources.sidecars.run_artifact_context import (
    context_for_session,
    describe_run_use,
    find_run_artifacts,
)
from openclawbench.sources.step_builder import written_out

STORED = "openclaw_sqlite"  # format of a session of a store


class OpenClaw(Source):
    """The adapter. Formats of pi v1 (no version, no ids) to release 2026.7."""

    name = "openclaw"
    reads_long = True

    def detect(self, first: Any) -> bool:
        return is_session_header(first)

    def explain_rejection(self, first: Any) -> str | None:
        """What a record lacks to be a session header, if it says that it is one; what a file lacks that begins with
        another record of a session."""
        if not isinstance(first, dict) or self.detect(first):
            return None
        is_message = first.get("type") == "message" and isinstance(first.get("message"), dict)
        if is_message or (first.get("type") in METADATA and {"timestamp", "parentId"} <= first.keys()):
            return "a session without its header, the line of type `session` that it begins with"
        return "a session header without `timestamp`" if first.get("type") == "session" else None

    def identity(self, first: Any, head: bytes) -> tuple[str | None, str]:
        """Header id, and header id with timestamp; the header line's digest where it has no id."""
        if isinstance(first, dict) and isinstance(first.get("id"), str):
            time = first.get("timestamp")
            written = QUOTED(time) if isinstance(time, str) else json.dumps(time, ensure_ascii=True)
            return first["id"], f"[{QUOTED(first['id'])}, {written}]"
        return None, hashlib.sha256(head).hexdigest()

    def find_sidecars(self, path: str, paths: frozenset[str]) -> dict[str, str]:
        """sessions.json in the same folder, the session's trajectory sidecar, what the command line printed (where a
        harness keeps it), RunArtifacts that it may be of, Harbor's trial result."""
        folder, _, name = path.rpartition("/")
        wanted = {
            "index": f"{folder}/sessions.json",
            "sidecar": f"{folder}/{name.split('.jsonl', 1)[0]}.trajectory.jsonl",
            "printed": f"{folder}/openclaw.txt",
        }
        present = {key: value for key, value in wanted.items() if value in paths}
        return present | find_run_artifacts(path, paths) | harbor.find_sidecars(path, paths)

    def read_context(self, first: Any, path: str, sidecars: dict[str, Any]) -> dict[str, Any]:
        """The session's entry in the index, the sidecar's first prompt, the name that its file had at first, what a
        RunArtifact says of its run."""
        session_id = text_of(first.get("id")) if isinstance(first, dict) else None
        index = dict((sidecars.get("index") or {}).get(session_id, {}))
        parent = first.get("parentSession") if isinstance(first, dict) else None
        if isinstance(parent, str) and parent:
            index = (index or dict.fromkeys(RunContext.model_fields)) | {"parent_session": basename(parent)}
        run = context_for_session(session_id, path, sidecars)
        for name, value in (run.get("index") or {}).items():
            index = index or dict.fromkeys(RunContext.model_fields)
            index[name] = value if index[name] is None else index[name]
        context = {"index": index, "sidecar": first_prompt(sidecars.get("sidecar")), "outcomes": run.get("outcomes")}
        context["task"], context["run_faults"] = run.get("task"), run.get("faults")
        context[NATIVE_NAME] = native_name(sidecars.get("printed"), session_id)
        context[harbor.TRIAL] = harbor.trial_of(path, sidecars)
        return {key: values for key, values in context.items() if values}

    def describe_use(self, first: Any, path: str, sidecars: dict[str, Any], context: dict[str, Any]) -> dict[str, str]:
        session_id = text_of(first.get("id")) if isinstance(first, dict) else None
        is_used = {
            "index": session_id in (sidecars.get("index") or {}),
            "sidecar": bool(context.get("sidecar")),
            "printed": NATIVE_NAME in context,
        }
        words = {"index": "run context", "sidecar": "the first prompt", "printed": "the name that the session had"}
        used = {key: words[key] for key, value in is_used.items() if value}
        return used | harbor.use_of(context) | describe_run_use(session_id, path, sidecars)

    def parse(self, content: bytes, context: dict[str, Any], rules: NormalizeRules) -> ParsedSession:
        return self.parse_lines(read_session_lines(content, decode_line, LINE), content, context, rules)

    def parse_clean_utf8(self, content: bytes, context: dict[str, Any], rules: NormalizeRules) -> ParsedSession:
        """As parse(); looking for invalid bytes takes a tenth of its time."""
        raw = read_session_lines(content, decode_line, LINE, is_clean_utf8=True)
        return self.parse_lines(raw, content, context, rules)

    def parse_lines(
        self, raw: RawFile, content: bytes, context: dict[str, Any], rules: NormalizeRules
    ) -> ParsedSession:
        """The session of a file's lines."""
        session, body = begin_session(raw, content, context, rules)
        branch = branch_of(body, find_joined_records(session, raw.lines))
        builder = StepBuilder(rules)
        branch = own_branch(session, builder.counts, branch, body, context)
        note_branch(session, builder.counts, body, branch)
        left, copies = off_branch(branch), {body[index].line for index in branch.duplicates}
        repeats = Repeats(rules, builder.counts, (body[index] for index in left))
        active = [body[index] for index in branch.active]
        build(session, builder, repeats.once(active) if left or may_repeat(active) else active)
        rest = repeats.without_known((body[index] for index in left), copies)
        session.abandoned_steps = abandoned_steps(rest, rules)
        session.head_drop = dropped_head(session, context)
        harbor.add_to(session, context, rules)
        return session

    def parse_long(self, content: memoryview, context: dict[str, Any], rules: NormalizeRules) -> ParsedSession | None:
        """A very long session in little more memory than its steps take as columns; None if something is wrong
        with it and it has to be read as any other.

        Read twice: the outlines of all records give the active branch; then each record is decoded by itself.
        """
        raw = read_lines(content, decode_outline)
        if raw.fatal is not None:
            return None
        try:
            session, body = begin_session(raw, content, context, rules)
            spans = Spans(content, body, decode_line)
            contents = (LazyContent(spans, index, content_of) for index in range(len(body)))
            branch = branch_of(body, find_joined_records(session, raw.lines), contents)
            builder = StepBuilder(rules)
            branch = own_branch(session, builder.counts, branch, body, context)
            note_branch(session, builder.counts, body, branch)
            del raw, body
            left, copies = off_branch(branch), {spans.lines[index] for index in branch.duplicates}
            repeats = Repeats(rules, builder.counts, spans.rows(left))
            build(session, builder, repeats.once(spans.rows(branch.active)), StepSpool())
            session.abandoned_steps = abandoned_steps(repeats.without_known(spans.rows(left), copies), rules)
        except (ValueError, RecursionError, MalformedSession):
            return None
        session.head_drop = dropped_head(session, context)
        harbor.add_to(session, context, rules)
        return session


def begin_session(
    raw: RawFile, content: bytes | memoryview, context: dict[str, Any], rules: NormalizeRules
) -> tuple[ParsedSession, list[RawLine]]:
    """A session with what its header and the kinds of its records say, and the records that are not headers."""
    lines = raw.lines
    header = lines[0].value
    body = [row for row in lines[1:] if row.value.type != "session"]
    outcomes = context.get("outcomes", [])
    session = ParsedSession(
        source_format=STORED if context.get("store") else OpenClaw.name,
        session_id=header.id if isinstance(header.id, str) else None,
        session_version=None if header.version is None else str(header.version),
        truncated=raw.torn,
        several_sessions=seems_several(lines, len(lines) - len(body), content),
        warnings=[*raw.warnings, *(Fault(reason, 1, message) for reason, message in context.get("run_faults", []))],
        context=context.get("index", {}),
        outcome=next(iter(outcomes), None),
        other_outcomes=outcomes[1:],
        task=context.get("task", {}),
        records_in=len(lines) + raw.torn,
        record_digests=RecordDigests(content, lines, partial(history_of, rules=rules)),
    )
    if lines[0].escaped:
        session.escaped_fields += written_out(
            {"session_id": session.session_id, "session_version": session.session_version}
        )
    session.record_counts["metadata:session"] = len(lines) - len(body)
    if raw.torn:
        session.record_counts["torn_last_line"] = 1
    return session, body


def dropped_head(session: ParsedSession, context: dict[str, Any]) -> bool:
    """True if the trajectory sidecar has a prompt that no user turn of the session has. All turns may be gone with
    the head, but then something that came after it is there: a file cut before its first turn lacks the tail."""
    first_prompt = context.get("sidecar", {}).get("first_prompt")
    if not isinstance(first_prompt, str) or not (session.user_turns or session.steps or session.spooled_steps):
        return False
    return all(first_prompt.strip() not in turn["raw_text"] for turn in session.user_turns)


def find_joined_records(session: ParsedSession, lines: list[RawLine]) -> set[int]:
    """Records, by their number among those that are not headers, with which another session of the file begins: a file
    that seems to hold several is kept whole, so these hang on the record before them. Each is warned of."""
    joined_records: set[int] = set()
    if session.record_counts["metadata:session"] < 2:
        return joined_records
    headers = 0
    for number, row in enumerate(lines):
        if row.value.type == "session":
            headers += 1
        elif number and lines[number - 1].value.type == "session" and headers > 1:
            joined_records.add(number - headers)
            if session.several_sessions:
                line = lines[number - 1].line
                sentence = f"line {line}: another session begins in this file; all of it is kept as one trajectory"
                session.warnings.append(Fault("several_sessions", line, f"{sentence}. Put each in a file of its own"))
    return joined_records


def branch_of(body: list[RawLine], later: set[int], contents: Iterable[Any] | None = None) -> Branch:
    """The active branch of a session's records. `later` ones hang on the record before them though they name no parent;
    `contents`: what they say, if that is not to be read off."""
    leaves = [at for at, row in enumerate(body) if row.value.type == "leaf" and row.value.targetId is not msgspec.UNSET]
    moves = {at: leaf_move(body[at].value) for at in leaves}
    if not moves and is_chain([row.value.id for row in body], [row.value.parentId for row in body]):
        return Branch(active=list(range(len(body))))
    contents = contents or (content_of(row.value) for row in body)
    rows = zip(body, contents, strict=True)
    nodes = [node_of(row.value, content, at in later) for at, (row, content) in enumerate(rows)]
    return active_branch(with_leaf_moves(nodes, moves) if moves else nodes)


def leaf_move(line: SessionRecord | Outline) -> LeafMove:
    """Where a session goes on after a `leaf` record."""
    append_parent = line.targetId if line.appendParentId is msgspec.UNSET else line.appendParentId
    return LeafMove(id_text(line.targetId), id_text(append_parent))


def node_of(line: SessionRecord | Outline, content: Any, is_joined: bool) -> Node:
    """What the tree needs of a record."""
    parent = None if line.parentId is msgspec.UNSET else line.parentId
    has_parent = line.parentId is not msgspec.UNSET and not (is_joined and parent is None)
    return Node(id_text(line.id), id_text(parent), has_parent, content)


def content_of(line: SessionRecord) -> tuple[Any, ...]:
    """What a record says, without its times, so that a repeated write is a duplicate."""
    return (line.type, line.customType, message_content(line.message) if line.message else line.data)


def message_content(message: Message) -> tuple[Any, ...]:
    """What a message says, without its times."""
    ids = message.toolCallId, message.responseId
    return (message.role, message.content, *ids, message.stopReason, message.errorMessage)


def id_text(value: Any) -> str | None:
    """An id as text; None stays None."""
    return None if value is None else str(value)


def note_branch(session: ParsedSession, counts: NamedCounts, body: list[RawLine], branch: Branch) -> None:
    """Count what is off the branch and warn of parents that are missing, or stand where they should not."""
    if branch.duplicates:
        counts["duplicate_record"] = len(branch.duplicates)
    for index in branch.abandoned:
        kind = body[index].value.type
        is_known = kind == "message" or kind in METADATA
        if is_known:
            counts["off_branch"] += 1
        else:
            counts.note("unknown_type:", kind)
    own = "it would be its own ancestor; it hangs on the record before it"
    behind = {index: body[parent].line for index, parent in branch.later_parents.items()}
    branch_notes = [(index, "missing_parent", "its parent is not in the file") for index in branch.missing_parents]
    branch_notes += [(index, "circular_record", own) for index in branch.circular]
    branch_notes += [
        (at, "later_parent", f"its parent stands behind it, in line {value}") for at, value in behind.items()
    ]
    for index, reason, sentence in sorted(branch_notes):
        line = body[index].line
        session.warnings.append(Fault(reason, line, f"line {line}: {sentence}"))


def build(
    session: ParsedSession, builder: StepBuilder, active: Iterable[RawLine], spool: StepSpool | None = None
) -> None:
    """Fill steps, user turns, counts and the run summary from the records of the active branch."""
    rules, times = builder.rules, []
    for row in active:
        line = row.value
        if time := iso_time(line.timestamp):
            times.append(time)
        elif line.timestamp is not None:
            session.warnings.append(time_fault(line.timestamp, row.line))
        if line.type == "message" and line.message is not None:
            builder.message(row, line.message, time)
        else:
            note_record(builder, row)
        if spool is not None:
            spool.take_over(builder.steps, row.length, rules)
    builder.finish()
    link_background(builder.steps, builder.user_turns, rules)
    session.order_ambiguous = any(step["order_ambiguous"] for step in builder.steps)
    session.run = run_summary(builder, times)
    session.steps = builder.steps if spool is None else []
    session.spooled_steps = None if spool is None else spool.finish(builder.steps)
    session.user_turns = builder.user_turns
    session.models = list(builder.models)
    session.unknown_blocks = builder.unknown_blocks
    session.escaped_fields += builder.escaped_fields
    if builder.escaped:
        session.escaped_fields += written_out(texts_of_run(session))
    session.record_counts.update(builder.counts)


def texts_of_run(session: ParsedSession) -> dict[str, str]:
    """The texts that a session has beside its steps and user turns, by the name of their field."""
    models = {f"models[{number}]": name for number, name in enumerate(session.models, start=1)}
    return models | {f"run.{name}": text for name, text in session.run.items() if isinstance(text, str)}


def note_record(builder: StepBuilder, row: RawLine) -> None:
    """A record of the active branch that is not a message, into a named count."""
    line: SessionRecord = row.value
    builder.escaped |= row.escaped
    if line.type not in METADATA:
        builder.counts.note("unknown_type:", line.type)
    elif line.customType:
        if line.customType == "openclaw:prompt-error" and isinstance(line.data, dict):
            builder.failed_run(str(line.data.get("error")))
        builder.counts.note(f"metadata:{line.type}:", line.customType)
    else:
        builder.counts[f"metadata:{line.type}"] += 1


def abandoned_steps(rows: Iterable[RawLine], rules: NormalizeRules) -> list[dict[str, Any]]:
    """Calls that were executed on a branch left later, with their results: reachable, not dropped."""
    builder = StepBuilder(rules)
    for row in rows:
        if row.value.type == "message" and row.value.message is not None:
            builder.message(row, row.value.message, iso_time(row.value.timestamp))
    builder.finish()
    return [
        {
            "line": step["raw"][0]["line"],
            "tool_name_raw": step["tool_name_raw"],
            "action_text": step["action_text"],
            "reflection_text": step["reflection_text"],
        }
        for step in builder.steps
        if step["action_kind"] == "tool_call" and step["has_result"]
    ]


def seems_several(lines: list[RawLine], headers: int, content: bytes | memoryview) -> bool:
    """True if a file has headers of several sessions (an id alone does not identify one: the time belongs to it), or
    runs of several session ids wrote into it. `headers`: how many there are."""
    if headers > 1 and len({identity_of(row, content) for row in lines if row.value.type == "session"}) > 1:
        return True
    records: Iterator[SessionRecord | Outline] = (row.value for row in lines)
    runs = {
        id_text(record.data.get("sessionId"))
        for record in records
        if record.customType == "openclaw:bootstrap-context:full" and isinstance(record.data, dict)
    }
    return len(runs) > 1


def identity_of(row: RawLine, content: bytes | memoryview) -> tuple[str | None, str | None]:
    """Id and time of a header; an outline does not have the time. ValueError if it is not a record."""
    value = row.value
    if isinstance(value, Outline):
        value = decode_line(readable(bytes(content[row.offset : row.offset + row.length])))
    return id_text(value.id), id_text(value.timestamp)
