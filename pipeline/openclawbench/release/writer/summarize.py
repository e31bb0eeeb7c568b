"""Summaries: the counts of dataset_summary.json and of each source model, each defined by one expression."""

from typing import Any

import polars as pl

from openclawbench.records.release import LabelBases, ShardCounts, SummaryCounts
from openclawbench.records.tiers import BY_BASELINE_JUDGE, IS_ACCEPTED, IS_BASELINE, IS_DECIDED, IS_MEASURED, status
from openclawbench.release.baseline_notice import notice_of
from openclawbench.release.files.names import MODEL_SUMMARY, ROOT, SUMMARY
from openclawbench.release.unjudged import NOT_ASKED, UNJUDGED_NOTICE, is_unjudged
from openclawbench.reports.counting import review_bounds, share
from openclawbench.runtime.stage import stage

PASSING = pl.col("oracle_outcome") == "pass"
LABEL = pl.when(pl.col("is_anomalous")).then(pl.lit("anomalous")).when(~pl.col("is_anomalous")).then(pl.lit("normal"))
HIGH = pl.col("slice_label") == "pass_high_risk"

# Of those that pass: those that the gap is measured over, what a judge decided; the accepted of them; what a baseline
# judge decided, which measures nothing. Beside them: all, the measured ones in review, and those without a decision.
GAP_PARTS = {"_measured": IS_MEASURED, "_accepted": IS_ACCEPTED, "_baseline": BY_BASELINE_JUDGE & IS_DECIDED}
GAP_COUNTS = {"": pl.lit(True), "_in_review": IS_MEASURED & ~IS_ACCEPTED, "_undecided": ~IS_DECIDED}
ANOMALOUS_PARTS = {f"{name}_anomalous": part & pl.col("is_anomalous") for name, part in GAP_PARTS.items()}
LISTED = ("repairs", "event_type")  # groups that count members of a record

# group -> (what names a row, which rows count)
GROUPS: dict[str, tuple[pl.Expr, pl.Expr]] = {
    "quality_tier": (pl.col("quality_tier"), pl.col("quality_tier").is_not_null()),
    "label_status": (status(), pl.lit(True)),
    "tier_by_label": (
        pl.col("quality_tier") + "/" + LABEL.otherwise(pl.lit("undecided")),
        pl.col("quality_tier").is_not_null(),
    ),
    "anomaly_type_l2": (pl.col("anomaly_type_l2"), pl.col("anomaly_type_l2").is_not_null() & IS_ACCEPTED),
    "anomaly_type_l2_baseline": (pl.col("anomaly_type_l2"), pl.col("anomaly_type_l2").is_not_null() & IS_BASELINE),
    "absorbed_from": (pl.col("absorbed_from"), pl.col("absorbed_from").is_not_null()),
    "review_cause": (pl.col("review_cause"), pl.col("review_cause").is_not_null()),
    "slice_label": (pl.col("slice_label").fill_null("no_outcome"), pl.lit(True)),
    "risk_bucket": (pl.col("risk_bucket"), pl.lit(True)),
    "oracle_outcome": (pl.col("oracle_outcome").fill_null("no_outcome"), pl.lit(True)),
    "route_label": (pl.col("route_label").fill_null("not_asked"), pl.lit(True)),
    "judge": (pl.col("judge").fill_null(NOT_ASKED), pl.lit(True)),
    "judge_model": (pl.col("judge_model").fill_null(NOT_ASKED), pl.lit(True)),
}
# group -> name -> which rows count
TOTALS: dict[str, dict[str, pl.Expr]] = {
    "totals": {
        "trajectories": pl.lit(True),
        "accepted": IS_ACCEPTED,
        "anomalous_accepted": IS_ACCEPTED & pl.col("is_anomalous"),
        "baseline": IS_BASELINE,
        "anomalous_baseline": IS_BASELINE & pl.col("is_anomalous"),
    },
    "stage_funnel": {
        "asked_a": pl.col("asked_a"),
        "routed_to_b1": pl.col("route_label") == "structured_annotation",
        "asked_b1": pl.col("asked_b1"),
        "asked_b2": pl.col("asked_b2"),
        "asked_c": pl.col("asked_c"),
    },
    "outcome_process_gap": {
        f"{base}{part}": of_base & of_part
        for base, of_base in {"passing": PASSING, "pass_high_risk": HIGH}.items()
        for part, of_part in (GAP_COUNTS | GAP_PARTS | ANOMALOUS_PARTS).items()
    },
}


