"""OpenClaw LLM Benchmark, results.jsonl: one line is one completion of one prompt, at most one reply step.

The prompt is not in the file, so there is no user turn. `tool_calls` are words guessed from the text, never actions.
"""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.base import MalformedSession, Member, ParsedSession, Source, read_session_lines
from openclawbench.sources.io.json_values import number_of, text_of
from openclawbench.sources.io.jsonl import FATAL, Fault, RawLine, pieces, texts_of_line
from openclawbench.sources.io.timestamps import iso_time, read_times
from openclawbench.sources.io.usd import cannot_be, stated_usage
from openclawbench.sources.step_builder import StepList

RESULT, EVENT = "result", "event"  # record types
OTHER_ROW = "llm_benchmark_other"  # reason of a row of a type never seen before
KEYS = ("provider", "model", "prompt_id")  # every result has them
IDENTITY = ("provider", "model", "thinking_level", "prompt_id", "run_id")
AVAILABLE, EMPTY = "ok", "empty_response"  # availability of a call that went through; failure type of an empty answer


@dataclass
class Rows:
    """The lines of a results file: results as members, every other line counted or faulted."""

    results: list[Member] = field(default_factory=list)
    others: list[Member] = field(default_factory=list)  # lines that are not results
    counts: Counter[str] = field(default_factory=Counter)  # what they are, by name
    faults: list[Fault] = field(default_factory=list)  # broken lines


class LlmBenchmark(Source):
    """The adapter. A file holds many sessions: find_members() says where, parse() reads the bytes of one."""

    name = "llm_benchmark"

    def detect(self, first: Any) -> bool:
        """A result row, or a line about the runner: such a line may stand first."""
        if not isinstance(first, dict):
            return False
        if first.get("record_type") == EVENT:
            return "event" in first
        return first.get("record_type") == RESULT and all(key in first for key in KEYS)

    def explain_rejection(self, first: Any) -> str | None:
        """What a line lacks to be one of a results file, if it has a record type."""
        kind = first.get("record_type") if isinstance(first, dict) else None
        if kind not in (RESULT, EVENT):
            return None if kind is None else f"a row of record_type {str(kind)!r}, which is neither result nor event"
        missing = [key for key in (KEYS if kind == RESULT else (EVENT,)) if key not in first]
        return f"a row of record_type {kind} without {', '.join(missing)}" if missing else None

    def skip_reason(self, row: Any) -> str | None:
        """Why a row of a results file is not a session and needs no attention: it says itself that it is
        of another type than `result`. Null for a result, and for what does not say of which type it is."""
        kind = row.get("record_type") if isinstance(row, dict) else None
        return OTHER_ROW if isinstance(kind, str) and kind != RESULT else None

    def identity(self, first: Any, head: bytes) -> tuple[str | None, str]:
        """The session id says provider, model, thinking level, prompt and run; the identity is the line's own bytes.

        Nothing in a row counts attempts. Its bytes tell a repeated attempt from a copy, whatever rows come later.
        """
        digest = hashlib.sha256(head.strip()).hexdigest()
        return (session_id_of(first) if first.get("record_type") == RESULT else None), digest

    def find_members(self, content: bytes) -> list[Member]:
        """Every line that is not blank, so that lines that are not results are accounted for as well."""
        rows = rows_of(content)
        return sorted([*rows.results, *rows.others], key=lambda member: member.offset)

    def parse(self, content: bytes, context: dict[str, Any], rules: NormalizeRules) -> ParsedSession:
        """The session of one row. Raises MalformedSession if the bytes are not exactly one result."""
        raw = read_session_lines(content, json.loads)
        if len(raw.lines) != 1 or raw.torn:
            sentence = f"{len(raw.lines) + raw.torn} records where one is read at a time"
            raise MalformedSession(Fault("several_records", 1, sentence))
        row = raw.lines[0]
        if not isinstance(row.value, dict) or row.value.get("record_type") != RESULT:
            raise MalformedSession(Fault("no_result", row.line, f"line {row.line}: a record that is not a result"))
        return session_of(row, content, raw.warnings, rules)


def rows_of(content: bytes) -> Rows:
    """Where the result rows of a file are, and what the other lines are. A broken line stops nothing."""
    rows = Rows()
    for number_, offset, data in pieces(content):
        faults: list[Fault] = []
        texts = texts_of_line(number_, offset, data, json.loads, False, faults)
        if not texts:
            rows.others.append(Member(f"line{number_}", number_, offset, len(data)))
            rows.counts["broken_line"] += 1
            rows.faults += [fault for fault in faults if fault.reason in FATAL]
        for position, line in enumerate(texts):
            name = f"line{number_}" + (f"-{position + 1}" if position else "")
            sort_row(rows, Member(name, number_, line.offset, line.length), line.value)
    return rows


