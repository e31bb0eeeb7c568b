"""What the trace summary of a record says, against its released steps. It was made of raw records, so that some of it
can only be bounded."""

from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, get_args

import polars as pl

from openclawbench.records.evidence import Descriptor
from openclawbench.records.session import Step, TraceSummary
from openclawbench.records.vocabulary import RunEnd
from openclawbench.rules.construct.trace import SeenByBehaviour, SeenByFailure, TraceRules
from openclawbench.rules.loading.conditions import holds
from openclawbench.tables.schema import schema

STEP_KINDS = {**schema(Step), **schema(Descriptor), **schema(SeenByFailure)}
SUMMARY_KINDS = {**schema(TraceSummary), **schema(SeenByBehaviour)}
OPENCLAW = "openclaw"  # its sessions say no duration: it is that from the first to the last record
PRECISION = 0.01  # seconds
NEVER_NEGATIVE = [name for name, kind in schema(TraceSummary).items() if kind in (pl.Int64, pl.Float64)]

Problem = tuple[int, str]  # which of the records, message


def trace_problems(
    records: Sequence[Mapping[str, Any]], rules: TraceRules, redacted: Container[int] = ()
) -> Iterator[Problem]:
    """Everything that is wrong with the trace summaries of some records. `redacted`: those whose words were changed."""
    failures = failed_steps(records, rules)
    for number, record in enumerate(records):
        summary = record["trace_summary"]
        yield from ((number, message) for message in numbers(summary, record["source_format"]))
        surely, possibly = failures.get(number, ([], []))
        if not len(surely) <= summary["tool_errors"] <= len(possibly):
            between = f"{len(surely)}" if len(surely) == len(possibly) else f"{len(surely)} to {len(possibly)}"
            message = f"trace_summary.tool_errors is {summary['tool_errors']}, but {between} steps failed"
            yield number, message
        first = summary["first_error_step"]
        if first is not None and (first not in possibly or min(surely, default=first) < first):
            yield number, f"trace_summary.first_error_step is {first}, which is not the first step that failed"
    yield from behaviours(records, rules, redacted)


def numbers(summary: Mapping[str, Any], source_format: str) -> Iterator[str]:
    """Counts, tokens and cost are not below zero; a run ends after it began, in a way of the closed vocabulary."""
    for name in NEVER_NEGATIVE:
        if name != "wall_time_s" and summary[name] is not None and summary[name] < 0:
            yield f"trace_summary.{name} is {summary[name]}: it cannot be negative"
    times = summary["started_at"], summary["ended_at"]
    if None not in times and times[1] < times[0]:
        yield f"trace_summary.ended_at is {times[1]}, before started_at {times[0]}"
    elif None not in times and source_format.startswith(OPENCLAW) and (stated := summary["wall_time_s"]) is not None:
        first, last = map(datetime.fromisoformat, times)
        if abs((last - first).total_seconds() - stated) > PRECISION:
            yield f"trace_summary.wall_time_s is {stated}; its times give {(last - first).total_seconds()}"
    if summary["end"] not in get_args(RunEnd):
        yield f"trace_summary.end {summary['end']!r} is not in its closed vocabulary"


def failed_steps(records: Sequence[Mapping[str, Any]], rules: TraceRules) -> dict[int, tuple[list[int], list[int]]]:
    """Number of a record -> its steps that failed for sure, and those that may have: whether the runner made a result
    up is not released."""
    names = [name for name in STEP_KINDS if name != "answered"]
    rows = [
        {"record": number, **{name: step.get(name) for name in names}}
        for number, record in enumerate(records)
        for step in record["steps"]
    ]
    kinds: dict[str, Any] = {"record": pl.Int64, **{name: STEP_KINDS[name] for name in names}}
    steps = pl.DataFrame(rows, kinds, orient="row")
    failed = holds(rules.failed)
    either = [
        steps.with_columns(answered=pl.lit(answered)).select(failed.alias("failed")).to_series()
        for answered in (False, True)
    ]
    marked = steps.select("record", "step_id", surely=either[0] & either[1], possibly=either[0] | either[1])
    return {
        number: (own.filter("surely")["step_id"].to_list(), own.filter("possibly")["step_id"].to_list())
        for (number,), own in marked.group_by("record", maintain_order=True)
    }


def behaviours(records: Sequence[Mapping[str, Any]], rules: TraceRules, redacted: Container[int]) -> Iterator[Problem]:
    """The class is that of the rule, the rule can hold, and none before it holds for sure. What is not released is
    null, and a condition over it is then neither true nor false."""
    rows = [{"run_end": record["trace_summary"]["end"], **seen(record)} for record in records]
    replies = [None if number in redacted else last_reply(record) for number, record in enumerate(records)]
    words = pl.Series(replies, dtype=pl.String).str.contains(rules.gave_up_pattern)
    table = pl.DataFrame(rows, SUMMARY_KINDS, orient="row").with_columns(gave_up_words=words)
    truth = table.select(pl.sql_expr(rule.when).alias(rule.id) for rule in rules.behaviours)
    ids = [rule.id for rule in rules.behaviours]
    of_rule = {rule.id: rule.behaviour for rule in rules.behaviours}
    for number, row in enumerate(truth.iter_rows(named=True)):
        summary = records[number]["trace_summary"]
        name, behaviour = summary["behaviour_rule"], summary["behaviour"]
        if of_rule.get(name) != behaviour:
            yield number, f"trace_summary.behaviour is {behaviour}; the rule {name} gives {of_rule.get(name)}"
            continue
        earlier = next((rule for rule in ids[: ids.index(name)] if row[rule] is True), None)
        if row[name] is False or earlier:
            contradiction = f"the rule {earlier} holds before it" if earlier else "its condition does not hold"
            yield number, f"trace_summary.behaviour_rule is {name}, but {contradiction}"


def seen(record: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that a behaviour rule sees, as far as they are released."""
    kinds = [step["action_kind"] for step in record["steps"]]
    last_is_reply = kinds[-1] != "tool_call" if kinds else None
    known = {name: record["trace_summary"].get(name) for name in SUMMARY_KINDS if name != "run_end"}
    return known | {"last_is_reply": last_is_reply}


def last_reply(record: Mapping[str, Any]) -> str | None:
    """The text of the last reply of a record."""
    return next((step["action_text"] for step in reversed(record["steps"]) if step["action_kind"] == "reply"), None)
