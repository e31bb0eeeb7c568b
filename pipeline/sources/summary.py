"""Run summary: what happened to the run as a whole, beside its steps (own choice; counts of runner noise)."""

from datetime import datetime
from typing import Any

from pipeline.sources.openclaw_steps import StepBuilder
from pipeline.sources.steps import how_it_ended as how_steps_end


def run_summary(builder: StepBuilder, times: list[str]) -> dict[str, Any]:
    """The RunSummary of a session, given its records' times: counts, tokens, USD, seconds; null where not said."""
    return {
        "provider_errors": builder.noise["provider_errors"],
        "unexecuted_calls": builder.noise["unexecuted_calls"],
        "empty_replies": builder.noise["empty_replies"],
        "silent_replies": builder.noise["silent_replies"],
        "end": how_it_ended(builder),
        "stop_reason": builder.last_stop,
        "first_provider_error": builder.first_error or builder.run_error,
        "input_tokens": builder.usage.get("input"),
        "output_tokens": builder.usage.get("output"),
        "total_tokens": builder.usage.get("total"),
        "cost_usd": builder.usage["micro_usd"] / 10**6 if "micro_usd" in builder.usage else None,
        "wall_time_s": wall_time(times),
        "started_at": min(times, default=None),
        "ended_at": max(times, default=None),
    }


def how_it_ended(builder: StepBuilder) -> str:
    """completed | error | aborted | timeout | dangling_call | no_reply: by the last run error, message and step."""
    if builder.run_error is not None:
        if builder.rules.is_timeout(builder.run_error):
            return "timeout"
        return "aborted" if builder.rules.is_abort(builder.run_error) else "error"
    if builder.last_stop == "aborted" and builder.rules.is_timeout(builder.last_error or ""):
        return "timeout"  # newer releases write no run error, only the aborted message
    if builder.last_stop in ("error", "aborted"):
        return builder.last_stop
    return how_steps_end(builder.steps)


def wall_time(times: list[str]) -> float | None:
    """Seconds between the earliest and the latest record; null where fewer than two have a time."""
    if len(times) < 2:
        return None
    return (datetime.fromisoformat(max(times)) - datetime.fromisoformat(min(times))).total_seconds()
