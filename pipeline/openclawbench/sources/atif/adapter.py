"""Harbor's ATIF (Agent Trajectory Interchange Format), 1.0 to 1.7: one JSON document -> one session."""

import hashlib
import json
from posixpath import dirname, normpath
from typing import Any

import msgspec

from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.rules.loading.rule_file import canonical_digest
from openclawbench.sources.atif import continuations
from openclawbench.sources.atif.records import (
    OWN_LABELS,
    Document,
    decode_document,
    decode_step,
    extra_of,
    figures_of,
    harness_of,
    sidechain_of,
    without_extra,
)
from openclawbench.sources.atif.steps import AtifBuilder
from openclawbench.sources.base import (
    CHILDREN,
    IDENTITY,
    SHARE,
    MalformedSession,
    Member,
    ParsedSession,
    Source,
    read_document_rows,
)
from openclawbench.sources.io.json_ranges import element_ranges
from openclawbench.sources.io.json_values import text_of, why_not_json, without_blanks
from openclawbench.sources.io.jsonl import BOM, Fault, RawLine, UnexpectedShape, is_utf8, pieces, readable
from openclawbench.sources.io.timestamps import read_times
from openclawbench.sources.io.usd import stated_usage, total_of
from openclawbench.sources.sidecars import harbor
from openclawbench.sources.sidecars.jsonl_sidecar import is_session_header, records_in
from openclawbench.sources.step_builder import StepList

VERSION = "ATIF-v"
CONTINUED, CONTINUATIONS = "continued", "continuations"  # keys of a context
BESIDE = {
    "continuation": "goes on with a trajectory beside it, which has its steps",
    "context_summary": "is how the context of a trajectory beside it was shortened, which is no work on the task",
}
SPEAKERS = ("system", "user", "agent")


class Atif(Source):
    """The adapter. Sub-agent trajectories in a document are sessions of their own (find_embedded()), counted in it;
    steps copied from elsewhere are left out."""

    name = "atif"
    records_are_lines = False

    def detect(self, first: Any) -> bool:
        version = first.get("schema_version") if isinstance(first, dict) else None
        return isinstance(version, str) and version.startswith(VERSION)

    def identity(self, first: Any, head: bytes) -> tuple[str | None, str]:
        """Session id, trajectory id and the agent's name; the document's digest where it has no id."""
        session_id, trajectory_id = id_of(first, "session_id"), id_of(first, "trajectory_id")
        if session_id is None and trajectory_id is None:
            return None, document_digest(first, head)
        agent = first.get("agent")
        name = agent.get("name") if isinstance(agent, dict) else None
        return session_id or trajectory_id, json.dumps([session_id, trajectory_id, str(name)], ensure_ascii=True)

    def find_sidecars(self, path: str, paths: frozenset[str]) -> dict[str, str]:
        """Harbor's trial result above it, the native session that Harbor made it of, documents that continue it."""
        beside = harbor.find_sidecars(path, paths) | harbor.native_beside(path, paths)
        return beside | continuations.find_sidecars(path, paths)

    def read_context(self, first: Any, path: str, sidecars: dict[str, Any]) -> dict[str, Any]:
        """The files beside it that it names as its sub-agents' trajectories, the trial that it is of, which tells it
        from those of other trials, and whether the native session of its run lies beside it."""
        children, trial = child_files(first, path), harbor.trial_of(path, sidecars)
        values: dict[str, Any] = {CHILDREN: children, harbor.TRIAL: trial}
        if trial is not None and "id" in trial:
            values[IDENTITY] = canonical_digest([trial["id"], trial.get("step"), self.identity(first, b"")[1]])
        if continuations.continues(path, sidecars):
            return {CONTINUED: "continuation"}
        if continuations.summarizes(path, sidecars):
            return {CONTINUED: "context_summary"}
        further = values[CONTINUATIONS] = continuations.read(first, path, sidecars, child_files)
        values[CHILDREN] = sorted({*children, *(child for document in further for child in document.pop("children"))})
        values[harbor.NATIVE] = is_native_of(sidecars.get(harbor.NATIVE), id_of(first, "session_id"))
        return {key: value for key, value in values.items() if value}

    def describe_use(self, first: Any, path: str, sidecars: dict[str, Any], context: dict[str, Any]) -> dict[str, str]:
        used = {f"{continuations.NEXT}{part['file']}": continuations.WORDS for part in context.get(CONTINUATIONS, ())}
        return harbor.use_of(context) | used

    def find_members(self, content: bytes) -> list[Member] | None:
        """The documents of a file that has one a line; None if the file is one document."""
        rows = list(pieces(content))
        if len(rows) < 2 or not self.detect(decode_line(rows[0][2])):
            return None
        return [Member(f"line{line}", line, offset, len(data)) for line, offset, data in rows]

    def find_embedded(self, first: Any, content: bytes) -> list[Member]:
        """Where the sub-agents' trajectories are that the document holds, and whose steps stand among the agent's.
        Nothing if its brackets do not fit: then it is refused as a whole."""
        shares = sidechains(first, content)
        if not isinstance(first, dict) or not first.get("subagent_trajectories"):
            return shares
        try:
            ranges = element_ranges(content, "subagent_trajectories")
        except ValueError:
            return []
        embedded = shares
        line, seen = 1, 0
        for number, (begin, end) in enumerate(ranges, start=1):
            line += content.count(b"\n", seen, begin)
            seen = begin
            embedded.append(Member(f"subagent{number}", line, begin, end - begin))
        return embedded

    def parse(self, content: bytes, context: dict[str, Any], rules: NormalizeRules) -> ParsedSession:
        if context.get(harbor.NATIVE):
            raise MalformedSession(Fault("beside_trajectory", 1, "repeats what the native session beside it says"))
        if CONTINUED in context:
            reason = context[CONTINUED]
            raise MalformedSession(Fault(reason, 1, BESIDE[reason]))
        document = self.read_document(content)
        all_rows = self.step_rows(content, len(document.steps))
        share = context.get(SHARE)
        rows = rows_of(all_rows, share)
        is_mixed = len(rows) < len(all_rows)
        further = context.get(CONTINUATIONS, [])
        own, rows = rows, rows + continuations.rows_of(further)
        described = int(document.schema_version is not None)
        builder = AtifBuilder(StepList(rules), document.agent)
        for row in rows:
            builder.take(row)
        builder.finish()
        steps = builder.list
        times, time_faults = read_times((row.value.timestamp, row.line) for row in rows)
        subagents = len(document.subagent_trajectories or [])
        used = builder.usage.known()["input_tokens"]
        final = continuations.final_metrics(document.final_metrics, further, used)
        session = ParsedSession(
            source_format=self.format_name,
            session_id=text_of(document.session_id) or text_of(document.trajectory_id),
            session_version=str(document.schema_version).removeprefix(VERSION) if described else None,
            models=list(builder.models),
            harness=harness_of(document.agent),
            order_ambiguous=any(step["order_ambiguous"] for step in steps.steps),
            escaped_fields=steps.escaped_fields,
            steps=steps.steps,
            user_turns=steps.user_turns,
            run=run_summary(builder, None if is_mixed else final, times),
            records_in=len(rows) if share is not None else described + len(all_rows) + subagents + len(rows) - len(own),
            record_digests=[step_digest(row) for row in rows],
            warnings=warnings_of(content, document, is_whole=bool(further) and not further[-1]["goes_on"])
            + time_faults,
        )
        session.record_counts.update(+steps.counts)
        if share is not None:
            session.session_id = share or session.session_id
            return session
        if is_mixed:
            session.record_counts["subagent_step"] = len(all_rows) - len(own)
        if described:
            session.record_counts["metadata:document"] = 1
        if subagents:
            session.record_counts["subagent_trajectory"] = subagents
        harbor.add_to(session, context, rules)
        return session

    def read_document(self, content: bytes) -> Document:
        """The document without its steps. Raises MalformedSession if it is not one."""
        return read_document(content)

    def step_rows(self, content: bytes, expected: int) -> list[RawLine]:
        """The steps with their places in the document."""
        return step_rows(content, "steps", expected)