BOUNDS = ("if_normal_rate", "if_anomalous_rate")  # if what is in review or undecided were all one or the other
COUNTED = ["source_model", "group", "name"]


@stage(scope="shard")
def count(basis: LabelBases) -> ShardCounts:
    """Rows (source_model, group, name, count) of a shard, sorted."""
    parts = [
        basis.filter(counts.fill_null(False))
        .select("source_model", group=pl.lit(group), name=name)
        .group_by(COUNTED)
        .agg(count=pl.len().cast(pl.Int64))
        for group, (name, counts) in GROUPS.items()
    ]
    parts += [
        basis.group_by("source_model")
        .agg(
            count=counts.fill_null(False).sum().cast(pl.Int64) if counts.meta.root_names() else pl.len().cast(pl.Int64)
        )
        .select("source_model", group=pl.lit(group), name=pl.lit(name), count="count")
        for group, names in TOTALS.items()
        for name, counts in names.items()
    ]
    parts.append(listed(basis, "repairs", "repair_rules"))
    parts.append(events(basis))
    return pl.concat(parts).sort(COUNTED)


@stage(scope="corpus")
def summarize(counts: ShardCounts) -> SummaryCounts:
    """The sums over all shards, sorted."""
    return counts.group_by(COUNTED).agg(pl.col("count").sum()).sort(COUNTED)


def summary_files(counts: pl.DataFrame, models: list[str]) -> dict[str, dict[str, Any]]:
    """Path -> content of the summary of each source model and of the corpus. `counts`: rows of SummaryCount."""
    files = {
        f"{ROOT}/{model}/{MODEL_SUMMARY}": summary(counts.filter(pl.col("source_model") == model))
        | {"source_model": model}
        for model in models
    }
    return files | {SUMMARY: summary(counts) | {"source_models": models}}


def summary(counts: pl.DataFrame) -> dict[str, Any]:
    """{group: {name: count}} of every group, the gap with its rates, and what to know of the judge."""
    counts_by_group: dict[str, Any] = {name: {} for name in (*GROUPS, *TOTALS, *LISTED)}
    sums = counts.group_by("group", "name").agg(pl.col("count").sum()).sort("group", "name")
    for row in sums.iter_rows(named=True):
        counts_by_group[row["group"]][row["name"]] = row["count"]
    for group, names in TOTALS.items():
        counts_by_group[group] = {name: counts_by_group[group].get(name, 0) for name in names}
    gap = counts_by_group["outcome_process_gap"]
    for base in (name.removesuffix("_anomalous") for name in [*gap] if name.endswith("_anomalous")):
        gap[f"{base}_anomalous_rate"] = share(gap[f"{base}_anomalous"], gap[base])
    for base in ("passing", "pass_high_risk"):
        counts_of = (gap[f"{base}_{name}"] for name in ("accepted", "accepted_anomalous", "in_review", "undecided"))
        gap |= {f"{base}_{name}": bound for name, bound in zip(BOUNDS, review_bounds(*counts_of), strict=True)}
    counts_by_group["outcome_process_gap"] = gap
    notice = UNJUDGED_NOTICE if is_unjudged(counts_by_group) else notice_of(counts_by_group["judge"])
    if notice is not None:
        counts_by_group["notice"] = notice
    return counts_by_group


def listed(basis: pl.LazyFrame, group: str, column: str) -> pl.LazyFrame:
    """Counts of the members of a list column."""
    return (
        basis.select("source_model", name=pl.col(column))
        .explode("name")
        .drop_nulls("name")
        .group_by("source_model", "name")
        .agg(count=pl.len().cast(pl.Int64))
        .select("source_model", group=pl.lit(group), name="name", count="count")
    )


def events(basis: pl.LazyFrame) -> pl.LazyFrame:
    """Step counts by event category (T9)."""
    return (
        basis.select("source_model", "event_type_counts")
        .unnest("event_type_counts")
        .group_by("source_model")
        .sum()
        .unpivot(index="source_model", variable_name="name", value_name="count")
        .select("source_model", group=pl.lit("event_type"), name="name", count="count")
    )
