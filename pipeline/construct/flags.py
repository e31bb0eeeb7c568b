"""Automatic process flags of each step with what fired them (paper T12; docs/event_guide.md). Never labels."""

import polars as pl

from pipeline.construct.flag_texts import EVIDENCE, text_evidence
from pipeline.records.base import STEP_KEY, TRAJECTORY_KEY
from pipeline.rules.flags import FlagRules


def flags(steps: pl.LazyFrame, rules: FlagRules) -> pl.DataFrame:
    """auto_flags (in vocabulary order) and flag_evidence (then by field and place), one row a flagged step.

    Reads the step's own words, event_type, event_rule, tool_status, status_rule, tool, real_arguments, message_index,
    memory, leaves, leaves_rule, executed, gap_rule, said_so.
    """
    texts = text_evidence(steps, rules)
    facts = steps.select(
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
    ).collect()
    evidence = pl.concat([texts, *structural(facts, texts, rules)])
    order = pl.col("flag").replace_strict(rules.order, list(range(len(rules.order))), return_dtype=pl.Int64)
    return (
        evidence.with_columns(order=order)
        .sort([*STEP_KEY, "order", "field", "start", "rule_id"], maintain_order=True)
        .group_by(STEP_KEY, maintain_order=True)
        .agg(
            auto_flags=pl.col("flag").unique(maintain_order=True),
            flag_evidence=pl.struct(list(EVIDENCE)),
        )
    )


def structural(facts: pl.DataFrame, texts: pl.DataFrame, rules: FlagRules) -> list[pl.DataFrame]:
    """Evidence of the flags that are read from what a step is and how it ended; its field is a descriptor's name."""
    ids = rules.rules
    message = [*TRAJECTORY_KEY, "message_index"]
    uncertain = texts.filter(flag="uncertainty").select(STEP_KEY).unique()
    unsure = facts.join(uncertain, on=STEP_KEY, how="semi").select(message).unique()
    failed = pl.col("tool_status").is_in(rules.error_statuses) & pl.col("said_so")
    writes = facts.filter(pl.col("event_type").is_in(rules.write_categories))
    lacking = (pl.col("tool_status").is_in(rules.gap_statuses) & pl.col("said_so")) | pl.col("gap_rule").is_not_null()
    return [
        fired(
            writes.join(unsure, on=message, how="semi"),
            "write_under_uncertainty",
            ids.write_under_uncertainty,
            "event_type",
            "event_rule",
        ),
        fired(facts.filter(pl.col("memory")), "memory_write", ids.memory_write, "state_write_target", "event_rule"),
        fired(facts.filter(failed), "error_signal", ids.error_signal, "tool_status", "status_rule"),
        fired(
            facts.filter(pl.col("leaves") & pl.col("executed")),
            "external_interaction",
            ids.external_interaction,
            "action_text",
            "leaves_rule",
        ),
        fired(retries(facts, failed), "retry_of_failed", ids.retry_of_failed, "action_text"),
        fired(
            facts.filter(lacking).with_columns(gap_rule=pl.coalesce("gap_rule", "status_rule")),
            "capability_gap",
            ids.capability_gap,
            "tool_status",
            "gap_rule",
        ),
    ]


def retries(facts: pl.DataFrame, failed: pl.Expr) -> pl.DataFrame:
    """Calls of a tool with the same arguments whose last run, in an earlier message of the trajectory, had failed."""
    call = [*TRAJECTORY_KEY, "tool", "real_arguments"]
    calls = facts.select(*call, "step_id", "message_index", failed=failed)
    known = calls.filter(pl.col("real_arguments").is_not_null() & pl.col("tool").is_not_null())
    known = known.join(known.filter("failed").select(call).unique(), on=call, how="semi", maintain_order="left")
    runs = known.group_by(*call, "message_index", maintain_order=True).agg(failed=pl.col("failed").any())
    before = runs.sort("message_index", maintain_order=True).with_columns(again=pl.col("failed").shift(1).over(call))
    again = before.filter(pl.col("again").fill_null(False)).select(*call, "message_index")
    return known.join(again, on=[*call, "message_index"], how="semi", maintain_order="left")


def fired(steps: pl.DataFrame, flag: str, rule_id: str, field: str, cause: str | None = None) -> pl.DataFrame:
    """Evidence without a place in a text; `cause` is the column with the rule that gave what the flag was read from."""
    nowhere = pl.lit(None, dtype=pl.Int64)
    return steps.select(
        *STEP_KEY,
        flag=pl.lit(flag),
        rule_id=pl.lit(rule_id),
        field=pl.lit(field),
        start=nowhere,
        end=nowhere,
        cause=pl.lit(None, pl.String) if cause is None else pl.col(cause),
    )
