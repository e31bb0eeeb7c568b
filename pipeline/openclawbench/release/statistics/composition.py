"""Composition of the corpus: source models (paper T4), partitions (T5), calibration pool (T6), quality tiers (T31)."""

from collections.abc import Iterator
from functools import partial

import polars as pl

from openclawbench.records.tiers import ACCEPTED, BASELINE, BASELINE_TIER, TIERS, UNJUDGED
from openclawbench.release.files.names import SUMMARY
from openclawbench.release.labels.places import CUTS, SIDES
from openclawbench.release.settings import StatisticsSettings
from openclawbench.release.statistics import pictures
from openclawbench.release.statistics.consistency import Identity
from openclawbench.release.statistics.corpus import ANOMALOUS, RECORDS, Corpus, number_of
from openclawbench.release.statistics.declaration import Figures, same, statistic, total_row
from openclawbench.reports.counting import by_model, share, with_models
from openclawbench.reports.evidence.slices import PASSING_SLICES
from openclawbench.reports.section import BY_MODEL, Row, Section

TOTAL = "Total"


def trajectories_identity(figures: Figures, table: str) -> Identity:
    """The last row of a table counts as many trajectories as the summary."""
    counted = figures.tables[table][-1]["trajectories"]
    return same("trajectories", {SUMMARY: figures.summary["totals"]["trajectories"], table: counted})


def source_models_identities(figures: Figures) -> Iterator[Identity]:
    """The last row is the sum of the others, and the corpus."""
    yield from total_row(figures, "source_models", "source_model", ["trajectories", "steps", "calibration"])
    yield trajectories_identity(figures, "source_models")


@statistic(reads=["num_steps"], identities=source_models_identities)
def source_models(corpus: Corpus, _settings: StatisticsSettings) -> Section:
    """T4: one row per source model, and the total."""
    rows = [model_row(corpus, model) for model in corpus.models]
    trajectories = number_of(corpus.records)
    total: Row = {
        name: sum(row[name] for row in rows) for name in MODEL_COLUMNS if name not in ("source_model", "share")
    }
    rows.append({"source_model": TOTAL, **total})
    for row in rows:
        row["share"] = share(row["trajectories"], trajectories)
    return Section(
        name="source_models",
        title="Corpus composition by source model (T4)",
        about="Every trajectory of the release, by the model that was the agent. Sides of the cuts count every row of "
        "their label files, rows that need review too.",
        columns=MODEL_COLUMNS,
        rows=[{name: row[name] for name in MODEL_COLUMNS} for row in rows],
    )


MODEL_COLUMNS = {
    "source_model": "the model that was the agent",
    "trajectories": "records of its master table",
    "share": "`trajectories` of all of the corpus",
    "steps": "steps of these trajectories",
    "calibration": "its records in the calibration pool",
    **{
        f"{cut}_{side}": f"its rows in `{folder}silver_{side}_labels`" for cut, folder in CUTS.items() for side in SIDES
    },
}


def model_row(corpus: Corpus, model: str) -> Row:
    """Counts of one source model."""
    own = pl.col("source_model") == model
    records, labels = corpus.records.filter(own), corpus.labels.filter(own)
    return {
        "source_model": model,
        "trajectories": number_of(records),
        "steps": int((records["num_steps"] * records[RECORDS]).sum()),
        "calibration": corpus.pool.filter(own).height,
        **{
            f"{cut}_{side}": number_of(labels.filter(pl.col("cut") == cut, pl.col("side") == side))
            for cut in CUTS
            for side in SIDES
        },
    }


def partitions_identities(figures: Figures) -> Iterator[Identity]:
    """The corpus is the one that the summary counts."""
    sizes = {row["partition"]: row["size"] for row in figures.tables["partitions"]}
    trajectories = figures.summary["totals"]["trajectories"]
    yield same("trajectories", {SUMMARY: trajectories, "partitions": sizes["corpus"]})


@statistic(identities=partitions_identities)
def partitions(corpus: Corpus, settings: StatisticsSettings) -> Section:
    """T5: corpus, tiers, the accepted rows of the label files, the pool."""
    tiers = corpus.records["quality_tier"]
    of_tier = {tier: number_of(corpus.records.filter(pl.col("quality_tier") == tier)) for tier in TIERS}
    sizes = {"corpus": number_of(corpus.records), **of_tier}
    if corpus.is_unjudged:
        sizes = {name: size for name, size in sizes.items() if size}
        sizes[UNJUDGED] = number_of(corpus.records.filter(pl.col("quality_tier").is_null()))
    statuses = (ACCEPTED, BASELINE) if (tiers == BASELINE_TIER).any() else (ACCEPTED,)
    for status in () if corpus.is_unjudged else statuses:
        rows = corpus.labels.filter(pl.col("label_status") == status)
        for cut in CUTS:
            for side in SIDES:
                name = f"{cut}_{side}" if status == ACCEPTED else f"{cut}_{side}_{status}"
                sizes[name] = number_of(rows.filter(pl.col("cut") == cut, pl.col("side") == side))
    sizes["calibration_pool"] = corpus.pool.height
    if corpus.both_sure is not None:
        sizes["both_high_confidence"] = corpus.both_sure
    return Section(
        name="partitions",
        title="Available partitions (T5)",
        about="What of the corpus is for what. The tiers divide the corpus; each cut divides most of the accepted "
        "records anew, and most of the baseline ones, so the other rows overlap with them.",
        columns={
            "partition": "`corpus`, a tier, the accepted (or baseline) rows of a label file, or a file of the release",
            "size": "records",
            "share": "`size` of the corpus",
            "default_use": "what it is for",
        },
        rows=[
            {
                "partition": name,
                "size": size,
                "share": share(size, sizes["corpus"]),
                "default_use": settings.default_use.get(name, ""),
            }
            for name, size in sizes.items()
        ],
        prose=frozenset({"default_use"}),
    )


