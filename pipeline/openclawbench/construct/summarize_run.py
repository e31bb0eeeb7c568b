"""Trace summary: counts, first error, cost and a behavioural class with the rule that decided it (seed 000)."""

from functools import cache

import polars as pl

from openclawbench.base.memoize import memoize
from openclawbench.records.evidence import Descriptors
from openclawbench.records.session import RunSummary, Steps, TraceSummaries, TraceSummary, Trajectories, UserTurns
from openclawbench.rules.construct.trace import TraceRules
from openclawbench.rules.loading.conditions import holds
from openclawbench.runtime.stage import stage
from openclawbench.tables.collect import collect_unoptimized
from openclawbench.tables.group_by_trajectory import group_by_trajectory
from openclawbench.tables.lookup_join import lookup_join
from openclawbench.tables.record import STEP_KEY, TRAJECTORY_KEY

PERSON = "user"  # kind of a turn that a person wrote; the others are the runner's, in a user's place
COUNTED = ("tool_calls", "replies", "tool_errors", "calls_without_result", "user_turns", "longest_repeat")


@stage(scope="shard")
def summary(
    trajectories: Trajectories, steps: Steps, user_turns: UserTurns, descriptors: Descriptors, rules: TraceRules
) -> TraceSummaries:
    """One TraceSummary a trajectory. The class describes how the run went; it is not a label and no label reads it."""
    written = user_turns.filter(pl.col("kinds").list.contains(PERSON))
    turns = group_by_trajectory(written, user_turns=pl.len())
    base = (
        trajectories.select(run_columns())
        .join(count_steps(steps, user_turns, descriptors, rules), on=TRAJECTORY_KEY, how="left", maintain_order="left")
        .join(turns, on=TRAJECTORY_KEY, how="left")
        .with_columns(pl.col(COUNTED).fill_null(0))
    )
    for columns in classification_columns(rules):
        base = base.with_columns(columns)
    summed = collect_unoptimized(base).lazy().sort(TRAJECTORY_KEY)
    return summed.select(*TRAJECTORY_KEY, "behaviour", trace_summary=pl.struct(list(TraceSummary.model_fields)))


@cache
def run_columns() -> list[pl.Expr]:
    """Columns of a trajectory: its key, and the run summary of its file."""
    run = pl.col("run").struct
    return [
        *map(pl.col, TRAJECTORY_KEY),
        *map(run.field, RunSummary.model_fields),
        run.field("end").alias("run_end"),
        pl.col("context").struct.field("aborted_last_run").fill_null(False),
    ]


@memoize
def classification_columns(rules: TraceRules) -> list[list[pl.Expr]]:
    """Columns that determine the class of a trajectory, in groups: a group may use the columns of earlier groups."""
    first = (
        pl.when("provider_first")
        .then("first_provider_error")
        .when(pl.col("first_error_step").is_not_null())
        .then("first_tool_error")
        .otherwise("first_provider_error")
    )
    return [
        [(pl.col("first_provider_error_after") < pl.col("first_error_step")).alias("provider_first")],
        [
            first.alias("first_error"),
            pl.when(~pl.col("provider_first").fill_null(False)).then("first_error_step").alias("first_error_step"),
        ],
        [rules.decided("behaviour").alias("behaviour"), rules.decided("id").alias("behaviour_rule")],
    ]


def count_steps(
    steps: pl.LazyFrame, user_turns: pl.LazyFrame, descriptors: pl.LazyFrame, rules: TraceRules
) -> pl.LazyFrame:
    """One row per trajectory: counts over its steps, and the columns that the behaviour rules read."""
    step_rows = steps.drop("raw").collect()
    described = lookup_join(step_rows, descriptors.select(*STEP_KEY, "tool_name", "tool_status").collect(), STEP_KEY)
    noticed = lookup_join(described, find_end_notices(step_rows, user_turns), STEP_KEY).lazy()
    for columns in step_columns(rules):
        noticed = noticed.with_columns(columns)
    counted = group_by_trajectory(collect_unoptimized(noticed).lazy(), *trajectory_aggregates())
    return counted.with_columns(gave_up_words=pl.col("last_reply").str.contains(rules.gave_up_pattern))


def find_end_notices(steps: pl.DataFrame, user_turns: pl.LazyFrame) -> pl.DataFrame:
    """Key and notice of each step whose command was reported as ended by a message in a user turn."""
    turn_key = [*TRAJECTORY_KEY, "resolved_by_user_turn"]
    texts = user_turns.select(*TRAJECTORY_KEY, resolved_by_user_turn="user_turn", notice="raw_text")
    left_open = steps.lazy().select(*STEP_KEY, "resolved_by_user_turn").drop_nulls("resolved_by_user_turn")
    return collect_unoptimized(left_open.join(texts, on=turn_key, how="left").select(*STEP_KEY, "notice"))


@memoize
def step_columns(rules: TraceRules) -> list[list[pl.Expr]]:
    """Columns of a step that the counts use, in groups: a group may use the columns of earlier groups."""
    own = pl.when(pl.col("resolved_status").is_null()).then("reflection_text")
    text = pl.coalesce(own, "notice").str.head(rules.error_characters)
    return [
        [
            (pl.col("action_kind") == "tool_call").alias("call"),
            (pl.col("has_result") & ~pl.col("result_synthetic")).alias("answered"),
            pl.struct(*TRAJECTORY_KEY, "tool_name_raw", "arguments").rle_id().alias("repeat"),
            rules.waiting.alias("waiting"),
        ],
        [holds(rules.failed).alias("failed"), (pl.col("call") & ~pl.col("waiting")).alias("counted")],
        [
            pl.col("counted").sum().over("repeat").alias("repeat_length"),
            pl.when("failed").then(text).alias("error"),
        ],
    ]


@cache
def trajectory_aggregates() -> list[pl.Expr]:
    """Aggregates over the steps of a trajectory."""
    call, failed = pl.col("call"), pl.col("failed")
    return [
        call.sum().alias("tool_calls"),
        (~call).sum().alias("replies"),
        failed.sum().alias("tool_errors"),
        (call & ~pl.col("answered")).sum().alias("calls_without_result"),
        pl.col("step_id").filter(failed).first().alias("first_error_step"),
        pl.col("error").filter(failed).first().alias("first_tool_error"),
        pl.col("repeat_length").max().alias("longest_repeat"),
        (~call).last().alias("last_is_reply"),
        failed.filter(call).last().alias("last_failed"),
        pl.col("action_text").filter(~call).last().alias("last_reply"),
    ]
