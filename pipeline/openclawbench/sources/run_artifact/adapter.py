"""RunArtifact JSON of an evaluation runner: one document -> one session. Both spellings of the format are read."""

import json
from collections import Counter
from typing import Any

from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.base import MalformedSession, ParsedSession, Source
from openclawbench.sources.io.json_values import text_of
from openclawbench.sources.io.jsonl import Fault
from openclawbench.sources.io.timestamps import read_times
from openclawbench.sources.run_artifact.attempts import acts, build
from openclawbench.sources.run_artifact.document import Document, read_document
from openclawbench.sources.run_artifact.run_summary import models, run_summary
from openclawbench.sources.run_artifact.uri_checks import uri_faults
from openclawbench.sources.sidecars.run_artifact_context import describe_outcome_use, named_sessions
from openclawbench.sources.sidecars.run_artifact_outcomes import (
    ENDS,
    SUCCESS,
    evaluation_faults,
    evaluations_in,
    outcomes_of,
    task_of_run,
)
from openclawbench.sources.sidecars.run_artifact_paths import (
    evaluations_of,
    in_own_folder,
    repetition,
    sessions_of,
    traces_of,
)

IDENTITY = ("run_id", "case_id", "suite_id", "run_profile_id", "repetition", "repetition_index")
EVALUATION, SESSION, TRACE = "evaluation:", "session:", "trace:"  # keys of sidecars: these, and their path
NO_SESSION = "no_native_session"
HAS_SESSION = "context_of_native_session"
SENTENCES = {
    NO_SESSION: "an OpenClaw run whose artifact has no steps, and no native session lies beside it. Put the session's "
    "JSONL next to it or into its .artifacts folder",
    HAS_SESSION: "an OpenClaw run whose artifact has no steps: it gives context to the native session beside it",
}


class RunArtifact(Source):
    """The adapter. An artifact of an OpenClaw run has no steps: it is refused, with the reason why."""

    name = "run_artifact"
    records_are_lines = False

    def detect(self, first: Any) -> bool:
        if not isinstance(first, dict) or "trace" not in first or "status" not in first:
            return False
        identity = first.get("identity")
        return isinstance(identity, dict) and "run_id" in identity and "case_id" in identity

    def identity(self, first: Any, head: bytes) -> tuple[str | None, str]:
        """The run's id, and every id that the document gives it. Nothing of the place where it lies."""
        ids = first["identity"]
        return text_of(ids["run_id"]), json.dumps([ids.get(key) for key in IDENTITY], ensure_ascii=True)

    def find_sidecars(self, path: str, paths: frozenset[str]) -> dict[str, str]:
        """Its evaluation results, native sessions beside it, and what the agent's command line printed."""
        kinds = {EVALUATION: evaluations_of, SESSION: sessions_of, TRACE: traces_of}
        return {f"{kind}{name}": name for kind, find in kinds.items() for name in find(path, paths)}

    def read_context(self, first: Any, path: str, sidecars: dict[str, Any]) -> dict[str, Any]:
        """Repetition, outcomes of the evaluations, and whether a native session of the run lies beside it."""
        results = {key.removeprefix(EVALUATION): value for key, value in by_kind(sidecars, EVALUATION)}
        evaluations, unreadable = evaluations_in(results)
        named = named_sessions(first, tuple(value for _, value in by_kind(sidecars, TRACE)))
        sessions = [(key.removeprefix(SESSION), value) for key, value in by_kind(sidecars, SESSION)]
        context = {
            "repetition": repetition(path),
            "evaluations": evaluations,
            "unreadable_evaluations": unreadable,
            "native_session": any(is_native(value, where, path, named) for where, value in sessions),
        }
        return {key: value for key, value in context.items() if value}

    def describe_use(self, first: Any, path: str, sidecars: dict[str, Any], context: dict[str, Any]) -> dict[str, str]:
        return describe_outcome_use(sidecars, first["identity"])

    def parse(self, content: bytes, context: dict[str, Any], rules: NormalizeRules) -> ParsedSession:
        document = read_document(content)
        if lacks_steps(document):
            reason = HAS_SESSION if context.get("native_session") else NO_SESSION
            raise MalformedSession(Fault(reason, 1, SENTENCES[reason]))
        built = build(document, rules)
        outcomes = outcomes_of(document.value, context.get("evaluations", []), context.get("repetition"))
        trace, steps = built.trace, built.trace.list
        version = document.part("identity").get("schema_version", document.value.get("schema_version"))
        return ParsedSession(
            source_format=self.name,
            session_id=text_of(document.part("identity").get("run_id")),
            session_version=None if version is None else str(version),
            models=models(document, built),
            order_ambiguous=any(step["order_ambiguous"] for step in steps.steps),
            escaped_fields=steps.escaped_fields,
            steps=steps.steps,
            user_turns=steps.user_turns,
            abandoned_steps=built.abandoned,
            run=run_summary(document, built),
            context={
                "status": text_of(document.value.get("status")),
                "label": text_of(document.part("identity").get("case_id")),
            },
            outcome=outcomes[0] if outcomes else None,
            other_outcomes=outcomes[1:],
            task=task_of_run(document.part("identity"), context.get("repetition")),
            records_in=1 + len(document.events),
            record_counts=steps.counts + Counter({"metadata:document": 1}),
            record_digests=document.digests,
            warnings=[*document.warnings, *trace.warnings, *time_faults(document), *document_faults(document, context)],
        )


def time_faults(document: Document) -> list[Fault]:
    """Warnings of times that say nothing: of the run, and of its events."""
    of_run = [(document.part("timing").get(name), 1) for name in ("started_at", "completed_at")]
    return read_times([*of_run, *((event.value.get("timestamp"), event.row.line) for event in document.events)])[1]


def by_kind(sidecars: dict[str, Any], kind: str) -> list[tuple[str, Any]]:
    """Companions of one kind, in the order of their paths."""
    return sorted(((key, value) for key, value in sidecars.items() if key.startswith(kind)), key=lambda pair: pair[0])


def lacks_steps(document: Document) -> bool:
    """True for an OpenClaw run of whose agent the trace says nothing but what the command line printed at the end."""
    openclaw = document.part("identity").get("runner_type") == "openclaw"
    return openclaw and not acts([event for event in document.events if event.kind != "final_output"])


def is_native(content: Any, where: str, path: str, named: list[str]) -> bool:
    """True if a file is the run's native session: its header has an id that the artifact names.

    In the run's own folder that is enough where the artifact names no session, or the header cannot be had.
    """
    session_id = header_id(content)
    if session_id is None or not named:
        return in_own_folder(where, path)
    return session_id in named


def header_id(content: Any) -> str | None:
    """The id in a session's header line, or None."""
    header = content
    if isinstance(content, str):
        try:
            header = json.loads(content.lstrip("\ufeff").split("\n", 1)[0])
        except (ValueError, RecursionError):
            return None
    return text_of(header.get("id")) if isinstance(header, dict) else None


def document_faults(document: Document, context: dict[str, Any]) -> list[Fault]:
    """Warnings about the document as a whole, and about evaluations beside it."""
    faults = uri_faults(document.value)
    status = document.value.get("status")
    if not isinstance(status, str) or status not in (SUCCESS, *ENDS):
        faults.append(Fault("unknown_status", 1, f"a status never seen before: {status!r}"))
    evaluations, unreadable = context.get("evaluations", []), context.get("unreadable_evaluations", [])
    return faults + evaluation_faults(evaluations, unreadable, document.part("identity"))
