"""Pictures of agreement: kappa with its interval, a confusion matrix."""

from typing import TYPE_CHECKING

from openclawbench.reports import plots
from openclawbench.reports.counting import share
from openclawbench.reports.section import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {"decided": plots.COLOURS[0], "accepted": plots.COLOURS[1]}


def kappas(rows: list[Row], title: str) -> "Figure":
    """Kappa with its interval: a line per scope, a colour per population, no mark where kappa is None."""
    names = list(dict.fromkeys((row["scope"], row["name"]) for row in rows))
    figure, (axes,) = plots.new_figure(8, 1.8 + 0.34 * len(names))
    for row in rows:
        if row["kappa"] is None:
            continue
        shift = -0.12 if row["population"] == "decided" else 0.12
        place, colour = names.index((row["scope"], row["name"])) + shift, COLOURS[row["population"]]
        axes.plot([row["kappa_low"], row["kappa_high"]], [place, place], color=colour, linewidth=2)
        axes.plot(row["kappa"], place, "o", color=colour, markersize=5)
    for population, colour in COLOURS.items():
        axes.plot([], [], "o-", color=colour, label=population)
    axes.set_ylim(-0.6, len(names) - 0.4)
    plots.name_rows(axes, [name for _, name in names])
    axes.set_xlim(min(0.0, *(row["kappa_low"] or 0.0 for row in rows)), 1.0)
    axes.grid(axis="x", linewidth=0.3)
    axes.set_xlabel("Cohen's kappa with its interval; no mark: undefined")
    axes.set_title(title, loc="left")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


PASSES = "First pass (rows) and second pass: trajectories (darker: larger share of the row)"


def confusion(counts: list[list[int]], names: list[str], title: str = PASSES) -> "Figure":
    """A confusion matrix: counts, darker for a larger share of the row."""
    figure, (axes,) = plots.new_figure(9, 2.6 + 0.42 * len(names))
    shares = [[share(count, sum(line)) for count in line] for line in counts]
    texts = [[f"{count:,}" for count in line] for line in counts]
    rows = [f"{name} ({sum(line):,})" for name, line in zip(names, counts, strict=True)]
    plots.heat(axes, rows, names, shares, texts, title)
    return figure
