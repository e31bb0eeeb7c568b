"""The agent's own texts (thinking, narration, replies), and the language of each.

The language follows from the script, from words that occur in nearly every sentence, and from letters that only some
languages have.
"""

from collections.abc import Sequence

import polars as pl

from openclawbench.base.memoize import memoize
from openclawbench.records.evidence import FieldLanguage
from openclawbench.rules.construct.language import LanguageRules, Script
from openclawbench.tables.lookup_join import lookup_join
from openclawbench.tables.record import STEP_KEY


def agent_texts(steps: pl.DataFrame, fields: Sequence[str], rules: LanguageRules) -> pl.DataFrame:
    """The step's key, field, text, language and coverage, field after field, in the order of the steps."""
    texts = pl.concat([field_texts(steps, name) for name in fields])
    return lookup_join(texts, detect_languages(texts["text"], rules), ["text"])


def field_texts(steps: pl.DataFrame, name: str) -> pl.DataFrame:
    """The texts of one field. A reply's text is its own words; a call's text is not."""
    own = pl.col(name) if name != "action_text" else pl.when(action_kind="reply").then(name)
    return steps.select(*STEP_KEY, field=pl.lit(name), text=own).drop_nulls("text")


def step_languages(texts: pl.DataFrame) -> pl.DataFrame:
    """The step's key and languages, a list of FieldLanguage; a step without own words is not in it."""
    fields = pl.struct(list(FieldLanguage.model_fields))
    return texts.group_by(STEP_KEY, maintain_order=True).agg(languages=fields)


def detect_languages(texts: pl.Series, rules: LanguageRules) -> pl.DataFrame:
    """One row per distinct text: text, language (null if it is not known), coverage.

    covered: in a language that has words in the rules; uncovered: in another one; unsure: too short, or a mixture;
    no_words: nothing in the text is in any language, so that there is nothing that could be read.
    """
    distinct = texts.drop_nulls().unique(maintain_order=True).rename("text")
    numbered = pl.DataFrame({"text": distinct, "place": pl.int_range(distinct.len(), eager=True)})
    words = words_of(numbered, rules)
    points = points_of(words, rules)
    return numbered.select("text").hstack(decide_language(points, numbered.height, rules))


def words_of(texts: pl.DataFrame, rules: LanguageRules) -> pl.DataFrame:
    """word, places: words in lower case, with the place of the text of each occurrence; a word may have several rows.

    No word has a blank in it, and few texts have words of their own: what stands between blanks is searched for words
    once, wherever it stands."""
    text = pl.col("text")
    long = text.str.len_chars() > rules.beginning + rules.end
    ends = pl.concat_str(text.str.head(rules.beginning), pl.lit("\n"), text.str.tail(rules.end))
    plain = pl.when(long).then(ends).otherwise(text).str.replace_all(rules.left_out_pattern, " ")
    pieces = texts.lazy().select("place", piece=plain.str.replace_all("\n", " ", literal=True).str.split(" "))
    distinct = pieces.explode("piece", empty_as_null=True).group_by("piece").agg(places="place")
    word = pl.col("piece").str.to_lowercase().str.extract_all(rules.word)
    return distinct.select("places", word=word).explode("word", empty_as_null=True).drop_nulls("word").collect()


