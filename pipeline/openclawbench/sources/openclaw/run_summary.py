"""Run summary: what happened to the run as a whole, beside its steps (own choice; counts of runner noise)."""

from typing import Any

from openclawbench.sources.openclaw.steps import StepBuilder
from openclawbench.sources.step_builder import NOISE, span_of
from openclawbench.sources.step_builder import how_it_ended as how_steps_end


def run_summary(builder: StepBuilder, times: list[str]) -> dict[str, Any]:
    """The RunSummary of a session, given its records' times: counts, tokens, USD, seconds; None if not said."""
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
