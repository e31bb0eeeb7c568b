"""aec-bench trajectory.jsonl: one file -> one session. Context and outcome come from what lies beside it."""

import hashlib
from typing import Any

from openclawbench.base.session_names import packed_variants
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.rules.loading.rule_file import canonical_digest
from openclawbench.sources.aec_bench import context as aec_context
from openclawbench.sources.aec_bench.records import (
    FORMAT,
    ROLES,
    decode_entry,
    is_header,
    opens_conversation,
)
from openclawbench.sources.aec_bench.steps import TrajectoryBuilder
from openclawbench.sources.aec_bench.truncation import CONVERSATION, last_reply, note_lost_end
from openclawbench.sources.base import (
    IDENTITY,
    MalformedSession,
    ParsedSession,
    RecordDigests,
    Source,
    read_session_lines,
)
from openclawbench.sources.io.jsonl import Fault, RawFile, RawLine, pieces
from openclawbench.sources.io.timestamps import iso_time, read_times
from openclawbench.sources.sidecars.jsonl_sidecar import records_in
from openclawbench.sources.step_builder import StepList

HEADER_ONLY = "header_only"


class AecTrajectory(Source):
    """The adapter. The header is optional; a header alone is a run that failed before its first call."""

    name = "aec_trajectory"
    source_format = "aec_trajectory"
    identity_lines = 3  # header and two lines: see identity()

    def detect(self, first: Any) -> bool:
        if not isinstance(first, dict):
            return False
        step = first.get("step")
        numbered = isinstance(step, int) and not isinstance(step, bool)
        return first.get("format") == FORMAT or (numbered and first.get("role") in ROLES)

    def identity(self, first: Any, head: bytes) -> tuple[str | None, str]:
        """A header with a timestamp is one run's. Without it, the first two lines count as well, as far as `head`
        has them: an import that grows keeps its identity as soon as they are written."""
        return None, opening_digest(head, 1 if isinstance(first, dict) and has_time(first) else self.identity_lines)

    def find_sidecars(self, path: str, paths: frozenset[str]) -> dict[str, str]:
        """agent-result.json, the JSON files that may be the run's TrialRecord, and the conversation."""
        names = packed_variants(f"{path.rpartition('/')[0]}/{CONVERSATION}")
        conversation = next((name for name in names if name in paths and name != path), None)
        return aec_context.find_sidecars(path, paths) | ({} if conversation is None else {"conversation": conversation})

    def read_context(self, first: Any, path: str, sidecars: dict[str, Any]) -> dict[str, Any]:
        """The agent's result and the trial record, as far as they are used, whether there is a conversation, and what
        it ends with."""
        conversation = sidecars.get("conversation")
        presence = {"conversation": True} if opens_conversation(next(records_in(conversation), None)) else {}
        context = aec_context.read_context(path, sidecars) | last_reply(conversation) | presence
        timed = isinstance(first, dict) and has_time(first)
        return context if timed else context | trial_identity(context)

    def describe_use(self, first: Any, path: str, sidecars: dict[str, Any], context: dict[str, Any]) -> dict[str, str]:
        return aec_context.describe_use(path, sidecars, context)

    def parse(self, content: bytes, context: dict[str, Any], rules: NormalizeRules) -> ParsedSession:
        raw = read_session_lines(content, decode_entry)
        headers = [row for row in raw.lines if is_header(row.value)]
        if context.get("conversation") and len(headers) == len(raw.lines):
            raise MalformedSession(
                Fault(HEADER_ONLY, 1, "has a header and no step; the conversation beside it is read")
            )
        session = begin(self.format_name, content, raw, context)
        version = headers[0].value.version if headers else None
        session.session_version = None if version is None else str(version)
        session.several_sessions = len(headers) > 1
        if headers:
            session.record_counts["metadata:header"] = len(headers)
        builder = TrajectoryBuilder(StepList(rules), raw.torn)
        for row in raw.lines:
            if not is_header(row.value):
                builder.take(row)
        builder.finish()
        if not raw.torn:
            note_lost_end(session, builder.begun, raw.lines, context)
        return complete(session, builder.list, raw.lines, context, rules)


def has_time(header: dict[str, Any]) -> bool:
    """True for a header that says when the run began."""
    return header.get("format") == FORMAT and iso_time(header.get("timestamp")) is not None


def trial_identity(context: dict[str, Any]) -> dict[str, Any]:
    """The {identity} that a TrialRecord gives the run where its own lines do not tell it from another trial of the same
    task; empty if there is not a record."""
    trial = context.get("trial", {})
    named = [aec_context.text(trial.get(name)) for name in ("run_id", "trial_id")]
    return {IDENTITY: canonical_digest(named)} if named[1] else {}


def only_header(value: Any) -> dict[str, Any] | None:
    """The header of a trajectory that has nothing else; None for any other. `value`: its text, or its only record."""
    header: dict[str, Any] | None = None
    for record in records_in(value):
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            return None
        header = header or record
    return header


def opening_digest(head: bytes, lines: int) -> str:
    """Digest of the first lines of a file, line ends aside."""
    pieces_of_head = [data.rstrip(b"\r") for _, _, data in pieces(head)]
    return hashlib.sha256(b"\n".join(pieces_of_head[:lines])).hexdigest()


def begin(name: str, content: bytes, raw: RawFile, context: dict[str, Any]) -> ParsedSession:
    """A session with what the lines and the files beside it say about the run as a whole."""
    trial = context.get("trial", {})
    session = ParsedSession(
        source_format=name,
        session_id=aec_context.text(trial.get("trial_id")),
        session_version=None,
        models=aec_context.models(context),
        harness=aec_context.harness(context),
        truncated=raw.torn,
        warnings=list(raw.warnings),
        context=aec_context.run_context(context),
        outcome=aec_context.outcome(trial) if trial else None,
        task=aec_context.task(trial),
        completeness=trial.get("completeness"),
        records_in=len(raw.lines) + raw.torn,
        record_digests=RecordDigests(content, raw.lines).digests,
    )
    if raw.torn:
        session.record_counts["torn_last_line"] = 1
    if missing := trial.get("missing"):
        sentence = f"{trial['file']} says that it is complete, without {', '.join(missing)}; it counts as partial"
        session.warnings.append(Fault("provenance_missing", 1, sentence))
    return session


def complete(
    session: ParsedSession, steps: StepList, lines: list[RawLine], context: dict[str, Any], rules: NormalizeRules
) -> ParsedSession:
    """The session with its steps. The header's time counts: real harnesses write all other lines when the run ends."""
    session.steps = steps.steps
    session.user_turns = steps.user_turns
    session.escaped_fields = steps.escaped_fields
    session.order_ambiguous = any(step["order_ambiguous"] for step in steps.steps)
    session.record_counts.update(+steps.counts)
    times, time_faults = read_times((row.value.timestamp, row.line) for row in lines)
    session.run = aec_context.run_summary(steps, times, context, rules)
    session.warnings += time_faults
    return session
