"""Align: one name for one tool across source models (paper T10). Adds columns, changes no text."""

import polars as pl

from openclawbench.base.memoize import memoize
from openclawbench.records.evidence import AlignedDescriptor, AlignedDescriptors, Descriptors
from openclawbench.records.session import Steps
from openclawbench.rules.construct.align import AlignRules
from openclawbench.rules.loading.tool_names import plain_name, spelled
from openclawbench.runtime.stage import stage
from openclawbench.tables.collect import collect_unoptimized
from openclawbench.tables.lookup_join import lookup_join
from openclawbench.tables.record import STEP_KEY


@stage(scope="shard")
def align(descriptors: Descriptors, steps: Steps, rules: AlignRules) -> AlignedDescriptors:
    """Descriptors with the aligned tool_name beside tool_name_raw (as the session wrote it), in the same order.

    An exact alias wins; else the fuzzy rules, if all that match agree; else the name stays. event_type changes only
    where it was `other` and the alias names a category; the former ones are previous_tool_name and
    previous_event_type. Fuzzy rules that disagree are `ambiguous`, left unresolved for review, and all named in
    alignment_rule.
    """
    raw = collect_unoptimized(steps.select(*STEP_KEY, "tool_name_raw", "action_kind"))
    descriptor_rows = lookup_join(descriptors.collect(), raw, STEP_KEY)
    frame = lookup_join(
        descriptor_rows, by_name(descriptor_rows.select("tool_name").unique(), rules), ["tool_name"]
    ).lazy()
    frame = frame.with_columns(as_shell(rules))
    for columns in alignment_columns(rules):
        frame = frame.with_columns(columns)
    return frame.select(list(AlignedDescriptor.model_fields))


@memoize
def as_shell(rules: AlignRules) -> list[pl.Expr]:
    """A call of an unknown name whose command was read is a shell call: the server of `shell__run` names a shell."""
    nameless = pl.col("alias").is_null() & pl.col("fuzzy_id").is_null() & (pl.col("command_parts").list.len() > 0)
    shell = rules.shell_rule
    values = {"fuzzy_id": shell.id, "fuzzy_tool": shell.tool, "fuzzy_type": shell.event_type}
    return [pl.when(nameless).then(pl.lit(value)).otherwise(name).alias(name) for name, value in values.items()]


def by_name(names: pl.DataFrame, rules: AlignRules) -> pl.DataFrame:
    """What the rules say of each distinct name, whatever its spelling.

    alias (id), alias_tool, alias_type: of the exact alias; fuzzy: ids of the rules that match, joined by blanks;
    fuzzy_id, fuzzy_tool, fuzzy_type: of the first of them; unclear: they name several tools.
    """
    hits, alignment = of_names(rules)
    raw = names["tool_name"].to_list()
    spellings = {"name": [name and spelled(name) for name in raw], "key": [name and plain_name(name) for name in raw]}
    aligned_names = names.with_columns(pl.Series(column, matched, pl.String) for column, matched in spellings.items())
    return collect_unoptimized(aligned_names.lazy().with_columns(hits).with_columns(alignment).drop("hits", *spellings))


@memoize
def of_names(rules: AlignRules) -> tuple[list[pl.Expr], list[pl.Expr]]:
    """The columns of by_name, and first `hits`, the numbers of the fuzzy rules that match, which some are made of."""
    hits = pl.concat_list(
        pl.when(pl.col("name").str.contains(rule.pattern)).then(pl.lit(place)) for place, rule in enumerate(rules.fuzzy)
    ).list.drop_nulls()
    places = list(range(len(rules.fuzzy)))

    def of_exact(value: str) -> pl.Expr:
        return pl.col("key").replace_strict(*exact(rules, value), default=None, return_dtype=pl.String)

    def of_fuzzy(value: str) -> pl.Expr:
        values = [getattr(rule, value) for rule in rules.fuzzy]
        return pl.col("hits").list.eval(pl.element().replace_strict(places, values, return_dtype=pl.String))

    return [hits.alias("hits")], [
        of_exact("id").alias("alias"),
        of_exact("tool").alias("alias_tool"),
        of_exact("event_type").alias("alias_type"),
        of_fuzzy("id").list.join(" ").alias("fuzzy"),
        of_fuzzy("id").list.first().alias("fuzzy_id"),
        of_fuzzy("tool").list.first().alias("fuzzy_tool"),
        of_fuzzy("event_type").list.first().alias("fuzzy_type"),
        (of_fuzzy("tool").list.n_unique() > 1).alias("unclear"),
    ]


def exact(rules: AlignRules, value: str) -> tuple[list[str], list[str | None]]:
    """Plain names of the exact aliases and, beside them, one value of each alias."""
    pairs: dict[str, str | None] = {}
    for alias in rules.exact:
        for name in alias.names:
            pairs[plain_name(name)] = name if value == "tool" and alias.tool is None else getattr(alias, value)
    return list(pairs), list(pairs.values())


@memoize
def alignment_columns(rules: AlignRules) -> list[list[pl.Expr]]:
    """Case, rule, aligned name and category of each step, each group made of those before it."""
    case = (
        pl.when(pl.col("action_kind") == "reply")
        .then(pl.lit(rules.reply_case))
        .when(pl.col("alias").is_not_null())
        .then(pl.lit(rules.exact_case))
        .when(pl.col("unclear"))
        .then(pl.lit(rules.ambiguous_case))
        .when(pl.col("fuzzy_id").is_not_null())
        .then(pl.lit(rules.fuzzy_case))
        .otherwise(pl.lit(rules.kept_case))
    )
    is_exact, is_fuzzy = (pl.col("alignment_case") == case for case in (rules.exact_case, rules.fuzzy_case))
    is_ambiguous = pl.col("alignment_case") == rules.ambiguous_case
    category = pl.when(is_exact).then("alias_type").when(is_fuzzy).then("fuzzy_type")
    event_type = pl.when(pl.col("event_type") == rules.other).then(pl.coalesce(category, "event_type"))
    rule = pl.when(is_exact).then("alias").when(is_fuzzy).then("fuzzy_id").when(is_ambiguous).then("fuzzy")
    name = pl.when(is_exact).then("alias_tool").when(is_fuzzy).then("fuzzy_tool").otherwise("tool_name")
    return [
        [
            case.alias("alignment_case"),
            pl.col("event_type").alias("previous_event_type"),
            pl.col("tool_name").alias("previous_tool_name"),
        ],
        [
            rule.alias("alignment_rule"),
            name.alias("tool_name"),
            event_type.otherwise("event_type").alias("event_type"),
        ],
    ]
