"""Languages: in how many steps the words can be read from whose absence something is concluded."""

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
    "covered": "all of the agent's own words in the step are in languages that have word lists (rules/language.toml)",
    "uncovered": "some are in a language without word lists",
    "unsure": "of some nobody knows the language: they are short, or a mixture",
    "no_words": "there are none, or they hold no words",
}


def languages(tables: Tables, _rules: EvidenceReportRules) -> Section:
    """One row a kind of coverage: its steps."""
    steps = tables(AlignedDescriptor).select("source_model", coverage=step_coverage())
    return languages_of(by_model(steps, ["coverage"]), all_models(tables))


def step_coverage() -> pl.Expr:
    """What is known of the language of a step's own words; of several texts, the first of LanguageCounts that fits."""
    told = pl.col("languages").list.eval(pl.element().struct.field("coverage"))
    kind = pl.lit("no_words")
    for name in reversed([name for name in LanguageCounts.model_fields if name != "no_words"]):
        kind = pl.when(told.list.contains(name)).then(pl.lit(name)).otherwise(kind)
    return kind


def languages_of(counts: list[Row], models: list[str]) -> Section:
    """The section, of rows {coverage, steps, by_model}, wherever they were counted."""
    counted = {row["coverage"]: row for row in counts}
    total = sum(row["steps"] for row in counted.values())
    rows = with_models(
        [counted.get(name, {"coverage": name, "steps": 0, BY_MODEL: {}}) for name in get_args(LanguageCoverage)], models
    )
    return Section(
        name="languages",
        title="Steps by language coverage",
        about="Steps by what is known of the language of the agent's own words in them: thinking, narration, replies. "
        "Only in a covered language can be told what is not said; in another one text flags do not fire.",
        columns={
            "coverage": "covered, uncovered, unsure or no_words",
            "meaning": "what that is",
            "steps": "steps of this kind",
            "share": "`steps` of all steps of the corpus",
            BY_MODEL: "`steps` of that source model alone",
        },
        rows=[row | {"meaning": MEANING[row["coverage"]], "share": share(row["steps"], total)} for row in rows],
        prose=frozenset({"meaning"}),
    )


def texts_by_language(tables: Tables, _rules: EvidenceReportRules) -> Section:
    """One row a language: texts in it."""
    texts = tables(AlignedDescriptor).select(*STEP_KEY, "languages").explode("languages").drop_nulls("languages")
    told = texts.unnest("languages").filter(pl.col("coverage") != "no_words")
    rows = with_models(by_model(told, ["language", "coverage"], "texts"), all_models(tables))
    total = sum(row["texts"] for row in rows)
    return Section(
        name="texts_by_language",
        title="Texts by language",
        about="The agent's own texts with words in them, a thinking, a narration or a reply each, by their language.",
        columns={
            "language": "ISO 639 code; null where nobody knows it",
            "coverage": "whether the language has word lists",
            "texts": "texts in it",
            "share": "`texts` of all texts with words",
            BY_MODEL: "`texts` of that source model alone",
        },
        rows=[row | {"share": share(row["texts"], total)} for row in rows],
    )