def sort_row(rows: Rows, member: Member, value: Any) -> None:
    """A result among the results; anything else under a name."""
    kind = value.get("record_type") if isinstance(value, dict) else None
    if kind == RESULT:
        rows.results.append(member)
        return
    rows.others.append(member)
    rows.counts[f"event:{value.get('event')}" if kind == EVENT else f"unknown_type:{kind}"] += 1


def session_id_of(value: dict[str, Any]) -> str:
    """A readable name of a result: what identifies it, `none` for what it does not say."""
    return "__".join("none" if value.get(key) is None else str(value[key]) for key in IDENTITY)


def session_of(row: RawLine, content: bytes, warnings: list[Fault], rules: NormalizeRules) -> ParsedSession:
    """One result as a session."""
    value = row.value
    steps = StepList(rules)
    text = reply_of(value)
    started, ended = iso_time(value.get("started_at_ms")), iso_time(value.get("ended_at_ms"))
    _, time_faults = read_times((value.get(name), row.line) for name in ("started_at_ms", "ended_at_ms"))
    if text is None:
        steps.counts["failed_call" if is_failure(value) else "empty_reply"] += 1
    else:
        steps.counts["step_reply"] += 1
        steps.reply(text, steps.moment(ended), [row])
    raw = content[row.offset : row.offset + row.length]
    return ParsedSession(
        source_format=LlmBenchmark.name,
        session_id=session_id_of(value),
        session_version=None,
        models=[f"{value.get('provider')}/{value.get('model')}"] if text is not None else [],
        escaped_fields=steps.escaped_fields,
        steps=steps.steps,
        run=summary_of(value, steps, started, ended),
        context={
            "status": text_of(value.get("availability_status")),
            "label": text_of(value.get("prompt_name")),
        },
        benchmark=benchmark_row(value),
        outcome=outcome_of(value, ended),
        records_in=1,
        record_counts=steps.counts,
        record_digests=[hashlib.blake2b(raw.strip(), digest_size=16).digest()],
        warnings=warnings + time_faults,
    )


def is_failure(value: dict[str, Any]) -> bool:
    """True if the call did not go through; what it printed is then the provider's text, not the model's."""
    available = value.get("availability_status")
    return value.get("success") is False or bool(value.get("failure_type")) or available not in (None, AVAILABLE)


def reply_of(value: dict[str, Any]) -> str | None:
    """The model's text; None for a failed call or an empty answer."""
    return None if is_failure(value) else text_of(value.get("raw_output"))


def benchmark_row(value: dict[str, Any]) -> dict[str, Any]:
    """The BenchmarkRow: what the row says of its call; null for what has another type than the format gives it."""
    texts = ("provider", "model", "thinking_level", "availability_status", "failure_type")
    truths = ("success", "objective_pass", "tool_use_success")
    times = {name: number_of(value.get(name)) for name in ("e2e_ms", "ttft_ms")}
    return {
        **{name: text_of(value.get(name)) for name in texts},
        **{name: truth if isinstance(truth := value.get(name), bool) else None for name in truths},
        **{name: None if time is None or cannot_be(time) else float(time) for name, time in times.items()},
    }


def summary_of(value: dict[str, Any], steps: StepList, started: str | None, ended: str | None) -> dict[str, Any]:
    """The RunSummary: tokens and times as the row has them."""
    failed, empty = is_failure(value), value.get("failure_type") == EMPTY
    failure = text_of(value.get("failure_type"))
    elapsed = number_of(value.get("e2e_ms"))
    summary: dict[str, Any] = {
        "provider_errors": int(failed and not empty),
        "empty_replies": int(empty or not (failed or steps.steps)),
        "first_provider_error": (text_of(value.get("raw_output")) or failure) if failed and not empty else None,
        **stated_usage({"input": value.get("input_tokens"), "output": value.get("output_tokens")}),
        "started_at": started,
        "ended_at": ended,
    }
    if not steps.steps:
        summary["end"] = "error"
    if elapsed is not None:
        summary["wall_time_s"] = elapsed / 1000
    return steps.run_summary([time for time in (started, ended) if time], **summary)


def outcome_of(value: dict[str, Any], ended: str | None) -> dict[str, Any]:
    """OracleRecord fields: what the prompt's validator says of the text. Context, never a label."""
    passed = value.get("objective_pass")
    scored = isinstance(passed, bool) and not is_failure(value)
    available = text_of(value.get("availability_status"))
    violation = text_of(value.get("violation"))
    return {
        "run_id": None if value.get("run_id") is None else str(value["run_id"]),
        "task_id": None if value.get("prompt_id") is None else str(value["prompt_id"]),
        "success": passed if scored else None,
        "status": "infra_error" if is_failure(value) else "scored" if scored else "not_scored",
        "error_type": text_of(value.get("failure_type")) or ("violation" if violation else None),
        "error_message": violation,
        "flags": [f"availability_{available}"] if available not in (None, AVAILABLE) else [],
        "evaluator": {"name": "llm_benchmark", "mode": "prompt_validator"},
        "evaluated_at": ended,
    }
