"""Language coverage: in how many steps the rules can read the agent's words."""

from typing import get_args

import polars as pl

from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.packet import LanguageCounts
from openclawbench.records.vocabulary import LanguageCoverage
from openclawbench.reports.counting import all_models, by_model, share, with_models
from openclawbench.reports.section import BY_MODEL, Row, Section, Tables
from openclawbench.reports.settings import EvidenceReportRules
from openclawbench.tables.record import STEP_KEY

MEANING = {
    "covered": "all of the agent's own words in the step are in languages that have word lists (language.toml)",
    "uncovered": "some are in a language without word lists",
    "unsure": "the language of some is unknown: they are short, or mixed",
    "no_words": "the step has no text with words",
}


def languages(tables: Tables, _rules: EvidenceReportRules) -> Section:
    """One row per kind of coverage, with its steps."""
    steps = tables(AlignedDescriptor).select("source_model", coverage=step_coverage())
    return languages_of(by_model(steps, ["coverage"]), all_models(tables))


def step_coverage() -> pl.Expr:
    """Language coverage of a step: with several texts, the first kind of LanguageCounts that any of them has."""
    coverages = pl.col("languages").list.eval(pl.element().struct.field("coverage"))
    kind = pl.lit("no_words")
    for name in reversed([name for name in LanguageCounts.model_fields if name != "no_words"]):
        kind = pl.when(coverages.list.contains(name)).then(pl.lit(name)).otherwise(kind)
    return kind


def languages_of(counts: list[Row], models: list[str]) -> Section:
    """The section, from rows {coverage, steps, by_model}."""
    counted = {row["coverage"]: row for row in counts}
    total = sum(row["steps"] for row in counted.values())
    rows = with_models(
        [counted.get(name, {"coverage": name, "steps": 0, BY_MODEL: {}}) for name in get_args(LanguageCoverage)], models
    )
    return Section(
        name="languages",
        title="Steps by language coverage",
        about="Steps by the language of the agent's own words in them: thinking, narration, replies. Text flags need a "
        "covered language; in other languages they do not fire.",
        columns={
            "coverage": "covered, uncovered, unsure or no_words",
            "meaning": "its meaning",
            "steps": "steps of this kind",
            "share": "`steps` of all steps of the corpus",
            BY_MODEL: "`steps` of that source model alone",
        },
        rows=[row | {"meaning": MEANING[row["coverage"]], "share": share(row["steps"], total)} for row in rows],
        prose=frozenset({"meaning"}),
    )


def texts_by_language(tables: Tables, _rules: EvidenceReportRules) -> Section:
    """One row per language, with its texts."""
    texts = tables(AlignedDescriptor).select(*STEP_KEY, "languages").explode("languages").drop_nulls("languages")
    texts_with_words = texts.unnest("languages").filter(pl.col("coverage") != "no_words")
    rows = with_models(by_model(texts_with_words, ["language", "coverage"], "texts"), all_models(tables))
    total = sum(row["texts"] for row in rows)
    return Section(
        name="texts_by_language",
        title="Texts by language",
        about="The agent's own texts that hold words (thinking, narration, replies), by language.",
        columns={
            "language": "ISO 639 code; a dash if unknown",
            "coverage": "whether the language has word lists",
            "texts": "texts in it",
            "share": "`texts` of all texts with words",
            BY_MODEL: "`texts` of that source model alone",
        },
        rows=[row | {"share": share(row["texts"], total)} for row in rows],
    )
