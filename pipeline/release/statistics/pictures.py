"""Pictures of a release's statistics."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline.reports import plots
from pipeline.reports.counting import share
from pipeline.reports.section import BY_MODEL, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TIER_COLOURS = {
    "high_confidence_accepted": "#3b6fa0",
    "accepted_repaired": "#9ecae1",
    "review_or_unresolved": "#fd8d3c",
}
SHORT = {"partially_recoverable": "partially"}


def tiers(rows: list[Row], models: Sequence[str]) -> "Figure":
    """Quality tiers of the corpus and of each source model."""
    figure, (axes,) = plots.new_figure(9, 1.9 + 0.34 * (len(models) + 1))
    totals = [sum(row["trajectories"] for row in rows), *(sum(row[BY_MODEL][one] for row in rows) for one in models)]
    parts = {}
    for row in rows:
        numbers = [row["trajectories"], *(row[BY_MODEL][one] for one in models)]
        parts[row["quality_tier"]] = [100 * (share(n, whole) or 0.0) for n, whole in zip(numbers, totals, strict=True)]
    names = [f"{name} ({whole:,})" for name, whole in zip(["all", *models], totals, strict=True)]
    plots.stacked(figure, axes, names, parts, "Trajectories by quality tier", TIER_COLOURS)
    plots.percentages(axes, parts, TIER_COLOURS)
    axes.set_xlabel("% of trajectories (their number in brackets)")
    return figure


def subtypes(rows: list[Row]) -> "Figure":
    """Mass of each subtype with its interval."""
    figure, (axes,) = plots.new_figure(8, 1.8 + 0.4 * len(rows))
    names = [row["anomaly_type_l2"] for row in rows]
    plots.marks(axes, names, [(row["share"], row["low_share"], row["high_share"]) for row in rows])
    for place, row in enumerate(rows):
        plots.behind(
            axes, f"{row['trajectories']:,} ({plots.percent(row['share'])})", 100 * (row["high_share"] or 0), place
        )
    axes.margins(x=0.3)
    axes.set_xlim(left=0)
    axes.set_xlabel("% of the accepted anomalous records, with its interval")
    axes.set_title("Subtype mass", loc="left")
    return figure


def onset_steps(rows: list[Row]) -> "Figure":
    """How many onsets lie at which step."""
    figure, (axes,) = plots.new_figure(8, 1.6 + 0.3 * len(rows))
    texts = [f"{row['trajectories']:,} ({plots.percent(row['share'])})" for row in rows]
    names = [row["steps"] for row in rows]
    plots.bars(axes, names, [row["trajectories"] for row in rows], texts, "Step of the earliest recoverable onset")
    axes.set_xlabel("accepted anomalous records whose onset is known")
    return figure


def severity(rows: list[Row], columns: Sequence[str]) -> "Figure":
    """Severity downwards, recoverability across."""
    figure, (axes,) = plots.new_figure(7, 3.6)
    whole = sum(row["trajectories"] for row in rows)
    shares = [[share(row[column], whole) for column in columns] for row in rows]
    texts = [[f"{row[column]:,}" for column in columns] for row in rows]
    names = [SHORT.get(column, column) for column in columns]
    title = "Severity (rows) and recoverability: accepted anomalous records"
    plots.heat(axes, [row["severity"] for row in rows], names, shares, texts, title)
    return figure


def gap(every: list[Row], most: int) -> "Figure":
    """The gap of the first `most` scopes with its interval; the number of passing trajectories in brackets."""
    rows = every[:most]
    figure, (axes,) = plots.new_figure(8, 1.8 + 0.3 * len(rows))
    names = [f"{short(row)} ({row['trajectories']:,})" for row in rows]
    plots.shares(axes, names, rows, "anomalous_share")
    axes.set_xlabel("% anomalous of those that pass (their number in brackets), with its interval")
    more = f" (the first {most} rows of the table)" if len(every) > most else ""
    axes.set_title(f"Outcome-process gap{more}", loc="left")
    return figure


def short(row: Row) -> str:
    """A scope as a label: which, and that it is of the high-risk slice where it is."""
    name = plots.label(row["name"])
    return f"{name[:18]}, high risk" if row["scope"].startswith("source_model,") else name
