"""Describe: what each step observably does, how it ended and which process flags it carries (paper T8, T9, T12)."""

import polars as pl

from openclawbench.base.memoize import memoize
from openclawbench.construct.describe.arguments import CALL
from openclawbench.construct.describe.auto_flags import auto_flags
from openclawbench.construct.describe.event_type import classify_calls
from openclawbench.construct.describe.language import agent_texts, step_languages
from openclawbench.construct.describe.tool_status import statuses
from openclawbench.records.evidence import Descriptor, Descriptors
from openclawbench.records.session import Steps
from openclawbench.rules.construct.describe import DescribeRules
from openclawbench.rules.construct.flags import FlagRules
from openclawbench.rules.construct.language import LanguageRules
from openclawbench.rules.construct.shell import ShellRules
from openclawbench.runtime.stage import stage
from openclawbench.tables.lookup_join import lookup_join
from openclawbench.tables.record import STEP_KEY
from openclawbench.tables.regex_pool import collect_in_pool


@stage(scope="shard")
def describe(
    steps: Steps, rules: DescribeRules, shell_rules: ShellRules, flag_rules: FlagRules, language_rules: LanguageRules
) -> Descriptors:
    """One descriptor a step, in the order of the steps; every value with the id of the rule that gave it.

    Event types describe observable behaviour, never an anomaly. Unknown tools and statuses are kept: event_type `other`
    by tool.unknown, tool_status by status.unlisted_value. Offsets of flag evidence are Unicode code points.
    """
    step_rows = steps.drop("raw").collect()
    with_calls = lookup_join(step_rows, classify_calls(step_rows.lazy(), rules, shell_rules), CALL).lazy()
    with_status = collect_in_pool(statuses(with_calls, rules).with_columns(step_columns(rules)), "statuses")
    texts = agent_texts(step_rows, flag_rules.fields, language_rules)
    of_texts = step_languages(texts)
    flagged = lookup_join(
        lookup_join(with_status, auto_flags(with_status.lazy(), texts, flag_rules), STEP_KEY), of_texts, STEP_KEY
    )
    lists = pl.col("command_parts", "auto_flags", "flag_evidence", "languages")
    return flagged.select(list(Descriptor.model_fields)).lazy().with_columns(lists.fill_null([]))


@memoize
def step_columns(rules: DescribeRules) -> list[pl.Expr]:
    """Event type, side effect and targets; replies have none, and a call that was not done changed nothing."""
    reply = pl.col("action_kind") == "reply"
    effect = pl.col("effect").fill_null(False)
    # A change may have been made before the command met what was missing.
    not_done = pl.col("tool_status").is_in(rules.no_effect_statuses) & ~pl.col("acts_first").fill_null(False)
    not_run = ~pl.col("executed")
    return [
        pl.when(reply).then(pl.lit(rules.reply_category)).otherwise("event_type").alias("event_type"),
        pl.when(reply).then(pl.lit(rules.reply_rule)).otherwise("event_rule").alias("event_rule"),
        pl.col("tool").alias("tool_name"),
        pl.col("server").alias("tool_server"),
        (effect & ~not_done & ~not_run & ~reply).alias("side_effect"),
        pl.when(reply | ~effect)
        .then(pl.lit(rules.no_effect_rule))
        .when(not_run)
        .then(pl.lit(rules.not_executed_rule))
        .when(not_done)
        .then(pl.lit(rules.failed_rule))
        .otherwise("effect_rule")
        .alias("side_effect_rule"),
        pl.when(~reply).then("target").alias("artifact_target"),
        pl.when(~reply).then("state_target").alias("state_write_target"),
        pl.when(~reply).then(pl.col("memory")).otherwise(False).fill_null(False).alias("memory"),
        pl.when(~reply).then(pl.col("leaves")).otherwise(False).fill_null(False).alias("leaves"),
    ]
