"""Trace summaries as they are shown: each figure, what is not said is called so, and sums only of what is."""

from typing import Any

from openclawbench.cli.render.trace_summary import format_total, summary_lines
from openclawbench.inspect.trace_totals import add_up
from openclawbench.records.session import TraceSummary, TraceSummaryRow
from openclawbench.tables.schema import from_records

NUMBERS = {name: 0 for name, field in TraceSummary.model_fields.items() if field.annotation is int}
BLANK: dict[str, Any] = dict.fromkeys(TraceSummary.model_fields) | NUMBERS
PLAIN = BLANK | {"end": "completed", "behaviour": "completed", "behaviour_rule": "completed.reply"}
FULL = PLAIN | {
    "user_turns": 2,
    "tool_calls": 3,
    "tool_errors": 1,
    "provider_errors": 1,
    "first_error": "no such file",
    "first_error_step": 2,
    "stop_reason": "stop",
    "input_tokens": 30,
    "output_tokens": 12,
    "total_tokens": 42,
    "cost_usd": 0.0125,
    "wall_time_s": 12.3456,
}


def test_every_figure_is_shown() -> None:
    assert summary_lines(FULL, 4) == {
        "trace": "4 steps, 2 turns, 3 tool calls, 1 tool error, 0 calls without result, 1 provider error, "
        "0 run errors, behaviour: completed (rule completed.reply)",
        "ended": "completed, stop reason: stop",
        "error": "step 2: no such file",
        "used": "tokens: 42 (30 in, 12 out), cost: 0.0125 USD, wall time: 12.346 s",
    }


def test_what_no_record_says_is_called_so() -> None:
    lines = summary_lines(PLAIN, 0)
    assert lines["error"] == "none"
    assert lines["ended"] == "completed, stop reason: not said"
    assert lines["used"] == "tokens: not said, cost: not said, wall time: not said"
    assert summary_lines(PLAIN | {"first_error": "x" * 9000}, 0)["error"].endswith("[… 9000 characters]")


def test_figures_that_cannot_be_are_counted_and_not_in_any_sum() -> None:
    lines = summary_lines(PLAIN | {"impossible_usage": 2}, 0)
    assert lines["used"] == "tokens: not said, cost: not said, wall time: not said; 2 impossible figures left out"


def test_sums_are_of_what_is_said() -> None:
    summaries: list[dict[str, Any]] = [FULL, FULL, PLAIN]
    rows = [
        {"source_model": "m", "trajectory_id": str(number), "behaviour": "completed", "trace_summary": summary}
        for number, summary in enumerate(summaries)
    ]
    actual_rows = {row["what"]: row for row in add_up(from_records(rows, TraceSummaryRow).lazy())}
    assert actual_rows["tool_calls"] == {"what": "tool_calls", "total": 6, "trajectories": 3}
    assert actual_rows["total_tokens"] == {"what": "total_tokens", "total": 84, "trajectories": 2}
    assert (actual_rows["cost_usd"]["total"], actual_rows["wall_time_s"]["total"]) == (0.025, 24.6912)
    nothing = add_up(from_records([rows[2]], TraceSummaryRow).lazy())
    assert {row["what"]: row["total"] for row in nothing}["cost_usd"] is None
    assert format_total({"total": 31264000.5})["total"] == "31264000.5"
