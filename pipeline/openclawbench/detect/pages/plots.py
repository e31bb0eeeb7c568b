"""Pictures of the leaderboard."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from openclawbench.detect.settings import LABELS
from openclawbench.reports import plots
from openclawbench.reports.section import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Card = Mapping[str, Any]
Draw = Callable[[], "Figure"]
ACROSS = 4  # confusion matrices side by side
LEGEND_LINE = 0.22  # inches that a line of a legend needs
STYLES = ("-", "--", ":", "-.")  # of lines, after all colours are used


def ranking(rows: Sequence[Row]) -> Draw | None:
    """F1 of each detector with its interval; None if no F1 is defined."""
    rated = [row for row in rows if row["f1_low"] is not None]
    if not rated:
        return None

    def draw() -> "Figure":
        figure, (axes,) = plots.new_figure(7.5, 1.0 + 0.36 * len(rated))
        plots.marks(
            axes, [row["detector"] for row in rated], [(row["f1"], row["f1_low"], row["f1_high"]) for row in rated]
        )
        axes.set_xlim(-2, 102)
        axes.set_xlabel("%")
        axes.set_title("F1 of anomalous or normal, with intervals of 95 %", loc="left")
        return figure

    return draw


def by_group(rows: Sequence[Row], column: str) -> Draw:
    """F1 of each detector on each group."""
    detectors, groups = unique(rows, "detector"), sorted(unique(rows, column))
    f1_of = {(row["detector"], row[column]): row["f1"] for row in rows}
    shares = [[f1_of.get((detector, group)) for group in groups] for detector in detectors]
    texts = [["–" if share is None else f"{share:.3f}" for share in line] for line in shares]

    def draw() -> "Figure":
        figure, (axes,) = plots.new_figure(2.6 + 1.0 * len(groups), 1.6 + 0.34 * len(detectors))
        plots.heat(axes, detectors, groups, shares, texts, "F1")
        return figure

    return draw


def unique(rows: Sequence[Row], column: str) -> list[str]:
    """The values of a column, in the order of the rows."""
    return list(dict.fromkeys(str(row[column]) for row in rows))


def confusions(cards: Sequence[Card], names: list[str]) -> Draw:
    """The confusion matrix of each detector, darker for a larger share of the row."""
    across = min(ACROSS, len(cards))
    down = -(-len(cards) // ACROSS)

    def draw() -> "Figure":
        figure, panels = plots.new_grid(1.6 + 3.4 * across, 3.9 * down, down, across)
        for axes in panels[len(cards) :]:
            axes.set_axis_off()
        for axes, card in zip(panels, cards, strict=False):
            matrix = [row[: len(LABELS)] for row in card["confusion"]]
            shares = [[count / sum(row) if sum(row) else None for count in row] for row in matrix]
            texts = [[str(count) for count in row] for row in matrix]
            plots.heat(axes, names, names, shares, texts, plots.label(card["detector"]))
        return figure

    return draw


def curves(cards: Sequence[Card]) -> Draw:
    """Precision-recall and ROC curves."""
    shown = [card for card in cards if card["probabilities"]["pr_curve"]]

    def draw() -> "Figure":
        figure, (left, right) = plots.new_figure(9.5, 4.4 + LEGEND_LINE * -(-len(shown) // 3), 2)
        for place, card in enumerate(shown):
            # Steps: between two thresholds no precision in between is reached.
            pr_curve = card["probabilities"]["pr_curve"]
            line(left, pr_curve, "recall", "precision", card["detector"], place, drawstyle="steps-post")
            line(right, card["probabilities"]["roc_curve"], "false_alarm_rate", "recall", None, place)
        right.plot([0, 1], [0, 1], color=plots.FAINT, linewidth=0.8)
        finish(left, "recall", "precision", "Precision and recall")
        finish(right, "false alarms", "recall", "ROC")
        figure.legend(loc="outside lower center", ncols=3, frameon=False)
        return figure

    return draw


def reliability(cards: Sequence[Card]) -> Draw | None:
    """The share of anomalous trajectories against the stated score; None without probabilities."""
    if not cards:
        return None

    def draw() -> "Figure":
        figure, (axes,) = plots.new_figure(5.2, 4.6 + LEGEND_LINE * -(-len(cards) // 2))
        for place, card in enumerate(cards):
            bins = card["probabilities"]["calibration_bins"]
            line(axes, bins, "mean_score", "anomalous_share", card["detector"], place, marker="o")
        axes.plot([0, 1], [0, 1], color=plots.FAINT, linewidth=0.8)
        finish(axes, "1 - p(normal)", "share that is anomalous", "Calibration")
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        return figure

    return draw


def line(
    axes: "Axes", points: Sequence[Mapping[str, Any]], x: str, y: str, name: str | None, place: int, **more: Any
) -> None:
    """A line through points. `more`: its style."""
    xs, ys = [point[x] for point in points], [point[y] for point in points]
    colour = plots.COLOURS[place % len(plots.COLOURS)]
    style = STYLES[place // len(plots.COLOURS) % len(STYLES)]
    shown = None if name is None else plots.label(name)
    axes.plot(xs, ys, color=colour, linestyle=style, linewidth=1.2, label=shown, **more)


def finish(axes: "Axes", x: str, y: str, title: str) -> None:
    """Axes from 0 to 1 with names."""
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, loc="left")