class AtifSteps(Atif):
    """The steps of an ATIF document without the document around them, as a column of a table holds them."""

    name = "atif_steps"
    source_format = "atif"
    only_in_rows = True

    def detect(self, first: Any) -> bool:
        return isinstance(first, list) and len(first) > 0 and all(map(is_step, first))

    def identity(self, first: Any, head: bytes) -> tuple[str | None, str]:
        """No id; the digest of the steps, our own labels left out."""
        return None, document_digest({"steps": first}, head)

    def find_sidecars(self, path: str, paths: frozenset[str]) -> dict[str, str]:
        return {}

    def find_members(self, content: bytes) -> list[Member] | None:
        return None

    def read_document(self, content: bytes) -> Document:
        return Document(steps=[msgspec.Raw()] * len(element_ranges(content, None)))

    def step_rows(self, content: bytes, expected: int) -> list[RawLine]:
        return step_rows(content, None, expected)


def rows_of(rows: list[RawLine], share: str | None) -> list[RawLine]:
    """The steps of one sub-agent; None: those of the agent, or all where it has none: then it is a sub-agent's own
    document."""
    owners = [sidechain_of(extra_of(row.value)) for row in rows]
    if share is None and None not in owners:
        return rows
    return [row for row, owner in zip(rows, owners, strict=True) if owner == share]


def sidechains(first: Any, content: bytes) -> list[Member]:
    """The sub-agents whose steps stand among the agent's, each as a share of the whole document."""
    owners = [sidechain_of(step.get("extra")) for step in list_in(first, "steps") if isinstance(step, dict)]
    if None not in owners:
        return []
    names = dict.fromkeys(owner for owner in owners if owner is not None)
    return [Member(f"sidechain{number}", 1, 0, len(content), name) for number, name in enumerate(names, start=1)]


def is_step(value: Any) -> bool:
    """True for what has the fields that every ATIF step has."""
    return isinstance(value, dict) and value.get("source") in SPEAKERS and "message" in value and "role" not in value


