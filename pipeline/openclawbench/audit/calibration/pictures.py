"""Pictures of the calibration audit."""

from typing import TYPE_CHECKING

from openclawbench.reports import plots
from openclawbench.reports.section import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def agreement(rows: list[Row]) -> "Figure":
    """Agreement of each scope with its interval."""
    figure, (axes,) = plots.new_figure(8, 1.8 + 0.32 * len(rows))
    names = [f"{plots.label(row['name'])} ({row['settled']:,})" for row in rows]
    plots.shares(axes, names, rows, "agree_share")
    axes.set_xlabel("% with the silver label (settled verdicts in brackets), with its interval")
    axes.set_title("Agreement of silver and human labels", loc="left")
    return figure
