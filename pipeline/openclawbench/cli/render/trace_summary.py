"""Trace summaries on a terminal: of one trajectory, and added up over all."""

from typing import Any

from openclawbench.base.terminal import pluralize
from openclawbench.inspect.trace_totals import DIGITS

ERROR_CHARACTERS = 300
UNKNOWN = "not said"
PARTS = {  # tokens of a TraceSummary, in words
    "input": "in",
    "cached": "of them cached",
    "cache_write": "written to the cache",
    "output": "out",
    "reasoning": "of them reasoning",
}


def format_total(row: dict[str, Any]) -> dict[str, Any]:
    """A row of trace_totals() for a table: a long sum in full, not as a power of ten."""
    total = row["total"]
    return row | {"total": f"{total:.{DIGITS}f}".rstrip("0").rstrip(".") if isinstance(total, float) else total}


def summary_lines(summary: dict[str, Any], num_steps: int) -> dict[str, str]:
    """A TraceSummary in words, by title. Texts of the trajectory are in it: not yet safe for a terminal."""
    counts = [
        pluralize(num_steps, "step"),
        pluralize(summary["user_turns"], "turn"),
        pluralize(summary["tool_calls"], "tool call"),
        pluralize(summary["tool_errors"], "tool error"),
        f"{pluralize(summary['calls_without_result'], 'call')} without result",
        pluralize(summary["provider_errors"], "provider error"),
        pluralize(summary["run_errors"], "run error"),
    ]
    if "behaviour" in summary:  # not in what a blind reviewer sees
        counts.append(f"behaviour: {summary['behaviour']} (rule {summary['behaviour_rule']})")
    return {
        "trace": ", ".join(counts),
        "ended": f"{summary['end']}, stop reason: {summary['stop_reason'] or UNKNOWN}",
        "error": first_error(summary),
        "used": f"{tokens(summary)}, {money(summary)}, wall time: {seconds(summary)}{left_out(summary)}",
    }


def first_error(summary: dict[str, Any]) -> str:
    """The first error seen, shortened, and the step that failed, if it was one."""
    text, step = summary["first_error"], summary["first_error_step"]
    if text is None:
        return "none" if step is None else f"step {step}, without a text"
    short = text if len(text) <= ERROR_CHARACTERS else f"{text[:ERROR_CHARACTERS]} [… {len(text)} characters]"
    return short if step is None else f"step {step}: {short}"


def tokens(summary: dict[str, Any]) -> str:
    """Tokens of the whole run."""
    total = summary["total_tokens"]
    parts = [f"{number} {words}" for name, words in PARTS.items() if (number := summary[f"{name}_tokens"]) is not None]
    inside = f" ({', '.join(parts)})" if parts else ""
    return f"tokens: {UNKNOWN if total is None else total}{inside}"


def money(summary: dict[str, Any]) -> str:
    """Cost as the records say it."""
    cost = summary["cost_usd"]
    return f"cost: {UNKNOWN if cost is None else f'{cost:.6g} USD'}"


def left_out(summary: dict[str, Any]) -> str:
    """How many messages say nothing of what they used, and how many figures cannot be and were not added up."""
    parts = [
        f"{pluralize(summary['unreported_usage'], 'message')} without tokens",
        f"{pluralize(summary['unpriced_usage'], 'message')} without a price",
        f"{pluralize(summary['impossible_usage'], 'impossible figure')} left out",
    ]
    return "".join(f"; {part}" for part in parts if not part.startswith("0 "))


def seconds(summary: dict[str, Any]) -> str:
    """Wall time."""
    time = summary["wall_time_s"]
    return UNKNOWN if time is None else f"{round(time, 3)} s"
