"""Automatic process flags of each step with what fired them (paper T12; event_guide.md). Never labels."""

import polars as pl

from openclawbench.base.memoize import memoize
from openclawbench.construct.describe.auto_flags_in_text import EVIDENCE, text_evidence
from openclawbench.rules.flags import FlagRules
from openclawbench.tables.record import STEP_KEY, TRAJECTORY_KEY
from openclawbench.tables.regex_pool import collect_unoptimized

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


def auto_flags(steps: pl.LazyFrame, own_texts: pl.DataFrame, rules: FlagRules) -> pl.DataFrame:
    """auto_flags (in vocabulary order) and flag_evidence (then by field and place), one row a flagged step.

    `own_texts`: of own_texts.py. FACTS of the steps are read several times: they are a table that is held.
    """
    texts = text_evidence(own_texts, rules).lazy()
    evidence = pl.concat([texts, *structural(steps.select(FACTS), texts, rules)])
    return collect_unoptimized(
        evidence.with_columns(place_in_vocabulary(rules))
        .sort([*STEP_KEY, "order", "field", "start", "rule_id"], maintain_order=True)
        .group_by(STEP_KEY, maintain_order=True)
        .agg(auto_flags=pl.col("flag").unique(maintain_order=True), flag_evidence=pl.struct(list(EVIDENCE)))
    )


@memoize
def place_in_vocabulary(rules: FlagRules) -> pl.Expr:
    """order: of a flag."""
    places = list(range(len(rules.order)))
    return pl.col("flag").replace_strict(rules.order, places, return_dtype=pl.Int64).alias("order")


def structural(facts: pl.LazyFrame, texts: pl.LazyFrame, rules: FlagRules) -> list[pl.LazyFrame]:
    """Evidence of the flags that are read from what a step is and how it ended; its field is a descriptor's name."""
    message = [*TRAJECTORY_KEY, "message_index"]
    uncertain = texts.filter(flag="uncertainty").select(STEP_KEY).unique()
    unsure = facts.join(uncertain, on=STEP_KEY, how="semi").select(message).unique()
    of_step, after_doubt, of_retry = fired(rules)
    return [
        *(facts.filter(condition).select(evidence) for condition, evidence in of_step),
        facts.filter(after_doubt[0]).join(unsure, on=message, how="semi").select(after_doubt[1]),
        retries(facts, of_retry[0]).select(of_retry[1]),
    ]


Fired = tuple[pl.Expr, list[pl.Expr]]  # which steps, and what is evidence of them


@memoize
def fired(rules: FlagRules) -> tuple[list[Fired], Fired, Fired]:
    """The flags of steps by themselves; of writes, which are flagged after doubt; of failed calls, for retries."""
    ids = rules.rules
    said_so = pl.col("said_so")
    failed = pl.col("tool_status").is_in(rules.error_statuses) & said_so
    lacking = (pl.col("tool_status").is_in(rules.gap_statuses) & said_so) | pl.col("gap_rule").is_not_null()
    leaves = pl.col("leaves") & pl.col("executed")
    why_lacking = pl.coalesce("gap_rule", "status_rule")
    by_step = [
        (pl.col("memory"), evidence("memory_write", ids.memory_write, "state_write_target", "event_rule")),
        (failed, evidence("error_signal", ids.error_signal, "tool_status", "status_rule")),
        (leaves, evidence("external_interaction", ids.external_interaction, "action_text", "leaves_rule")),
        (lacking, evidence("capability_gap", ids.capability_gap, "tool_status", why_lacking)),
    ]
    writes = pl.col("event_type").is_in(rules.write_categories)
    write = evidence("write_under_uncertainty", ids.write_under_uncertainty, "event_type", "event_rule")
    retry = evidence("retry_of_failed", ids.retry_of_failed, "action_text", pl.lit(None, pl.String))
    return by_step, (writes, write), (failed, retry)


def evidence(flag: str, rule_id: str, field: str, cause: str | pl.Expr) -> list[pl.Expr]:
    """Evidence without a place in a text; `cause`: the rule that gave what the flag was read from."""
    nowhere = pl.lit(None, dtype=pl.Int64)
    of_flag = {
        "flag": pl.lit(flag),
        "rule_id": pl.lit(rule_id),
        "field": pl.lit(field),
        "start": nowhere,
        "end": nowhere,
    }
    cause = pl.col(cause) if isinstance(cause, str) else cause
    return [*map(pl.col, STEP_KEY), *(one.alias(name) for name, one in of_flag.items()), cause.alias("cause")]


def retries(facts: pl.LazyFrame, failed: pl.Expr) -> pl.LazyFrame:
    """Calls of a tool with the same arguments whose last run, in an earlier message of the trajectory, had failed."""
    call = [*TRAJECTORY_KEY, "tool", "real_arguments"]
    calls = facts.drop_nulls(["real_arguments", "tool"]).select(*call, "step_id", "message_index", failed=failed)
    repeated = calls.join(calls.filter("failed").select(call).unique(), on=call, how="semi", maintain_order="left")
    known = collect_unoptimized(repeated).lazy()
    runs = known.group_by(*call, "message_index", maintain_order=True).agg(failed=pl.col("failed").any())
    before = runs.sort("message_index", maintain_order=True).with_columns(again=pl.col("failed").shift(1).over(call))
    again = before.filter(pl.col("again").fill_null(False)).select(*call, "message_index")
    return known.join(again, on=[*call, "message_index"], how="semi", maintain_order="left")
