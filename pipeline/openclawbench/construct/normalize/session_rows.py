"""Rows of the tables of normalize, but for the steps: trajectories, user turns, outcomes that a source carries, what
became of each file."""

from collections import defaultdict
from operator import itemgetter
from typing import Any

import polars as pl

from openclawbench.construct.normalize.session_file import SessionFile, session_name, trajectory_key
from openclawbench.records.oracle import Evaluator, OracleRecord
from openclawbench.records.session import Harness, RemovedRecord, RunContext, RunSummary
from openclawbench.sources.io.jsonl import Fault
from openclawbench.sources.io.usd import cannot_be, only_possible
from openclawbench.tables.record import named_counts

BLANK_RUN: dict[str, Any] = dict.fromkeys(RunSummary.model_fields) | {
    "provider_errors": 0,
    "run_errors": 0,
    "unexecuted_calls": 0,
    "empty_replies": 0,
    "silent_replies": 0,
    "runner_texts": 0,
    "mirrored_replies": 0,
    "unreported_usage": 0,
    "unpriced_usage": 0,
    "impossible_usage": 0,
    "end": "completed",
}
BLANK_CONTEXT: dict[str, Any] = dict.fromkeys(RunContext.model_fields)
TASK = ("subset", "task_id", "attempt")
task_in = itemgetter(*TASK)


def task_rows(manifest: pl.DataFrame) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Run manifest rows by (source model, basename)."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in manifest.iter_rows(named=True):
        rows[row["source_model"], row["native_session_basename"]].append(row)
    return rows


def rows_of(file: SessionFile, tasks: dict[tuple[str, str], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The run manifest's rows about a session, under each of its names."""
    names = {session_name(file), *file.aliases}
    return [row for name in names for row in tasks.get((file.source_model, name), ())]


def task_of(file: SessionFile, manifest: list[dict[str, Any]]) -> dict[str, Any]:
    """subset, task_id and attempt by the session's rows of the run manifest, else as the source names them; None if
    the manifest names several for a session: never guessed."""
    known_tasks = set(map(task_in, manifest))
    if not known_tasks and file.session is not None:
        return dict.fromkeys(TASK) | file.session.task
    return dict(zip(TASK, known_tasks.pop() if len(known_tasks) == 1 else (None, None, None), strict=True))


def collected_as(manifest: list[dict[str, Any]], name: str) -> Any:
    """`mode` or `collection` of the session's rows of the run manifest; null if they do not say, or say several."""
    values = [row[name] for row in manifest if row[name] is not None]
    return values[0] if values and all(value == values[0] for value in values) else None


def add_rows(
    rows: dict[str, list[dict[str, Any]]], file: SessionFile, tasks: dict[tuple[str, str], list[dict[str, Any]]]
) -> None:
    """Table rows of one trajectory."""
    session = file.session
    assert session is not None
    manifest = rows_of(file, tasks)
    task = task_of(file, manifest)
    key = trajectory_key(file)
    for row in session.user_turns:
        row.update(key)
    rows["turn"] += session.user_turns
    rows["outcome"] += [{**key, "oracle": oracle_record(file, outcome)} for outcome in session.outcomes]
    rows["trajectory"].append(
        {
            **key,
            "parent_trajectory_id": file.parent,
            "continues_trajectory_id": file.continues,
            "session_id": session.session_id,
            "native_session_basename": session_name(file),
            "aliases": sorted(file.aliases - {session_name(file)}),
            "subset": task["subset"],
            "task_id": task["task_id"],
            "attempt": task["attempt"],
            "mode": collected_as(manifest, "mode"),
            "collection": collected_as(manifest, "collection"),
            "source_format": session.source_format,
            "session_version": session.session_version,
            "models": session.models,
            "harness": dict.fromkeys(Harness.model_fields) | session.harness,
            "num_steps": len(file.steps),
            "truncated": session.truncated,
            "order_ambiguous": session.order_ambiguous,
            "several_sessions": session.several_sessions,
            "divergent": file.divergent,
            "head_drop": session.head_drop,
            "completeness": session.completeness,
            "escaped_fields": session.escaped_fields,
            "unknown_blocks": named_counts(session.unknown_blocks),
            "abandoned_steps": session.abandoned_steps,
            "removed_records": removed_rows(file),
            "run": only_possible(BLANK_RUN | session.run),
            "context": only_possible_context(BLANK_CONTEXT | session.context),
            "benchmark": session.benchmark,
            "source_file": file.path,
            "source_member": file.member,
            "source_base_line": file.base_line,
            "source_base_offset": file.base_offset,
            "source_sha256": file.sha256,
        }
    )


def removed_rows(file: SessionFile) -> list[dict[str, Any]]:
    """RemovedRecord rows in the order of files and lines."""
    rows = ({name: row[name] for name in RemovedRecord.model_fields} for row in file.removed)
    return sorted(rows, key=lambda row: (row["source_file"], row["source_member"] or "", row["line"]))


def only_possible_context(context: dict[str, Any]) -> dict[str, Any]:
    """A RunContext without a cost that cannot be: an index repeats what the messages say, where it is counted."""
    return context | {"estimated_cost_usd": None} if cannot_be(context["estimated_cost_usd"]) else context


def oracle_record(file: SessionFile, outcome: dict[str, Any]) -> dict[str, Any]:
    """An OracleRecord of what the source says; `success` counts only where it was scored."""
    assert file.session is not None
    blank = dict.fromkeys(OracleRecord.model_fields) | {"flags": [], "status": "not_scored"}
    named = {
        "source_model": file.source_model,
        "native_session_basename": session_name(file),
        "session_id": file.session.session_id,
    }
    record = blank | outcome | named
    record["evaluator"] = dict.fromkeys(Evaluator.model_fields) | (record["evaluator"] or {})
    record["success"] = record["success"] if record["status"] == "scored" else None
    return OracleRecord.model_validate(record).model_dump()


def outcome_row(file: SessionFile) -> dict[str, Any]:
    """What became of a file, with the place of every record in it."""
    warnings: list[Fault] = file.session.warnings if file.session else []
    counts = file.session.record_counts if file.session else {file.disposition: file.records_in}
    return {
        "source_model": file.source_model,
        "path": file.path,
        "member": file.member,
        "sha256": file.sha256,
        "disposition": file.disposition,
        "trajectory_id": file.trajectory_id,
        "reason": file.reason,
        "license": file.license,
        "context_sha256": file.context_sha256,
        "base_line": file.base_line,
        "line": file.line,
        "message": file.message,
        "warnings": (warned := warning_rows(warnings, file.base_line)),
        "first_warning_line": min((row["line"] for row in warned), default=None),
        "records_in": file.records_in,
        "record_counts": named_counts(counts),
    }


def warning_rows(warnings: list[Fault], base_line: int) -> list[dict[str, Any]]:
    """Warned rows in the order of their reasons."""
    lines: dict[str, list[int]] = defaultdict(list)
    for fault in warnings:
        lines[fault.reason].append(base_line + fault.line - 1)
    return [{"name": reason, "count": len(at), "line": min(at)} for reason, at in sorted(lines.items())]
