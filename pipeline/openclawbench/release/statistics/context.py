"""Context of the labels: event categories (paper T9) and risk slices (T13, T14), as the evidence report has them, but
counted from the released records."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import polars as pl

from openclawbench.release.files.names import SUMMARY
from openclawbench.release.settings import StatisticsSettings
from openclawbench.release.statistics.composition import trajectories_identity
from openclawbench.release.statistics.consistency import Identity
from openclawbench.release.statistics.corpus import Corpus
from openclawbench.release.statistics.declaration import Figures, same, statistic, sum_of, total_row
from openclawbench.reports.evidence.inventory import inventory_of
from openclawbench.reports.evidence.languages import languages_of
from openclawbench.reports.evidence.slices import NO_OUTCOME, PASSING_SLICES, TOTAL, slices_of
from openclawbench.reports.section import BY_MODEL, Row, Section
from openclawbench.reports.settings import EvidenceReportRules
from openclawbench.rules.loading.own_folder import shipped_path
from openclawbench.rules.loading.rule_file import shipped


def paper_words() -> EvidenceReportRules:
    """The paper's definitions, as shipped: a release is read alike whatever rules are in force where it is read."""
    name = EvidenceReportRules.FILE
    return EvidenceReportRules.checked(shipped(name), shipped_path(name))


def event_categories_identities(figures: Figures) -> Iterator[Identity]:
    """The rows divide the steps, source models divide each row; the summary counts the same."""
    rows, counted = figures.tables["event_categories"], figures.summary.get("event_type", {})
    yield sum_of("event_categories", {row["event_type"]: row["steps"] for row in rows}, all_steps(figures))
    for row in rows:
        where = f"event_categories, {row['event_type']}"
        yield sum_of(where, row[BY_MODEL], row["steps"])
        yield same(where, {SUMMARY: counted.get(row["event_type"], 0), "event_categories": row["steps"]})


def all_steps(figures: Figures) -> int:
    """Steps of the corpus, as the table of source models has them."""
    steps: int = figures.tables["source_models"][-1]["steps"]
    return steps


@statistic(reads=["event_type_counts"], identities=event_categories_identities)
def event_categories(corpus: Corpus, _settings: StatisticsSettings) -> Section:
    """T9: every category of the closed set."""
    rows = summed(corpus, "event_type_counts", "event_type")
    return inventory_of(rows, corpus.models, paper_words())


def languages_identities(figures: Figures) -> Iterator[Identity]:
    """The rows divide the steps, source models divide each row."""
    rows = figures.tables["languages"]
    yield sum_of("languages", {row["coverage"]: row["steps"] for row in rows}, all_steps(figures))
    for row in rows:
        yield sum_of(f"languages, {row['coverage']}", row[BY_MODEL], row["steps"])


@statistic(reads=["language_counts"], identities=languages_identities)
def languages(corpus: Corpus, _settings: StatisticsSettings) -> Section:
    """Steps by what is known of the language of the agent's own words."""
    return languages_of(summed(corpus, "language_counts", "coverage"), corpus.models)


def summed(corpus: Corpus, column: str, key: str) -> list[Row]:
    """Rows {key, steps, by_model}: of a column of SUMMED by name, each name that is not 0 everywhere."""
    by_name: dict[str, dict[str, int]] = {}
    own = corpus.step_counts.filter(pl.col("column") == column, pl.col("steps") > 0)
    for name, model, steps in own.select("name", "source_model", "steps").iter_rows():
        by_name.setdefault(name, {})[model] = steps
    return [{key: name, "steps": sum(by_name[name].values()), BY_MODEL: by_name[name]} for name in by_name]


def slices_identities(figures: Figures) -> Iterator[Identity]:
    """The last row is the sum of the others; the summary and the gap count the same."""
    yield from total_row(figures, "slices", "slice_label", ["trajectories", "failures_only"])
    yield trajectories_identity(figures, "slices")
    counted = figures.summary.get("slice_label", {})
    passing = {row["name"]: row["trajectories"] for row in figures.tables["gap"] if row["scope"] == "slice"}
    for row in figures.tables["slices"]:
        name, trajectories = row["slice_label"], row["trajectories"]
        if name != TOTAL:
            yield same(f"slices, {name}", {SUMMARY: counted.get(name, 0), "slices": trajectories})
        if name in PASSING_SLICES:
            yield same(f"gap, {name}", {"slices": trajectories, "gap": passing[name]})


@statistic(reads=["risk_bucket", "risk_score", "failures_only"], identities=slices_identities)
def slices(corpus: Corpus, settings: StatisticsSettings) -> Section:
    """T14 beside T13: counts, the scores that occur, and what a slice is for."""
    section = slices_of(corpus.records.lazy(), paper_words())
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
        section,
        title="Outcome-aware risk slices (T13, T14)",
        columns=columns | {name: text for name, text in section.columns.items() if name != "slice_label"},
        rows=[
            row
            | {"default_use": settings.default_use.get(row["slice_label"], "")}
            | dict(zip(list(columns)[2:], scores.get(row["slice_label"], (None, None)), strict=True))
            for row in section.rows
        ],
        prose=frozenset({"default_use"}),
    )
