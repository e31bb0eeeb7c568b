"""What the envelope of a harness other than OpenClaw says of how a call ended (describe.toml: envelope)."""

import polars as pl

from openclawbench.base.memoize import memoize
from openclawbench.rules.construct.describe import DescribeRules, EnvelopeRule
from openclawbench.tables.lookup_join import lookup_join
from openclawbench.tables.regex_pool import MOST, collect_in_pool

KEY = ["enveloped", "returns_content", "only_looks"]  # the text, and whose it may be
SAID = {"said_rule": pl.String, "said_status": pl.String, "said_code": pl.Int64}


def with_envelopes(rows: pl.DataFrame, rules: DescribeRules) -> pl.DataFrame:
    """The steps with said_rule (of the first envelope that is in the text), said_status, said_code (an exit code).

    Null where no envelope is there, and for results with a field of their own that says how the call ended. `rows` has
    the columns of Step, event_type, details_exit_code, exit_code, which takes in said_code, spoken and returns_content.
    """
    texts = rows.select(key_columns(rules)).filter(pl.col("enveloped").is_not_null()).unique(maintain_order=True)
    if texts.is_empty():
        return rows.with_columns(pl.lit(None, kind).alias(name) for name, kind in SAID.items())
    hits = [f"hit {rule.id}" for rule in rules.envelopes]
    groups = [rules.envelopes[start : start + MOST] for start in range(0, len(rules.envelopes), MOST)]
    for number, group in enumerate(groups):
        plan = texts.lazy().with_columns_seq(hit(rule) for rule in group)
        texts = collect_in_pool(plan, f"envelopes {number}")
    ends = texts.with_columns(first_hit(rules)).drop(hits).with_columns(statuses_of_codes(rules))
    keyed = lookup_join(rows.with_columns(key_columns(rules)), ends, KEY)
    return keyed.with_columns(pl.coalesce("exit_code", "said_code").alias("exit_code")).drop("enveloped", "only_looks")


def key_columns(rules: DescribeRules) -> list[pl.Expr]:
    """The columns of KEY; no text where a field says how the call ended, or the runner made the result up."""
    unsaid = pl.col("result_is_error").is_null() & pl.col("details_exit_code").is_null()
    answered = pl.col("has_result") & ~pl.col("result_synthetic")
    looks = pl.col("spoken") & pl.col("event_type").is_in(rules.status.report.look_categories)
    return [
        pl.when(unsaid & answered).then("reflection_text").alias("enveloped"),
        pl.col("returns_content").fill_null(False),
        looks.fill_null(False).alias("only_looks"),
    ]


def hit(rule: EnvelopeRule) -> pl.Expr:
    """What a text says by this envelope: its exit code as text, else an empty text; null where it is not there."""
    text = pl.col("enveloped")
    if rule.searched != "everything":
        text = pl.when(pl.col("returns_content")).then(pl.lit("")).otherwise(text)
    if rule.searched == "actions":
        text = pl.when(pl.col("only_looks")).then(pl.lit("")).otherwise(text)
    if rule.status is None:
        return text.str.extract(rule.pattern).alias(f"hit {rule.id}")
    return pl.when(text.str.contains(rule.pattern)).then(pl.lit("")).alias(f"hit {rule.id}")


@memoize
def first_hit(rules: DescribeRules) -> list[pl.Expr]:
    """said_rule, said_status and said_code by the first envelope that is there."""
    there = [(rule, pl.col(f"hit {rule.id}")) for rule in rules.envelopes]
    rule_id = pl.coalesce(*(pl.when(shown.is_not_null()).then(pl.lit(rule.id)) for rule, shown in there))
    text = pl.coalesce(shown for _, shown in there)
    statuses = {rule.id: rule.status for rule in rules.envelopes if rule.status is not None}
    named = rule_id.replace_strict(list(statuses), list(statuses.values()), default=None, return_dtype=pl.String)
    return [
        rule_id.alias("said_rule"),
        named.alias("said_status"),
        text.cast(pl.Int64, strict=False).alias("said_code"),
    ]


@memoize
def statuses_of_codes(rules: DescribeRules) -> pl.Expr:
    """said_status of an envelope with an exit code: ok for 0, else what that code means."""
    status, code = rules.status, pl.col("said_code")
    kinds = {0: status.ok} | {exit_code.code: exit_code.kind for exit_code in rules.exit_codes}
    of_code = code.replace_strict(list(kinds), list(kinds.values()), default=status.error, return_dtype=pl.String)
    return pl.coalesce("said_status", pl.when(code.is_not_null()).then(of_code)).alias("said_status")
