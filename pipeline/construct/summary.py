"""Trace summary: counts, first error, cost and a behavioural class with the rule that decided it (seed 000)."""

import polars as pl

from pipeline.records.base import STEP_KEY, TRAJECTORY_KEY
from pipeline.records.evidence import Descriptors
from pipeline.records.session import RunSummary, Steps, TraceSummaries, TraceSummary, Trajectories, UserTurns
from pipeline.rules.trace import TraceRules
from pipeline.stage import stage

COUNTED = ("tool_calls", "replies", "tool_errors", "calls_without_result", "user_turns", "longest_repeat")


@stage(scope="shard")
def summary(
    trajectories: Trajectories, steps: Steps, user_turns: UserTurns, descriptors: Descriptors, rules: TraceRules
) -> TraceSummaries:
    """One TraceSummary a trajectory. The class describes how the run went; it is no label and no label reads it."""
    run = pl.col("run").struct
    base = (
        trajectories.select(
            *TRAJECTORY_KEY,
            *[run.field(name) for name in RunSummary.model_fields],
            aborted_last_run=pl.col("context").struct.field("aborted_last_run").fill_null(False),
        )
        .with_columns(run_end=pl.col("end"))
        .join(counts(steps, user_turns, descriptors, rules), on=TRAJECTORY_KEY, how="left", maintain_order="left")
        .join(user_turns.group_by(TRAJECTORY_KEY).agg(user_turns=pl.len()), on=TRAJECTORY_KEY, how="left")
        .with_columns(pl.col(COUNTED).fill_null(0))
        .with_columns(provider_first=pl.col("first_provider_error_after") < pl.col("first_error_step"))
        .with_columns(
            first_error=pl.when("provider_first")
            .then("first_provider_error")
            .when(pl.col("first_error_step").is_not_null())
            .then("first_tool_error")
            .otherwise("first_provider_error"),
            first_error_step=pl.when(~pl.col("provider_first").fill_null(False)).then("first_error_step"),
        )
        .with_columns(behaviour=rules.decided("behaviour"), behaviour_rule=rules.decided("id"))
        .sort(TRAJECTORY_KEY)
    )
    return base.select(*TRAJECTORY_KEY, "behaviour", trace_summary=pl.struct(list(TraceSummary.model_fields)))


def counts(steps: pl.LazyFrame, user_turns: pl.LazyFrame, descriptors: pl.LazyFrame, rules: TraceRules) -> pl.LazyFrame:
    """Per trajectory: what its steps say, and the columns that the behaviour rules see. The steps of a trajectory stand
    together in their table."""
    call = pl.col("action_kind") == "tool_call"
    answered = pl.col("has_result") & ~pl.col("result_synthetic")
    failed = pl.sql_expr(rules.failed).fill_null(False)
    again = pl.struct(*TRAJECTORY_KEY, "tool_name_raw", "arguments").rle_id()
    own = pl.when(pl.col("resolved_status").is_null()).then("reflection_text")
    text = pl.coalesce(own, "notice").str.head(rules.error_characters)
    notices = user_turns.select(*TRAJECTORY_KEY, resolved_by_user_turn="user_turn", notice="raw_text")
    return (
        steps.join(descriptors.select(*STEP_KEY, "tool_name", "tool_status"), on=STEP_KEY, maintain_order="left")
        .join(notices, on=[*TRAJECTORY_KEY, "resolved_by_user_turn"], how="left", maintain_order="left")
        .with_columns(call=call, answered=answered, repeat=again, waiting=rules.waiting)
        .with_columns(failed=failed, counted=pl.col("call") & ~pl.col("waiting"))
        .with_columns(repeat_length=pl.col("counted").sum().over("repeat"), error=pl.when("failed").then(text))
        .group_by(TRAJECTORY_KEY, maintain_order=True)
        .agg(
            tool_calls=pl.col("call").sum(),
            replies=(~pl.col("call")).sum(),
            tool_errors=pl.col("failed").sum(),
            calls_without_result=(pl.col("call") & ~pl.col("answered")).sum(),
            first_error_step=pl.col("step_id").filter("failed").first(),
            first_tool_error=pl.col("error").filter("failed").first(),
            longest_repeat=pl.col("repeat_length").max(),
            last_is_reply=(~pl.col("call")).last(),
            last_failed=pl.col("failed").filter("call").last(),
            last_reply=pl.col("action_text").filter(~pl.col("call")).last(),
        )
        .with_columns(gave_up_words=pl.col("last_reply").str.contains(rules.gave_up_pattern))
    )
