"""Context of the labels: event categories (paper T9) and risk slices (T13, T14), as the evidence report has them, but
counted from the released records."""

import tomllib
from dataclasses import replace
from typing import Any

import polars as pl

from openclawbench.release.settings import Statistics
from openclawbench.release.statistics.corpus import Corpus
from openclawbench.reports.evidence.inventory import inventory_of
from openclawbench.reports.evidence.languages import languages_of
from openclawbench.reports.evidence.slices import NO_OUTCOME, slices_of
from openclawbench.reports.section import BY_MODEL, Row, Section
from openclawbench.reports.settings import EvidenceReportRules


def paper_words() -> EvidenceReportRules:
    """The paper's definitions, as shipped: a release is read alike whatever rules are in force where it is read."""
    path = EvidenceReportRules.FOLDER / EvidenceReportRules.FILE
    return EvidenceReportRules.checked(tomllib.loads(path.read_text(encoding="utf-8")), path)


def event_categories(corpus: Corpus) -> Section:
    """T9: every category of the closed set."""
    rows = summed(corpus, "event_type_counts", "event_type")
    return replace(inventory_of(rows, corpus.models, paper_words()), name="event_categories")


def language_coverage(corpus: Corpus) -> Section:
    """Steps by what is known of the language of the agent's own words."""
    return languages_of(summed(corpus, "language_counts", "coverage"), corpus.models)


def summed(corpus: Corpus, column: str, key: str) -> list[Row]:
    """Rows {key, steps, by_model}: of a column of numbers by name, each name that is not 0 everywhere."""
    counts = (
        corpus.records.select("source_model", column)
        .unnest(column)
        .group_by("source_model", maintain_order=True)
        .sum()
        .rows(named=True)
    )
    by_name: dict[str, dict[str, int]] = {}
    for row in counts:
        for name, steps in row.items():
            if name != "source_model" and steps:
                by_name.setdefault(name, {})[row["source_model"]] = steps
    return [{key: name, "steps": sum(by_name[name].values()), BY_MODEL: by_name[name]} for name in by_name]


def risk_slices(corpus: Corpus, rules: Statistics) -> Section:
    """T14 beside T13: counts, the scores that occur, and what a slice is for."""
    found = slices_of(corpus.records.lazy(), paper_words())
    scores: dict[str, list[Any]] = {
        name: scored
        for name, *scored in corpus.records.group_by(pl.col("slice_label").fill_null(NO_OUTCOME))
        .agg(low=pl.col("risk_score").min(), high=pl.col("risk_score").max())
        .rows()
    }
    columns = {
        "slice_label": "oracle outcome and risk bucket (T13)",
        "default_use": "what the slice is for (T13)",
        "lowest_risk_score": "smallest risk_score of a record in it",
        "highest_risk_score": "largest risk_score of a record in it",
    }
    return replace(
        found,
        title="Outcome-aware risk slices (T13, T14)",
        columns=columns | {name: text for name, text in found.columns.items() if name != "slice_label"},
        rows=[
            row
            | {"default_use": rules.default_use.get(row["slice_label"], "")}
            | dict(zip(list(columns)[2:], scores.get(row["slice_label"], (None, None)), strict=True))
            for row in found.rows
        ],
        prose=frozenset({"default_use"}),
    )
