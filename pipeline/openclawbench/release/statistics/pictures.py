"""Pictures of a release's statistics."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from openclawbench.records.tiers import TIERS
from openclawbench.reports import plots
from openclawbench.reports.counting import share
from openclawbench.reports.section import BY_MODEL, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TIER_COLOURS = dict(zip(TIERS, ("#3b6fa0", "#9ecae1", "#bdbdbd", "#fd8d3c"), strict=True))
PICTURED = {  # whether all labels are a baseline -> column of the whole, column of the share, title
    False: ("measured", "anomalous_share", "Outcome-process gap"),
    True: (
        "baseline",
        "baseline_share",
        "What the rules judge calls anomalous: a baseline, not the gap",
    ),
}


def tiers(rows: list[Row], models: Sequence[str]) -> "Figure":
    """Quality tiers of the corpus and of each source model."""
    figure, (axes,) = plots.new_figure(9, 1.9 + 0.34 * (len(models) + 1))
    totals = [
        sum(row["trajectories"] for row in rows),
        *(sum(row[BY_MODEL][model] for row in rows) for model in models),
    ]
    parts = {}
    for row in rows:
        numbers = [row["trajectories"], *(row[BY_MODEL][model] for model in models)]
        parts[row["quality_tier"]] = [100 * (share(n, total) or 0.0) for n, total in zip(numbers, totals, strict=True)]
    names = [f"{name} ({total:,})" for name, total in zip(["all", *models], totals, strict=True)]
    plots.stacked(figure, axes, names, parts, "Trajectories by quality tier", TIER_COLOURS)
    plots.percentages(axes, parts, TIER_COLOURS)
    axes.set_xlabel("% of trajectories (their number in brackets)")
    return figure


def subtypes(rows: list[Row], status: str) -> "Figure":
    """Mass of each subtype with its interval."""
    figure, (axes,) = plots.new_figure(8, 1.8 + 0.4 * len(rows))
    names = [row["anomaly_type_l2"] for row in rows]
    plots.marks(axes, names, [(row["share"], row["low_share"], row["high_share"]) for row in rows])
    for place, row in enumerate(rows):
        plots.behind(
            axes, f"{row['trajectories']:,} ({plots.percent(row['share'])})", 100 * (row["high_share"] or 0), place
        )
    axes.set_xlim(0, 100)
    axes.set_xlabel(f"% of the {status} anomalous records, with its interval")
    axes.set_title("Subtype mass", loc="left")
    return figure


def onset_steps(rows: list[Row], status: str) -> "Figure":
    """How many onsets lie at which step."""
    figure, (axes,) = plots.new_figure(8, 1.6 + 0.3 * len(rows))
    texts = [f"{row['trajectories']:,} ({plots.percent(row['share'])})" for row in rows]
    names = [row["steps"] for row in rows]
    plots.bars(axes, names, [row["trajectories"] for row in rows], texts, "Step of the earliest recoverable onset")
    axes.set_xlabel(f"{status} anomalous records whose onset is known")
    return figure


def severity(rows: list[Row], columns: Sequence[str], status: str) -> "Figure":
    """Severity downwards, recoverability across."""
    figure, (axes,) = plots.new_figure(7, 3.6)
    total = sum(row["trajectories"] for row in rows)
    shares = [[share(row[column], total) for column in columns] for row in rows]
    texts = [[f"{row[column]:,}" for column in columns] for row in rows]
    title = f"Severity (rows) and recoverability: {status} anomalous records"
    plots.heat(axes, [row["severity"] for row in rows], columns, shares, texts, title)
    return figure


def gap(every: list[Row], most: int) -> "Figure":
    """The gap of the first `most` scopes with its interval; if all labels are a baseline, the share that the rules
    judge calls anomalous. The number of measured trajectories is in brackets."""
    rows = every[:most]
    figure, (axes,) = plots.new_figure(8, 1.8 + 0.3 * len(rows))
    if baseline := not every[0]["measured"] and bool(every[0]["baseline"]):
        ends = {"low_share": "baseline_low_share", "high_share": "baseline_high_share"}
        rows = [row | {end: row[own] for end, own in ends.items()} for row in rows]
    total_column, share_of, title = PICTURED[baseline]
    names = [f"{short(row)} ({row[total_column]:,}{open_words(row)})" for row in rows]
    plots.shares(axes, names, rows, share_of)
    axes.set_xlabel("% anomalous of those that pass (their number in brackets), with its interval")
    more = f" (the first {most} rows of the table)" if len(every) > most else ""
    axes.set_title(f"{title}{more}", loc="left")
    return figure


def open_words(row: Row) -> str:
    """What of a scope is in review or undecided, behind its number."""
    words = [
        f"{row[name]:,} {text}" for name, text in (("in_review", "in review"), ("undecided", "undecided")) if row[name]
    ]
    return "".join(f"; {text}" for text in words)


def short(row: Row) -> str:
    """A scope as a label, marked if it is of the high-risk slice."""
    name = plots.label(row["name"])
    return f"{name}, high risk" if row["scope"].startswith("source_model,") else name
