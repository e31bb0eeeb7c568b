"""Run summary: what happened to the run as a whole, beside its steps (own choice; counts of runner noise)."""

from datetime import datetime
from typing import Any

from openclawbench.sources.openclaw.steps import StepBuilder
from openclawbench.sources.step_builder import how_it_ended as how_steps_end

# What is counted and is no step; of replies, what is odd about them.
NOISE = (
    "provider_errors",
    "unexecuted_calls",
    "empty_replies",
    "silent_replies",
    "runner_texts",
    "mirrored_replies",
)


def run_summary(builder: StepBuilder, times: list[str]) -> dict[str, Any]:
    """The RunSummary of a session, given its records' times: counts, tokens, USD, seconds; null where not said."""
    return {
        **{name: builder.noise.get(name, 0) for name in NOISE},
        "run_errors": len(builder.run_errors),
        "end": how_it_ended(builder),
        "stop_reason": builder.last_stop,
        "first_provider_error": builder.first_error,
        "first_provider_error_after": builder.first_error_after,
        **builder.usage.known(),
        **span_of(times),
    }


def how_it_ended(builder: StepBuilder) -> str:
    """completed | error | aborted | timeout | unanswered | dangling_call | no_reply: by the last user turn, run error,
    message and step."""
    if builder.open_turn:
        return how_steps_end(builder)  # how an earlier turn ended says nothing of this one
    if builder.run_error is not None:
        if builder.rules.is_timeout(builder.run_error):
            return "timeout"
        return "aborted" if builder.rules.is_abort(builder.run_error) else "error"
    if builder.last_stop == "aborted" and builder.rules.is_timeout(builder.last_error or ""):
        return "timeout"  # newer releases write no run error, only the aborted message
    if builder.last_stop in ("error", "aborted"):
        return builder.last_stop
    return how_steps_end(builder)


def span_of(times: list[str]) -> dict[str, Any]:
    """When the earliest and the latest record were written, and the seconds between them: null where fewer than two
    have a time."""
    first, last = min(times, default=None), max(times, default=None)
    seconds = None
    if first is not None and last is not None and len(times) > 1:
        seconds = (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()
    return {"wall_time_s": seconds, "started_at": first, "ended_at": last}