def points_of(words: pl.DataFrame, rules: LanguageRules) -> pl.DataFrame:
    """place, language, points (of a text for a language); and with the language null, what its words could give."""
    distinct = words.select("word").unique()
    named = pl.concat([by_word(distinct, rules), by_hint(distinct, rules)])
    shared = named.with_columns(points=pl.col("worth") // pl.len().over("word"))
    of_words = sum_by_place(words.join(shared, on="word"), "language")
    scripted = by_script(words, rules)
    possible = scripted.select("place", pl.lit(None, pl.String).alias("language"), points="possible")
    of_scripts = scripted.drop_nulls("language").select("place", "language", points="possible")
    return pl.concat([of_words, possible, of_scripts]).group_by("place", "language").agg(pl.col("points").sum())


def sum_by_place(words: pl.DataFrame, column: str) -> pl.DataFrame:
    """place, the column, points: sums over the occurrences of the words. The values of the column are taken one after
    another, because polars groups by a number in a third of the time that it takes for a number and a text."""
    sums = [
        some.select("points", place="places")
        .explode("place", empty_as_null=True)
        .group_by("place")
        .agg(pl.col("points").sum())
        .select("place", pl.lit(value, pl.String).alias(column), "points")
        for (value,), some in words.group_by(column)
    ]
    return pl.concat([pl.DataFrame(schema={"place": pl.Int64, column: pl.String, "points": pl.Int64}), *sums])


@memoize
def word_table(rules: LanguageRules) -> pl.DataFrame:
    """word, language: the words of every language."""
    pairs = [(word, code) for word, codes in rules.known_words().items() for code in codes]
    return pl.DataFrame(pairs, schema={"word": pl.String, "language": pl.String}, orient="row")


def by_word(distinct: pl.DataFrame, rules: LanguageRules) -> pl.DataFrame:
    """word, language, worth: languages that have the word."""
    return distinct.join(word_table(rules), on="word").with_columns(worth=rules.told.points)


def by_hint(distinct: pl.DataFrame, rules: LanguageRules) -> pl.DataFrame:
    """word, language, worth: languages to which a letter or the ending of a word points that no language has."""
    others = distinct.join(word_table(rules), on="word", how="anti")
    frames = [
        others.filter(pl.col("word").str.contains(language.hint_pattern)).with_columns(language=pl.lit(language.code))
        for language in rules.languages
        if language.hint_pattern
    ]
    every = pl.concat([others.clear().with_columns(language=pl.lit(None, pl.String)), *frames])
    return every.with_columns(worth=rules.told.hint_points)


def by_script(words: pl.DataFrame, rules: LanguageRules) -> pl.DataFrame:
    """place, language, possible: by script what its words could give, and the language that it tells."""
    letters = pl.col("word").str.len_chars().cast(pl.Int64)
    name, weight = pl.lit(None, pl.String), pl.lit(0, pl.Int64)
    for script in rules.scripts:
        starts = pl.col("word").str.contains(f"^[{script.letters}]")
        of_letters = (
            rules.told.points * letters // script.letters_per_word if script.language else pl.lit(rules.told.points)
        )
        name = pl.when(starts).then(pl.lit(script.name)).otherwise(name)
        weight = pl.when(starts).then(of_letters).otherwise(weight)
    totals = sum_by_place(words.with_columns(script=name, points=weight), "script").rename({"points": "possible"})
    language = {script.name: script.language for script in rules.scripts}
    named = totals.with_columns(
        language=pl.col("script").replace_strict(language, default=None, return_dtype=pl.String)
    )
    for script in rules.scripts:
        if script.takes_in:
            named = absorbed_scripts(named, script)
    return named


def absorbed_scripts(named: pl.DataFrame, script: Script) -> pl.DataFrame:
    """The letters of another script are of this script's language, where this one has its share of both."""
    own, other = pl.col("script") == script.name, pl.col("script") == script.takes_in
    both = pl.col("possible").filter(own | other).sum().over("place")
    enough = pl.col("possible").filter(own).sum().over("place") >= script.takes_in_from * both
    present = own.any().over("place")
    absorbed = other & present & enough
    return named.with_columns(language=pl.when(absorbed).then(pl.lit(script.language)).otherwise("language"))


def decide_language(points: pl.DataFrame, texts: int, rules: LanguageRules) -> pl.DataFrame:
    """language and coverage of each text, by its place."""
    possible = points.filter(pl.col("language").is_null()).select("place", possible="points")
    ranked = (
        points.drop_nulls("language")
        .sort("place", "points", "language", descending=[False, True, False])
        .group_by("place", maintain_order=True)
        .agg(
            first=pl.col("language").first(),
            most=pl.col("points").first(),
            next=pl.col("points").get(1, null_on_oob=True).fill_null(0),
        )
    )
    every = pl.DataFrame({"place": pl.int_range(texts, eager=True)})
    joined = every.join(possible, on="place", how="left", maintain_order="left").join(
        ranked, on="place", how="left", maintain_order="left"
    )
    clear = (pl.col("most") - pl.col("next")) >= rules.told.lead * pl.col("most")
    enough = (pl.col("most") >= rules.told.least) & (pl.col("most") >= rules.told.least_share * pl.col("possible"))
    language = pl.when(clear & enough).then("first")
    coverage = (
        pl.when(pl.col("possible").is_null())
        .then(pl.lit("no_words"))
        .when(language.is_null())
        .then(pl.lit("unsure"))
        .when(language.is_in(rules.covered))
        .then(pl.lit("covered"))
        .otherwise(pl.lit("uncovered"))
    )
    return joined.select(language=language, coverage=coverage)