def calibration_pool_identities(figures: Figures) -> Iterator[Identity]:
    """The last row is the sum of the others, and the pool as other tables have it."""
    yield from total_row(figures, "calibration_pool", "slice_label", ["count"])
    sizes = {row["partition"]: row["size"] for row in figures.tables["partitions"]}
    places = {
        "calibration_pool": figures.tables["calibration_pool"][-1]["count"],
        "source_models": figures.tables["source_models"][-1]["calibration"],
        "partitions": sizes["calibration_pool"],
    }
    yield same("calibration pool", places)


@statistic(identities=calibration_pool_identities, about_labels=True)
def calibration_pool(corpus: Corpus, _settings: StatisticsSettings) -> Section:
    """T6: the pool by slice."""
    counted = {row["slice_label"]: row for row in by_model(corpus.pool.lazy(), ["slice_label"], "count")}
    rows = with_models(
        [counted.get(name, {"count": 0, BY_MODEL: {}}) | {"slice_label": name} for name in PASSING_SLICES],
        corpus.models,
    )
    sums = {model: sum(row[BY_MODEL][model] for row in rows) for model in corpus.models}
    rows.append({"slice_label": TOTAL, "count": corpus.pool.height, BY_MODEL: sums})
    columns = {
        "slice_label": "slice (T13)",
        "count": "records of the pool",
        "share": "`count` of the pool",
        BY_MODEL: "`count` of that source model",
    }
    trajectories = corpus.pool.height
    return Section(
        name="calibration_pool",
        title="Calibration pool (T6)",
        about="Records reserved for people: oracle-passing and not in review; `splits.json` has the rule by which they "
        "were taken. The pool is balanced over slices, or what a small corpus gives: no rate of the corpus follows "
        "from it.",
        columns=columns,
        rows=[{**row, "share": share(row["count"], trajectories)} for row in rows],
    )


def quality_tiers_identities(figures: Figures) -> Iterator[Identity]:
    """The last row is the sum of the others, and the corpus."""
    columns = ["trajectories", "anomalous", "normal", "undecided"]
    yield from total_row(figures, "quality_tiers", "quality_tier", columns)
    yield trajectories_identity(figures, "quality_tiers")


@statistic(identities=quality_tiers_identities, about_labels=True)
def quality_tiers(corpus: Corpus, settings: StatisticsSettings) -> Section:
    """T31, with what the tiers' labels are."""
    records = corpus.records.with_columns(pl.col("quality_tier").fill_null(UNJUDGED))
    counted = {row["quality_tier"]: row for row in by_model(records.lazy(), ["quality_tier"], "trajectories", RECORDS)}
    names = [*TIERS, *([UNJUDGED] if UNJUDGED in counted else [])]
    rows = with_models(
        [counted.get(tier, {"trajectories": 0, BY_MODEL: {}}) | {"quality_tier": tier} for tier in names], corpus.models
    )
    rows = [
        row
        | decisions(records.filter(pl.col("quality_tier") == row["quality_tier"]))
        | {"default_use": settings.default_use.get(row["quality_tier"], "")}
        for row in rows
    ]
    sums = {model: sum(row[BY_MODEL][model] for row in rows) for model in corpus.models}
    total: Row = {"quality_tier": TOTAL, "trajectories": number_of(records), "default_use": "", BY_MODEL: sums}
    rows.append(total | decisions(records))
    return Section(
        name="quality_tiers",
        title="Quality tiers (T31)",
        about="Every trajectory is in exactly one tier. A tier says what checks an annotation passed, not that it is "
        "true. `baseline_accepted` holds what the rules judge labelled: its best tier, and no accepted one.",
        columns={
            "quality_tier": "tier (T30); `unjudged` where a record has none, because no judge was asked about it",
            "default_use": "what it is for",
            "trajectories": "records of the tier",
            "share": "`trajectories` of the corpus",
            "anomalous": "those whose `is_anomalous` is true",
            "normal": "those whose `is_anomalous` is false",
            "undecided": "those without a decision",
            BY_MODEL: "`trajectories` of that source model",
        },
        rows=[{**row, "share": share(row["trajectories"], total["trajectories"])} for row in rows],
        prose=frozenset({"default_use"}),
        plot=partial(pictures.tiers, rows[:-1], corpus.models),
    )


def decisions(records: pl.DataFrame) -> Row:
    """How many are anomalous, normal, undecided."""
    undecided = number_of(records.filter(pl.col("is_anomalous").is_null()))
    anomalous = number_of(records.filter(ANOMALOUS))
    return {"anomalous": anomalous, "normal": number_of(records) - undecided - anomalous, "undecided": undecided}
