"""Distribution over outcome-aware risk slices (paper T14), with the two shares that C.4 asks for."""

from functools import partial
from typing import TYPE_CHECKING, get_args

import polars as pl

from pipeline.records.risk import Risk
from pipeline.records.vocabulary import SliceLabel
from pipeline.reports import plots
from pipeline.reports.counting import by_model, models_of, share, with_models
from pipeline.reports.section import BY_MODEL, Row, Section, Tables
from pipeline.reports.settings import EvidenceReportRules

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NO_OUTCOME = "no_outcome"
TOTAL = "total"
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
    """T14: six slices, the trajectories without an outcome, and the total."""
    risks = tables(Risk).with_columns(pl.col("slice_label").fill_null(NO_OUTCOME))
    models = models_of(risks)
    counted = {row["slice_label"]: row for row in by_model(risks, ["slice_label"], "trajectories")}
    names = [*get_args(SliceLabel), *([NO_OUTCOME] if NO_OUTCOME in counted else [])]
    blank: Row = {"trajectories": 0, BY_MODEL: {}}
    rows = [{**counted.get(name, blank), "slice_label": name} for name in names]
    rows = with_models(rows, models)
    total = sum(row["trajectories"] for row in rows)
    known = sum(row["trajectories"] for row in rows if row["slice_label"] != NO_OUTCOME)
    for row in rows:
        row["share"] = share(row["trajectories"], total)
        row["scored_share"] = None if row["slice_label"] == NO_OUTCOME else share(row["trajectories"], known)
    sums = {model: sum(row[BY_MODEL][model] for row in rows) for model in models}
    whole = {
        "slice_label": TOTAL,
        "trajectories": total,
        "share": share(total, total),
        "scored_share": share(known, known),
    }
    facts = shares(risks, rules)
    return Section(
        name="slices",
        title="Risk slices (T14)",
        about="Trajectories by oracle outcome and risk bucket. Slices are annotation priors: none of these numbers is "
        "an anomaly rate. "
        "A trajectory without an outcome is in no slice and outside the two shares.",
        columns={
            "slice_label": "slice (T13)",
            "trajectories": "trajectories in the slice",
            "share": "`trajectories` of all trajectories of the corpus, as in T14",
            "scored_share": "`trajectories` of those that have an outcome",
            BY_MODEL: "`trajectories` of that source model alone",
        },
        rows=[*rows, {**whole, BY_MODEL: sums}],
        facts=facts,
        definitions={
            "passing_that_are_high_risk_share": "pass_high_risk of all oracle-passing trajectories (C.4).",
            "high_risk_that_are_passing_share": "pass_high_risk of all trajectories with an outcome in the high "
            "bucket (C.4).",
            "high_bucket_share": "Trajectories in the high bucket of all, whatever their outcome. "
            f"Above {100 * rules.high_share_warning:g} % the score saturates on long sessions; it is never tuned to a "
            f"wished share.",
            "high_bucket_is_too_full": "Whether that is so.",
        },
        plot=partial(picture, rows, models),
    )


def shares(risks: pl.LazyFrame, rules: EvidenceReportRules) -> dict[str, object]:
    """The two shares of C.4 and how full the high bucket is."""
    high = pl.col("risk_bucket") == "high"
    label = pl.col("slice_label")
    found = (
        risks.select(
            both=(label == "pass_high_risk").sum(),
            passing=label.str.starts_with("pass_").sum(),
            high=(high & (label != NO_OUTCOME)).sum(),
            bucket=high.sum(),
            all=pl.len(),
        )
        .collect()
        .row(0, named=True)
    )
    bucket = share(found["bucket"], found["all"])
    return {
        "passing_that_are_high_risk_share": share(found["both"], found["passing"]),
        "high_risk_that_are_passing_share": share(found["both"], found["high"]),
        "high_bucket_share": bucket,
        "high_bucket_is_too_full": bucket is not None and bucket > rules.high_share_warning,
    }


def picture(rows: list[Row], models: list[str]) -> "Figure":
    """The whole corpus and each source model."""
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