def decode_line(data: bytes) -> Any:
    """The JSON value of a line; None if the line alone is not valid JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def is_native_of(value: Any, session_id: str | None) -> bool:
    """True if a file beside a document is a native session that may be of the same run: by its id, where the
    document names one. `value`: the file's text, or its only record."""
    header: Any = next(records_in(value), None)
    return is_session_header(header) and (session_id is None or header.get("id") in (None, session_id))


def child_files(first: Any, path: str) -> list[str]:
    """Paths of the files that a document's results name as trajectories of sub-agents: beside it or below, never
    outside its folder."""
    folder, places = dirname(path), set()
    for step in list_in(first, "steps"):
        for result in list_in(step.get("observation") if isinstance(step, dict) else None, "results"):
            refs = result.get("subagent_trajectory_ref") if isinstance(result, dict) else None
            for ref in refs if isinstance(refs, list) else [refs]:
                name = ref.get("trajectory_path") if isinstance(ref, dict) else None
                place = normpath(f"{folder}/{name}") if isinstance(name, str) and name[:1] not in ("", "/") else path
                places |= {place} if place != path and place.startswith(f"{folder}/") else set()
    return sorted(places)


def list_in(value: Any, key: str) -> list[Any]:
    """A list inside an object; empty if it is not one."""
    items = value.get(key) if isinstance(value, dict) else None
    return items if isinstance(items, list) else []


def id_of(first: Any, key: str) -> str | None:
    """An id of the document; None if the document has no such id."""
    return text_of(first.get(key)) if isinstance(first, dict) else None


def document_digest(first: Any, head: bytes) -> str:
    """Digest of a document without our own labels, so that a labelled copy is the same session."""
    if isinstance(first, dict):
        first = without_labels(first)
        if isinstance(first.get("steps"), list):
            first["steps"] = [without_labels(step) if isinstance(step, dict) else step for step in first["steps"]]
    try:
        data = json.dumps(without_blanks(first), sort_keys=True, ensure_ascii=True).encode()
    except (ValueError, TypeError, RecursionError):
        data = head
    return hashlib.sha256(data).hexdigest()


def without_labels(record: dict[str, Any]) -> dict[str, Any]:
    """A record whose `extra` has no labels of ours; an `extra` of nothing else is left out."""
    extra = record.get("extra")
    if not isinstance(extra, dict) or OWN_LABELS not in extra:
        return dict(record)
    others = {key: value for key, value in extra.items() if key != OWN_LABELS}
    rest = {key: value for key, value in record.items() if key != "extra"}
    return rest | ({"extra": others} if others else {})


def read_document(content: bytes) -> Document:
    """The document without its steps. Raises MalformedSession if it is not one."""
    try:
        return decode_document(readable(content.removeprefix(BOM)))
    except UnexpectedShape as error:
        raise MalformedSession(Fault("unexpected_shape", 1, f"line 1: {error}")) from error
    except (ValueError, RecursionError) as error:
        why = why_not_json(content.removeprefix(BOM).decode("utf-8", "replace"), error)
        raise MalformedSession(Fault("broken_json", 1, f"line 1: not one JSON document: {why}")) from error


def step_rows(content: bytes, key: str | None, expected: int) -> list[RawLine]:
    """The steps with their places in the document: in the array at `key`, or in the document itself, if it is None."""
    rows = read_document_rows(content, key, decode_step)
    if len(rows) != expected:
        raise MalformedSession(Fault("broken_json", 1, f"line 1: {expected} steps, but positions for {len(rows)}"))
    return rows


def step_digest(row: RawLine) -> bytes:
    """Digest of what a step says, its layout, `extra` (our labels among it) and unread fields aside."""
    content = msgspec.json.encode(without_extra(row.value))
    return hashlib.blake2b(msgspec.json.format(content, indent=-1), digest_size=16).digest()


def warnings_of(content: bytes, document: Document, is_whole: bool = False) -> list[Fault]:
    """What a person should know of a document that was read. `is_whole`: what it goes on in was read too."""
    warnings = []
    if not is_utf8(content):
        warnings.append(Fault("invalid_utf8", 1, "line 1: bytes that are not UTF-8; kept as \\xNN"))
    if document.continued_trajectory_ref is not None and not is_whole:
        warnings.append(Fault("continued_elsewhere", 1, "line 1: the trajectory goes on in another document"))
    return warnings


def run_summary(builder: AtifBuilder, final: Any, times: list[str]) -> dict[str, Any]:
    """The RunSummary: totals as the document states them, else the sums of its steps."""
    stated = stated_usage(figures_of(final, "total_", builder.agent_name))
    known = {"stop_reason": builder.last_stop} | builder.usage.known()
    known |= {name: value for name, value in stated.items() if value is not None}
    known["total_tokens"] = total_of(known["input_tokens"], known["output_tokens"])
    if stated["input_tokens"] is not None:
        known["unreported_usage"] = 0
    if builder.last_stop in ("error", "aborted"):
        known["end"] = builder.last_stop
    return builder.list.run_summary(times, **known)
