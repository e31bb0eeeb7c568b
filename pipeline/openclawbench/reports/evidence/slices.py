"""Distribution over outcome-aware risk slices (paper T14), with the two shares that C.4 asks for."""

from functools import partial
from typing import TYPE_CHECKING, get_args

import polars as pl

from openclawbench.records.oracle import Fused, failures_only
from openclawbench.records.risk import Risk
from openclawbench.records.vocabulary import SliceLabel
from openclawbench.reports import plots
from openclawbench.reports.counting import by_model, models_of, share, with_models
from openclawbench.reports.section import BY_MODEL, Row, Section, Tables
from openclawbench.reports.settings import EvidenceReportRules
from openclawbench.tables.record import TRAJECTORY_KEY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NO_OUTCOME = "no_outcome"
TOTAL = "total"
FAILURES = "failures_only"
RECORDS = "records"
PASSING_SLICES = [name for name in get_args(SliceLabel) if name.startswith("pass_")]
COLOURS = {
    "pass_low_risk": "#9ecae1",
    "pass_medium_risk": "#4292c6",
    "pass_high_risk": "#08519c",
    "fail_low_risk": "#fdd0a2",
    "fail_medium_risk": "#fd8d3c",
    "fail_high_risk": "#a63603",
    NO_OUTCOME: "#bdbdbd",
}


def slices(tables: Tables, rules: EvidenceReportRules) -> Section:
    """T14 of the work tables."""
    categories = tables(Fused).select(*TRAJECTORY_KEY, failures_only=failures_only())
    risks = tables(Risk).join(categories, on=TRAJECTORY_KEY, how="left", maintain_order="left")
    return slices_of(risks.with_columns(pl.lit(1).alias(RECORDS)), rules)


def slices_of(risks: pl.LazyFrame, rules: EvidenceReportRules) -> Section:
    """T14: six slices, the trajectories without an outcome, and the total.

    risks: source_model, slice_label, risk_bucket, failures_only (the outcome is a failure of a category whose passes
    are unknown; such trajectories count in their slice, but in no share of those with an outcome), records (how many
    trajectories a row stands for).
    """
    risks = risks.with_columns(pl.col("slice_label").fill_null(NO_OUTCOME), pl.col("failures_only").fill_null(False))
    models = models_of(risks)
    counted = {row["slice_label"]: row for row in by_model(risks, ["slice_label"], "trajectories", RECORDS)}
    of_slice = by_model(risks.filter("failures_only"), ["slice_label"], FAILURES, RECORDS)
    failures = {row["slice_label"]: row for row in of_slice}
    names = [*get_args(SliceLabel), *([NO_OUTCOME] if NO_OUTCOME in counted else [])]
    blank: Row = {"trajectories": 0, BY_MODEL: {}}
    rows = [
        {**counted.get(name, blank), "slice_label": name, FAILURES: failures.get(name, {}).get(FAILURES, 0)}
        for name in names
    ]
    rows = with_models(rows, models)
    total = sum(row["trajectories"] for row in rows)
    left_out = sum(row[FAILURES] for row in rows)
    with_outcome = sum(row["trajectories"] for row in rows if row["slice_label"] != NO_OUTCOME) - left_out
    for row in rows:
        scored = row["trajectories"] - row[FAILURES]
        row["share"] = share(row["trajectories"], total)
        row["scored_share"] = None if row["slice_label"] == NO_OUTCOME else share(scored, with_outcome)
    sums = {model: sum(row[BY_MODEL][model] for row in rows) for model in models}
    total_row = {
        "slice_label": TOTAL,
        "trajectories": total,
        FAILURES: left_out,
        "share": share(total, total),
        "scored_share": share(with_outcome, with_outcome),
    }
    return Section(
        name="slices",
        title="Risk slices (T14)",
        about="Trajectories by oracle outcome and risk bucket. Slices are annotation priors: none of these numbers is "
        "an anomaly rate. A trajectory without an outcome is in no slice and outside the two shares; so are failures "
        f"of categories whose passes are unknown, which stand in their slice (`{FAILURES}`).",
        columns={
            "slice_label": "slice (T13)",
            "trajectories": "trajectories in the slice",
            FAILURES: "of these, failures of BFCL categories without a result file: their passes are unknown, so no "
            "share of the scored counts them",
            "share": "`trajectories` of all trajectories of the corpus, as in T14",
            "scored_share": f"`trajectories` less `{FAILURES}` of all that have an outcome, less these",
            BY_MODEL: "`trajectories` of that source model alone",
        },
        rows=[*rows, {**total_row, BY_MODEL: sums}],
        facts=headline_shares(risks, rules),
        definitions={
            "passing_that_are_high_risk_share": "pass_high_risk of all oracle-passing trajectories (C.4).",
            "high_risk_that_are_passing_share": "pass_high_risk of all trajectories with an outcome in the high "
            f"bucket, less those of `{FAILURES}` (C.4).",
            "failures_only_left_out": "Trajectories that the shares leave out, because only failures of their category "
            "are known.",
            "high_risk_failures_only_left_out": "Of these, those in the high bucket.",
            "high_bucket_share": "Trajectories in the high bucket of all, whatever their outcome. "
            f"Above {100 * rules.high_share_warning:g} % the score saturates on long sessions; it is never tuned to a "
            "desired share.",
            "high_bucket_is_too_full": "Whether it is above.",
        },
        plot=partial(picture, rows, models),
    )


def headline_shares(risks: pl.LazyFrame, rules: EvidenceReportRules) -> dict[str, object]:
    """The two shares of C.4 and how full the high bucket is."""
    high = pl.col("risk_bucket") == "high"
    label, number = pl.col("slice_label"), pl.col(RECORDS)
    counts = (
        risks.select(
            both=number.filter(label == "pass_high_risk").sum(),
            passing=number.filter(label.is_in(PASSING_SLICES)).sum(),
            high=number.filter(high & (label != NO_OUTCOME) & ~pl.col("failures_only")).sum(),
            left_out=number.filter("failures_only").sum(),
            high_left_out=number.filter(high & pl.col("failures_only")).sum(),
            bucket=number.filter(high).sum(),
            all=number.sum(),
        )
        .collect()
        .row(0, named=True)
    )
    bucket = share(counts["bucket"], counts["all"])
    return {
        "passing_that_are_high_risk_share": share(counts["both"], counts["passing"]),
        "high_risk_that_are_passing_share": share(counts["both"], counts["high"]),
        "failures_only_left_out": counts["left_out"],
        "high_risk_failures_only_left_out": counts["high_left_out"],
        "high_bucket_share": bucket,
        "high_bucket_is_too_full": bucket is not None and bucket > rules.high_share_warning,
    }


def picture(rows: list[Row], models: list[str]) -> "Figure":
    """Slices of the whole corpus and of each source model."""
    figure, (axes,) = plots.new_figure(9, 1.7 + 0.34 * (len(models) + 1))
    totals = [
        sum(row["trajectories"] for row in rows),
        *(sum(row[BY_MODEL][model] for row in rows) for model in models),
    ]
    parts = {}
    for row in rows:
        numbers = [row["trajectories"], *(row[BY_MODEL][model] for model in models)]
        parts[row["slice_label"]] = [
            100 * n / total if total else 0.0 for n, total in zip(numbers, totals, strict=True)
        ]
    names = [f"{name} ({total:,})" for name, total in zip(["all", *models], totals, strict=True)]
    plots.stacked(figure, axes, names, parts, "Trajectories by risk slice", COLOURS)
    plots.percentages(axes, parts, COLOURS)
    axes.set_xlabel("% of trajectories (their number in brackets)")
    return figure
