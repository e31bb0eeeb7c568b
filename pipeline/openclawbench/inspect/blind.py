"""What a blind reviewer sees of a trajectory: the one list for `show --no-label`, for sheets and for the workbench.

A name that is not listed is not shown. Left out are the label and its evidence, outcome, risk, slice, onset candidates,
flags, and the class of behaviour, because each hints at how the trajectory was judged.
"""

from collections.abc import Mapping
from typing import Any

Row = dict[str, Any]
TRAJECTORY = (
    "source_model",
    "trajectory_id",
    "task_id",
    "subset",
    "attempt",
    "source_format",
    "models",
    "num_steps",
    "truncated",
    "order_ambiguous",
    "several_sessions",
    "divergent",
    "head_drop",
    "compacted",
    "abandoned_steps",
    "removed_records",
    "trace_summary",
    "user_turns",
    "steps",
    "source_file",
    "source_member",
    "unknown_blocks",
)
TRACE_SUMMARY = (
    "user_turns",
    "tool_calls",
    "replies",
    "tool_errors",
    "calls_without_result",
    "first_error",
    "first_error_step",
    "provider_errors",
    "run_errors",
    "unexecuted_calls",
    "unreported_usage",
    "unpriced_usage",
    "impossible_usage",
    "end",
    "stop_reason",
    "input_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "total_tokens",
    "cost_usd",
    "wall_time_s",
    "started_at",
    "ended_at",
)
STEP = (
    "step_id",
    "user_turn",
    "action_kind",
    "thinking",
    "narration",
    "narration_position",
    "action_text",
    "reflection_text",
    "tool_name",
    "tool_name_raw",
    "event_type",
    "tool_status",
    "side_effect",
    "artifact_target",
    "state_write_target",
    "partial",
    "silent_token",
    "orphan",
    "resolved_by_step",
    "resolved_by_user_turn",
    "resolved_status",
    "timestamp",
    "first_line",
)
EXPLAINED = ("step_id", "event_type", "command_parts", "alignment", "tool_status", "side_effect", "targets")


def blind_step(step: Mapping[str, Any]) -> Row:
    """The fields of a step that a blind reviewer sees."""
    return {name: step[name] for name in STEP if name in step}


def blind_trajectory(trajectory: Mapping[str, Any]) -> Row:
    """The fields of a trajectory that a blind reviewer sees, with its steps."""
    shown = {name: trajectory[name] for name in TRAJECTORY if name in trajectory}
    if shown.get("trace_summary"):
        shown["trace_summary"] = {name: shown["trace_summary"][name] for name in TRACE_SUMMARY}
    if "steps" in shown:
        shown["steps"] = [blind_step(step) for step in shown["steps"]]
    return shown


def blind_explanation(step: Mapping[str, Any]) -> Row:
    """The sections of a step's explanation that a blind reviewer sees."""
    return {name: step[name] for name in EXPLAINED if name in step}
