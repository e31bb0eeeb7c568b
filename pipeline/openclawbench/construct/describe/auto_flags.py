"""Automatic process flags of each step, with the evidence of each (paper T12; docs/reference/event_guide.md).

Text flags come from the agent's own words (auto_flags_in_text.py), structural flags from the kind of a step and its
end. A flag is a signal, never a label. docs/develop/add_a_flag.md says how to add one.
"""

import polars as pl

from openclawbench.base.memoize import memoize
from openclawbench.construct.describe.auto_flags_in_text import EVIDENCE, text_evidence
from openclawbench.rules.construct.flags import FlagRules
from openclawbench.tables.collect import collect_unoptimized
from openclawbench.tables.record import STEP_KEY, TRAJECTORY_KEY

# Columns of a step that structural flags read.
FACTS = [
    *STEP_KEY,
    "message_index",
    "event_type",
    "event_rule",
    "tool_status",
    "status_rule",
    "tool",
    "real_arguments",
    "memory",
    "leaves",
    "leaves_rule",
    "executed",
    "gap_rule",
    "said_so",
]


def auto_flags(steps: pl.LazyFrame, agent_texts: pl.DataFrame, rules: FlagRules) -> pl.DataFrame:
    """One row per flagged step: its key, auto_flags (in the order of the rules), flag_evidence (then by field, place).

    `steps` has the columns FACTS and is a table in memory, for it is read several times. `agent_texts` is what
    language.agent_texts returns.
    """
    in_text = text_evidence(agent_texts, rules).lazy()
    evidence = pl.concat([in_text, *structural_evidence(steps.select(FACTS), in_text, rules)])
    return collect_unoptimized(
        evidence.with_columns(flag_order(rules))
        .sort([*STEP_KEY, "order", "field", "start", "rule_id"], maintain_order=True)
        .group_by(STEP_KEY, maintain_order=True)
        .agg(auto_flags=pl.col("flag").unique(maintain_order=True), flag_evidence=pl.struct(list(EVIDENCE)))
    )


@memoize
def flag_order(rules: FlagRules) -> pl.Expr:
    """order: the place of a flag in the order of the rules."""
    places = list(range(len(rules.order)))
    return pl.col("flag").replace_strict(rules.order, places, return_dtype=pl.Int64).alias("order")


def structural_evidence(facts: pl.LazyFrame, in_text: pl.LazyFrame, rules: FlagRules) -> list[pl.LazyFrame]:
    """Evidence of the structural flags."""
    message = [*TRAJECTORY_KEY, "message_index"]
    uncertain_steps = in_text.filter(flag="uncertainty").select(STEP_KEY).unique()
    uncertain_messages = facts.join(uncertain_steps, on=STEP_KEY, how="semi").select(message).unique()
    of_steps, (is_write, write), (is_failure, retry) = conditions(rules)
    return [
        *(facts.filter(condition).select(evidence) for condition, evidence in of_steps),
        facts.filter(is_write).join(uncertain_messages, on=message, how="semi").select(write),
        retries(facts, is_failure).select(retry),
    ]


Condition = tuple[pl.Expr, list[pl.Expr]]  # the steps that it holds for, and the evidence columns of each


@memoize
def conditions(rules: FlagRules) -> tuple[list[Condition], Condition, Condition]:
    """Flags of a step by itself; of a write in an uncertain message; of a failed call that is tried again."""
    ids = rules.rules
    failed = pl.col("tool_status").is_in(rules.error_statuses) & pl.col("said_so")
    unavailable = pl.col("tool_status").is_in(rules.gap_statuses) & pl.col("said_so")
    gap_cause = pl.coalesce("gap_rule", "status_rule")
    of_steps = [
        (
            pl.col("memory"),
            evidence("memory_write", ids.memory_write, "state_write_target", pl.col("event_rule")),
        ),
        (
            failed,
            evidence("error_signal", ids.error_signal, "tool_status", pl.col("status_rule")),
        ),
        (
            pl.col("leaves") & pl.col("executed"),
            evidence("external_interaction", ids.external_interaction, "action_text", pl.col("leaves_rule")),
        ),
        (
            unavailable | pl.col("gap_rule").is_not_null(),
            evidence("capability_gap", ids.capability_gap, "tool_status", gap_cause),
        ),
    ]
    is_write = pl.col("event_type").is_in(rules.write_categories)
    write = evidence("write_under_uncertainty", ids.write_under_uncertainty, "event_type", pl.col("event_rule"))
    retry = evidence("retry_of_failed", ids.retry_of_failed, "action_text", pl.lit(None, pl.String))
    return of_steps, (is_write, write), (failed, retry)


def evidence(flag: str, rule_id: str, field: str, cause: pl.Expr) -> list[pl.Expr]:
    """Columns of EVIDENCE without a place in a text. `cause`: the rule that gave the field its value."""
    return [
        *map(pl.col, STEP_KEY),
        pl.lit(flag).alias("flag"),
        pl.lit(rule_id).alias("rule_id"),
        pl.lit(field).alias("field"),
        pl.lit(None, pl.Int64).alias("start"),
        pl.lit(None, pl.Int64).alias("end"),
        cause.alias("cause"),
    ]


def retries(facts: pl.LazyFrame, is_failure: pl.Expr) -> pl.LazyFrame:
    """Calls of a tool with the same arguments whose last run, in an earlier message of the trajectory, had failed."""
    call = [*TRAJECTORY_KEY, "tool", "real_arguments"]
    calls = facts.drop_nulls(["real_arguments", "tool"]).select(*call, "step_id", "message_index", failed=is_failure)
    ever_failed = calls.filter("failed").select(call).unique()
    repeated = collect_unoptimized(calls.join(ever_failed, on=call, how="semi", maintain_order="left")).lazy()
    runs = repeated.group_by(*call, "message_index", maintain_order=True).agg(failed=pl.col("failed").any())
    after_failure = (
        runs.sort("message_index", maintain_order=True)
        .with_columns(again=pl.col("failed").shift(1).over(call))
        .filter(pl.col("again").fill_null(False))
        .select(*call, "message_index")
    )
    return repeated.join(after_failure, on=[*call, "message_index"], how="semi", maintain_order="left")
