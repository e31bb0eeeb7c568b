"""The agent's own words -> where they say that it is unsure, hedges or lacks something (docs/event_guide.md: flags)."""

import polars as pl

from pipeline.records.base import STEP_KEY
from pipeline.rules.flags import FlagRules, TextRule

EVIDENCE = {"flag": pl.String, "rule_id": pl.String, "field": pl.String, "start": pl.Int64, "end": pl.Int64}


def text_evidence(steps: pl.LazyFrame, rules: FlagRules) -> pl.DataFrame:
    """Every place that fires a text flag: the step's key, flag, rule_id, field, start and end.

    start and end count Unicode code points of that field, [start, end); the first hit of a rule in a sentence counts.
    """
    pieces = own_pieces(steps, rules)
    nothing = pieces.clear().select(*STEP_KEY, **{name: pl.lit(None, kind) for name, kind in EVIDENCE.items()})
    if pieces.is_empty():
        return nothing
    flags = {rule.flag for rule in rules.texts}
    open_to = {flag: not_taken_back(pieces, rules.unless(flag)) for flag in flags}
    found = [hits(open_to[rule.flag], rule) for rule in rules.texts]
    return pl.concat([nothing, *found])


def not_taken_back(pieces: pl.DataFrame, unless: list[str]) -> pl.DataFrame:
    """The pieces in which nothing takes a flag back; one union, so that a pattern is compiled once a shard."""
    if not unless:
        return pieces
    return pieces.filter(~pl.col("piece").str.contains("|".join(f"(?:{one})" for one in unless)))


def own_pieces(steps: pl.LazyFrame, rules: FlagRules) -> pl.DataFrame:
    """Sentences of the agent's own words that some rule's pattern is in: key, field, piece, offset (code points)."""
    anything = "|".join(f"(?:{rule.pattern})" for rule in rules.texts)
    return pl.concat([field_pieces(steps, name, anything, rules) for name in rules.fields])


def field_pieces(steps: pl.LazyFrame, name: str, anything: str, rules: FlagRules) -> pl.DataFrame:
    """Pieces of one field. A reply's text is its own words; a call's text is not."""
    own = pl.col(name).is_not_null() if name != "action_text" else pl.col("action_kind") == "reply"
    texts = (
        steps.filter(own).select(*STEP_KEY, text=pl.col(name)).filter(pl.col("text").str.contains(anything)).collect()
    )
    return (
        texts.with_columns(piece=pl.col("text").str.extract_all(rules.pieces))
        .drop("text")
        .explode("piece", empty_as_null=True)
        .with_columns(length=pl.col("piece").str.len_chars().cast(pl.Int64))
        .with_columns(offset=pl.col("length").cum_sum().over(STEP_KEY) - pl.col("length"))
        .filter(~pl.col("piece").str.contains(rules.not_own) & pl.col("piece").str.contains(anything))
        .select(*STEP_KEY, pl.lit(name).alias("field"), "piece", "offset")
    )


def hits(pieces: pl.DataFrame, rule: TextRule) -> pl.DataFrame:
    """Where one rule fires. Byte offsets of `find` are turned into code points."""
    found = pieces.with_columns(hit=pl.col("piece").str.extract(rule.pattern, 0)).filter(pl.col("hit").is_not_null())
    if found.is_empty():
        start = pl.col("offset")
    else:
        before = pl.col("piece").cast(pl.Binary).bin.slice(0, pl.col("piece").str.find(rule.pattern)).cast(pl.String)
        start = pl.col("offset") + before.str.len_chars().cast(pl.Int64)
    return found.select(
        *STEP_KEY,
        flag=pl.lit(rule.flag),
        rule_id=pl.lit(rule.id),
        field="field",
        start=start,
        end=start + pl.col("hit").str.len_chars().cast(pl.Int64),
    )
