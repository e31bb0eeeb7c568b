"""The agent's own words -> where they say that it is unsure, hedges or lacks something (event_guide.md: flags)."""

import polars as pl

from openclawbench.rules.construct.flags import FlagRules, TextRule
from openclawbench.rules.loading.patterns import union
from openclawbench.tables.record import STEP_KEY
from openclawbench.tables.regex_pool import collect_in_pool

GROUPS = {False: "words", True: "rare words"}  # the threads in which rare rules of a language and others stay ready
EVIDENCE = {
    "flag": pl.String,
    "rule_id": pl.String,
    "field": pl.String,
    "start": pl.Int64,
    "end": pl.Int64,
    "cause": pl.String,
}


def text_evidence(texts: pl.DataFrame, rules: FlagRules) -> pl.DataFrame:
    """Every place that fires a text flag: the step's key, flag, rule_id, field, start and end; cause is null.

    `texts`: the agent's own words (language.agent_texts). A text is searched with the rules of its language; with all
    of them if it is not known. start and end count Unicode code points of that field, [start, end); the first hit of
    a rule in a sentence counts.
    """
    nothing = texts.clear().select(*STEP_KEY, **{name: pl.lit(None, kind) for name, kind in EVIDENCE.items()})
    readable = pl.col("coverage") != "no_words"
    evidence_frames = [nothing]
    for language in rules.languages:
        spoken = texts.filter(readable & pl.col("language").fill_null(language).eq(language))
        if not spoken.is_empty():
            evidence_frames += in_language(spoken, language, rules)
    return pl.concat(evidence_frames)


def in_language(texts: pl.DataFrame, language: str, rules: FlagRules) -> list[pl.DataFrame]:
    """text_evidence by the rules of one language."""
    pieces = own_pieces(texts, language, rules)
    if pieces.is_empty():
        return []
    places = first_places(pieces, language, rules)
    searched = (rule for rule in rules.texts if rule.id in places.columns)
    return [hits(pieces, rule, places[rule.id]) for rule in searched if places[rule.id].null_count() < len(pieces)]


def own_pieces(texts: pl.DataFrame, language: str, rules: FlagRules) -> pl.DataFrame:
    """Sentences that some rule's pattern is in: key, field, piece, offset (code points), and whether a rare rule's and
    another's is.

    The texts of all fields are searched together, by columns of their own: polars makes a pattern ready anew for each
    query and thread, which costs as much as searching some hundred kilobytes. Two unions of patterns take less time
    than one, whose automaton outgrows its cache.
    """
    common, rare = (rules.anything(language, rare=is_rare) for is_rare in (False, True))
    either = is_found(common, "text") | is_found(rare, "text")
    spoken = collect_in_pool(texts.lazy().with_columns_seq(said=either), group(language, "sentences")).filter("said")
    cut = spoken.lazy().select_seq(*STEP_KEY, "field", piece=pl.col("text").str.extract_all(rules.pieces))
    lengths = pl.col("piece").list.eval(pl.element().str.len_chars().cast(pl.Int64))
    pieces = collect_in_pool(cut, group(language, "sentences")).with_columns(
        offset=lengths.list.eval(pl.element().cum_sum() - pl.element())
    )
    one_by_one = pieces.lazy().explode("piece", "offset", empty_as_null=True)
    searched = one_by_one.with_columns_seq(
        common=is_found(common, "piece"), rare=is_found(rare, "piece"), other=is_found(rules.not_own, "piece")
    )
    return collect_in_pool(searched, group(language, "sentences")).filter(
        (pl.col("common") | pl.col("rare")) & ~pl.col("other")
    )


def is_found(pattern: str, name: str) -> pl.Expr:
    """Where a pattern is found in a column."""
    return pl.col(name).str.contains(pattern)


def group(language: str, name: str) -> str:
    """The thread in which patterns of a language stay ready."""
    return f"{name} {language}"


def first_places(pieces: pl.DataFrame, language: str, rules: FlagRules) -> pl.DataFrame:
    """One column per rule that was searched: byte offset of its first hit in a piece; None if the rule has no hit, or
    where something in the piece takes its flag or the rule back. Rare rules have a thread of their own: with the others
    they would be more patterns than stay ready."""
    wanted = [rare for rare, column in ((False, "common"), (True, "rare")) if pieces[column].any()]
    return pl.concat([places_of(pieces, language, rules, rare) for rare in wanted], how="horizontal")


def places_of(pieces: pl.DataFrame, language: str, rules: FlagRules, rare: bool) -> pl.DataFrame:
    """The columns of first_places of the rare rules, or of the others."""
    piece = pl.col("piece")
    texts = rules.of(language, rare=rare)
    flags = sorted({rule.flag for rule in texts})
    back = (piece.str.contains(union(rules.unless(flag, language))).alias(flag) for flag in flags)
    places = (pl.when(~pl.col(rule.flag)).then(piece.str.find(rule.pattern)).alias(rule.id) for rule in texts)
    fired = collect_in_pool(
        pieces.lazy().select_seq("piece", *back).select_seq("piece", *places), group(language, GROUPS[rare])
    )
    corrected = (final_hits(rule, fired) for rule in texts if rule.unless)
    return fired.with_columns(*corrected).drop("piece")


def final_hits(rule: TextRule, hits: pl.DataFrame) -> pl.Series:
    """Places where a rule fires and none of its exceptions matches. Only pieces in which it fires are searched."""
    place = hits[rule.id]
    if place.null_count() == len(hits):
        return place
    fires = place.is_not_null()
    back = hits["piece"].filter(fires).str.contains(union(rule.unless))
    return place.scatter(fires.arg_true().filter(back), None)


def hits(pieces: pl.DataFrame, rule: TextRule, places: pl.Series) -> pl.DataFrame:
    """Where one rule fires. Byte offsets are turned into code points."""
    piece = pl.col("piece")
    before = piece.cast(pl.Binary).bin.slice(0, pl.col("place")).cast(pl.String)
    start = pl.col("offset") + before.str.len_chars().cast(pl.Int64)
    placed = pieces.with_columns(place=places).filter(pl.col("place").is_not_null())
    quoted = before.str.count_matches('["`]') % 2 == 1  # within a quoted name, which is not the agent's word
    evidence = (
        placed.lazy()
        .filter(~quoted)
        .select_seq(
            *STEP_KEY,
            flag=pl.lit(rule.flag),
            rule_id=pl.lit(rule.id),
            field="field",
            start=start,
            end=start + piece.str.extract(rule.pattern, 0).str.len_chars().cast(pl.Int64),
            cause=pl.lit(None, pl.String),
        )
    )
    return collect_in_pool(evidence, group(rule.language, GROUPS[rule.rare]))
