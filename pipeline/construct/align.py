"""Align: one name for one tool across source models (paper T10). Adds columns, changes no text."""

import polars as pl

from pipeline.records.base import STEP_KEY
from pipeline.records.evidence import AlignedDescriptor, AlignedDescriptors, Descriptors
from pipeline.records.session import Steps
from pipeline.rules.align import AlignRules
from pipeline.stage import stage


@stage(scope="shard")
def align(descriptors: Descriptors, steps: Steps, rules: AlignRules) -> AlignedDescriptors:
    """Descriptors with the aligned tool_name beside tool_name_raw (as the session wrote it), in the same order.

    An exact alias wins; else the fuzzy rules, if all that match agree; else the name stays. event_type changes only
    where it was `other` and the alias names a category; the former ones are previous_tool_name and
    previous_event_type. Fuzzy rules that disagree are `ambiguous`, left unresolved for review, and all named in
    alignment_rule.
    """
    names = pl.col("tool_name").str.to_lowercase()
    raw = steps.select(*STEP_KEY, "tool_name_raw", "action_kind")
    matched = descriptors.join(raw, on=STEP_KEY, how="left", maintain_order="left").with_columns(
        alias=names.replace_strict(*exact(rules, "id"), default=None, return_dtype=pl.String),
        alias_tool=names.replace_strict(*exact(rules, "tool"), default=None, return_dtype=pl.String),
        alias_type=names.replace_strict(*exact(rules, "event_type"), default=None, return_dtype=pl.String),
        fuzzy=pl.concat_list(
            pl.when(names.str.contains(rule.pattern)).then(pl.lit(place)) for place, rule in enumerate(rules.fuzzy)
        ).list.drop_nulls(),
    )
    return decided(matched, rules).select(list(AlignedDescriptor.model_fields))


def exact(rules: AlignRules, value: str) -> tuple[list[str], list[str | None]]:
    """Names of the exact aliases and, beside them, one value of each alias."""
    pairs: dict[str, str | None] = {}
    for alias in rules.exact:
        for name in alias.names:
            pairs[name] = name if value == "tool" and alias.tool is None else getattr(alias, value)
    return list(pairs), list(pairs.values())


def decided(matched: pl.LazyFrame, rules: AlignRules) -> pl.LazyFrame:
    """Case, rule, aligned name and category of each step."""
    places = list(range(len(rules.fuzzy)))
    tools = pl.col("fuzzy").list.eval(
        pl.element().replace_strict(places, [rule.tool for rule in rules.fuzzy], return_dtype=pl.String)
    )
    first = pl.col("fuzzy").list.first()
    fuzzy_id, fuzzy_tool, fuzzy_type = (
        first.replace_strict(
            places, [getattr(rule, name) for rule in rules.fuzzy], default=None, return_dtype=pl.String
        )
        for name in ("id", "tool", "event_type")
    )
    case = (
        pl.when(pl.col("action_kind") == "reply")
        .then(pl.lit(rules.reply_case))
        .when(pl.col("alias").is_not_null())
        .then(pl.lit(rules.exact_case))
        .when(tools.list.n_unique() > 1)
        .then(pl.lit(rules.ambiguous_case))
        .when(first.is_not_null())
        .then(pl.lit(rules.fuzzy_case))
        .otherwise(pl.lit(rules.kept_case))
    )
    frame = matched.with_columns(
        alignment_case=case, previous_event_type=pl.col("event_type"), previous_tool_name=pl.col("tool_name")
    )
    is_exact, is_fuzzy = pl.col("alignment_case") == rules.exact_case, pl.col("alignment_case") == rules.fuzzy_case
    several = pl.col("fuzzy").list.eval(
        pl.element().replace_strict(places, [rule.id for rule in rules.fuzzy], return_dtype=pl.String)
    )
    category = pl.when(is_exact).then("alias_type").when(is_fuzzy).then(fuzzy_type)
    was_other = pl.col("event_type") == rules.other
    return frame.with_columns(
        alignment_rule=pl.when(is_exact)
        .then("alias")
        .when(is_fuzzy)
        .then(fuzzy_id)
        .when(pl.col("alignment_case") == rules.ambiguous_case)
        .then(several.list.join(" ")),
        tool_name=pl.when(is_exact).then("alias_tool").when(is_fuzzy).then(fuzzy_tool).otherwise("tool_name"),
        event_type=pl.when(was_other).then(pl.coalesce(category, "event_type")).otherwise("event_type"),
    )
