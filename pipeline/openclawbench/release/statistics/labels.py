"""Tables of the anomalous records: subtype mass (paper T1, section 4), severity and recoverability."""

from collections.abc import Iterator
from functools import partial
from typing import get_args

import polars as pl

from openclawbench.records.tiers import ACCEPTED, BASELINE, main_status
from openclawbench.records.vocabulary import Recoverability, Severity, Subtype
from openclawbench.release.files.names import SUMMARY
from openclawbench.release.settings import StatisticsSettings
from openclawbench.release.statistics import pictures
from openclawbench.release.statistics.consistency import Identity
from openclawbench.release.statistics.corpus import ANOMALOUS, RECORDS, Corpus, number_of
from openclawbench.release.statistics.declaration import Figures, same, statistic, sum_of
from openclawbench.reports.counting import by_model, share, with_models
from openclawbench.reports.measures import proportion
from openclawbench.reports.section import BY_MODEL, Row, Section

NOT_GIVEN = "not_given"


def interval_words(settings: StatisticsSettings) -> str:
    """The sentence on the intervals of a section."""
    kind = {"wilson": "Wilson's score intervals", "exact": "exact intervals (Clopper and Pearson)"}[settings.interval]
    return (
        f"Intervals are {kind} of {100 * settings.confidence:g} %. They take trajectories for independent draws, which "
        "several of one task are not, and they say nothing about wrong labels."
    )


def positives_identity(figures: Figures, table: str, counted: int) -> Identity:
    """A table of the anomalous records of one label_status counts as many as the summary."""
    totals = figures.summary["totals"]
    status = main_status(name for name in (ACCEPTED, BASELINE) if totals[name])
    return same(f"{status} anomalous records", {SUMMARY: totals[f"anomalous_{status}"], table: counted})


def subtypes_identities(figures: Figures) -> Iterator[Identity]:
    """The rows divide the anomalous records."""
    counted = sum(row["trajectories"] for row in figures.tables["subtypes"])
    yield positives_identity(figures, "subtypes", counted)


@statistic(reads=["anomaly_type_l2"], identities=subtypes_identities, about_labels=True)
def subtypes(corpus: Corpus, settings: StatisticsSettings) -> Section:
    """Mass of each of the five subtypes among the anomalous records of one label_status."""
    positives, anomalous = corpus.positives, number_of(corpus.positives)
    of_subtype = by_model(positives.lazy(), ["anomaly_type_l2"], "trajectories", RECORDS)
    counted = {row["anomaly_type_l2"]: row for row in of_subtype}
    names = [*get_args(Subtype), *sorted(name for name in counted if name and name not in get_args(Subtype))]
    rows = with_models(
        [counted.get(name, {"trajectories": 0, BY_MODEL: {}}) | {"anomaly_type_l2": name} for name in names],
        corpus.models,
    )
    rows = [row | mass(row, corpus, anomalous, settings) for row in rows]
    rows.sort(key=lambda row: -row["trajectories"])
    return Section(
        name="subtypes",
        title="Subtype mass (T1)",
        about=f"{corpus.status.capitalize()} anomalous records by subtype, the most frequent first."
        f"{corpus.status_words} {interval_words(settings)}",
        columns={
            "anomaly_type_l2": "subtype",
            "trajectories": f"{corpus.status} anomalous records of this subtype",
            "share": f"`trajectories` of all {corpus.status} anomalous records: its mass",
            "low_share": "lower end of the interval of `share`",
            "high_share": "upper end",
            "with_review": "anomalous records of this subtype in any tier",
            "default_cut_test": f"{corpus.status} rows of it, test side of the default cut: what a score rests on",
            "paper_cut_test": "the same of the paper's cut",
            BY_MODEL: "`trajectories` of that source model",
        },
        rows=rows,
        facts={
            "label_status": corpus.status,
            "anomalous": anomalous,
            "without_a_subtype": number_of(positives.filter(pl.col("anomaly_type_l2").is_null())),
            "subtypes_without_a_record": sum(row["trajectories"] == 0 for row in rows),
        },
        definitions={
            "label_status": "Of the records that are counted: accepted, or baseline where no record is accepted.",
            "anomalous": "Of them, those whose `is_anomalous` is true: the whole of the shares.",
            "without_a_subtype": "Of these, those without `anomaly_type_l2`.",
            "subtypes_without_a_record": "Subtypes of the closed set that none of them has.",
        },
        plot=partial(pictures.subtypes, rows, corpus.status),
    )


def mass(row: Row, corpus: Corpus, total: int, settings: StatisticsSettings) -> Row:
    """Share, interval and support of one subtype."""
    own = pl.col("anomaly_type_l2") == row["anomaly_type_l2"]
    tested = corpus.labels.filter(own & (pl.col("label_status") == corpus.status) & (pl.col("side") == "test"))
    interval = proportion(row["trajectories"], total, settings.confidence, settings.interval)
    return {
        "share": interval.value,
        "low_share": interval.low,
        "high_share": interval.high,
        "with_review": number_of(corpus.records.filter(ANOMALOUS & own)),
        "default_cut_test": number_of(tested.filter(pl.col("cut") == "default_cut")),
        "paper_cut_test": number_of(tested.filter(pl.col("cut") == "paper_cut")),
    }


def severity_identities(figures: Figures) -> Iterator[Identity]:
    """The cells of a row add up, and the rows divide the anomalous records."""
    rows = figures.tables["severity"]
    for row in rows:
        cells = {name: count for name, count in row.items() if name not in ("severity", "trajectories", "share")}
        yield sum_of(f"severity, {row['severity']}", cells, row["trajectories"])
    yield positives_identity(figures, "severity", sum(row["trajectories"] for row in rows))


@statistic(reads=["severity", "recoverability"], identities=severity_identities, about_labels=True)
def severity(corpus: Corpus, _settings: StatisticsSettings) -> Section:
    """Severity x recoverability of the anomalous records of one label_status."""
    positives = corpus.positives.with_columns(pl.col("severity", "recoverability").fill_null(NOT_GIVEN))
    sums = positives.group_by("severity", "recoverability").agg(pl.col(RECORDS).sum())
    counted = {(row[0], row[1]): row[2] for row in sums.rows()}
    columns = [*get_args(Recoverability), NOT_GIVEN]
    rows: list[Row] = []
    for name in (*get_args(Severity), NOT_GIVEN):
        cells = {column: counted.get((name, column), 0) for column in columns}
        total = sum(cells.values())
        rows.append({"severity": name, **cells, "trajectories": total, "share": share(total, number_of(positives))})
    return Section(
        name="severity",
        title="Severity and recoverability (T27)",
        about=f"{corpus.status.capitalize()} anomalous records, by how bad the anomaly is and whether it could have "
        f"been recovered from.{corpus.status_words}",
        columns={
            "severity": "severity; `not_given` where B2 gave none",
            "recoverable": "of these, recoverable",
            "partially_recoverable": "of these, partially recoverable",
            "unrecoverable": "of these, unrecoverable",
            NOT_GIVEN: "of these, without a recoverability",
            "trajectories": f"{corpus.status} anomalous records of this severity",
            "share": f"`trajectories` of all {corpus.status} anomalous records",
        },
        rows=rows,
        plot=partial(pictures.severity, rows, columns, corpus.status),
    )
