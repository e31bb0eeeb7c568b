"""Pictures of counts: horizontal bars, stacked bars, a heat map. The same numbers give the same bytes."""

import io
import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from openclawbench.base.terminal import safe
from openclawbench.reports import counting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST = 44  # characters of a label
INK, FAINT, BAR, WARNING = "#222222", "#c8c8c8", "#3b6fa0", "#a63603"
# Distinct with any colour vision (Okabe and Ito), then two more.
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999", "#332288", "#aa4499"]
ROOM_FOR_TEXT = 4.0  # percent: a part at least this wide shows its number
STYLE: Any = {
    "svg.hashsalt": "openclawbench",
    "text.parse_math": False,  # a label is untrusted text, not mathematics
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "font.size": 9,
    "axes.edgecolor": FAINT,
    "axes.titlesize": 11,
    "axes.titlepad": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 120,
}


def pictures(draw: "Callable[[], Figure]", kinds: Sequence[str], about: str | None = None) -> dict[str, bytes]:
    """The picture that `draw` returns, as {kind (png, svg): bytes} without a date. With `about`, the metadata hold that
    text and the name of the drawing program; without it there are no metadata."""
    import matplotlib

    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # not the user's matplotlibrc
        matplotlib.rcParams.update(STYLE)
        return {kind: encoded(draw(), kind, about) for kind in kinds}  # a figure keeps its last layout: redraw


def drawn_by() -> str:
    """Name and version of the drawing program."""
    import matplotlib

    return f"matplotlib {matplotlib.__version__}"


def encoded(figure: "Figure", kind: str, about: str | None = None) -> bytes:
    """One picture's bytes."""
    buffer = io.BytesIO()
    software = None if about is None else drawn_by()
    metadata = {"Software": software} if kind == "png" else {"Date": None, "Creator": software}
    figure.savefig(
        buffer,
        format=kind,
        metadata=metadata | ({"Description": about} if about else {}),
        bbox_inches="tight",
        pad_inches=0.15,
    )
    return buffer.getvalue()


def new_figure(
    width: float, height: float, panels: int = 1, ratios: Sequence[float] | None = None, same_rows: bool = False
) -> "tuple[Figure, list[Axes]]":
    """An empty figure with panels side by side; it needs no window system. With `same_rows` the panels share their
    vertical axis, and the first names its rows."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(1, panels, squeeze=False, width_ratios=ratios, sharey=same_rows)[0])


def new_grid(width: float, height: float, down: int, across: int) -> "tuple[Figure, list[Axes]]":
    """An empty figure with panels in rows, from the upper left to the lower right; it needs no window system."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(down, across, squeeze=False).flat)


def label(text: object) -> str:
    """Untrusted text as a label: short, on one line; control characters and those that the font lacks are escaped."""
    from matplotlib import font_manager

    shown = safe(str(text)).replace("\n", "\\n").replace("\t", "\\t")
    short = shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"
    characters = font_manager.get_font(font_manager.findfont(STYLE["font.family"])).get_charmap()
    return "".join(character if ord(character) in characters else f"\\u{ord(character):04x}" for character in short)


def bars(axes: "Axes", names: Sequence[object], numbers: Sequence[int], texts: Sequence[str], title: str) -> None:
    """Horizontal bars from the top, each followed by a text."""
    places = range(len(names))
    axes.barh(places, numbers, color=BAR, height=0.72)
    name_rows(axes, names)
    axes.margins(x=0.25, y=0.02)
    axes.xaxis.set_major_locator(whole_numbers())
    for place, (number, text) in enumerate(zip(numbers, texts, strict=True)):
        behind(axes, text, number, place)
    axes.set_title(title, loc="left")


def stacked(
    figure: "Figure",
    axes: "Axes",
    names: Sequence[object],
    parts: Mapping[str, Sequence[float]],
    title: str,
    colours: Mapping[str, str],
) -> None:
    """Horizontal bars from the top, each divided into parts; a legend below names the parts."""
    left = [0.0] * len(names)
    for place, (part, numbers) in enumerate(parts.items()):
        colour = colours.get(part, COLOURS[place % len(COLOURS)])
        axes.barh(
            range(len(names)), numbers, left=left, color=colour, height=0.74, label=label(part), lw=0.5, ec="white"
        )
        left = [before + number for before, number in zip(left, numbers, strict=True)]
    name_rows(axes, names)
    axes.margins(y=0.02)
    axes.set_title(title, loc="left")
    figure.legend(loc="outside lower center", ncols=len(parts) if len(parts) <= 5 else 4, frameon=False)


def percentages(axes: "Axes", parts: Mapping[str, Sequence[float]], colours: Mapping[str, str]) -> None:
    """Write the percentage inside each part of stacked bars that has room for it. The axis ends at 100."""
    left = [0.0] * len(next(iter(parts.values()), []))
    for place, (part, numbers) in enumerate(parts.items()):
        ink = ink_on(colours.get(part, COLOURS[place % len(COLOURS)]))
        for row, number in enumerate(numbers):
            if number >= ROOM_FOR_TEXT:
                axes.text(left[row] + number / 2, row, f"{number:.0f}", ha="center", va="center", color=ink, size=8)
            left[row] += number
    axes.set_xlim(0, 100)


def heat(
    axes: "Axes",
    rows: Sequence[object],
    columns: Sequence[object],
    shares: list[list[float | None]],
    texts: list[list[str]],
    title: str,
) -> None:
    """A matrix of shares, darker where larger (None: blank), with a text in each cell."""
    if not columns:
        axes.set_axis_off()
        return
    filled = [[float("nan") if share is None else share for share in line] for line in shares]
    most = max((share for line in shares for share in line if share is not None), default=1.0) or 1.0
    axes.imshow(filled, cmap="Blues", vmin=0.0, vmax=most, aspect="auto")
    axes.set_xticks(
        range(len(columns)), [label(name) for name in columns], rotation=35, ha="right", rotation_mode="anchor"
    )
    axes.set_yticks(range(len(rows)), [label(name) for name in rows])
    axes.tick_params(left=False, bottom=False)
    axes.spines[:].set_visible(False)
    for y, line in enumerate(texts):
        for x, text in enumerate(line):
            share = shares[y][x] or 0.0
            colour = "white" if share > 0.55 * most else INK if share else FAINT
            axes.text(x, y, text, ha="center", va="center", color=colour, size=8)
    axes.set_title(title, loc="left")


def marks(
    axes: "Axes", names: Sequence[str], intervals: Sequence[tuple[float | None, float | None, float | None]]
) -> None:
    """A mark at each share (value, low, high) with a line over its interval, in percent; no mark where one is None."""
    for place, (value, low, high) in enumerate(intervals):
        if value is not None and low is not None and high is not None:
            axes.plot([100 * low, 100 * high], [place, place], color=BAR, linewidth=2)
            axes.plot(100 * value, place, "o", color=BAR, markersize=5, clip_on=False, zorder=3)
    axes.set_ylim(-0.6, len(names) - 0.4)
    name_rows(axes, names)
    axes.grid(axis="x", linewidth=0.3)


def shares(axes: "Axes", names: Sequence[str], rows: Sequence[Mapping[str, Any]], share: str) -> None:
    """A mark at the column `share` of each row over its interval (`low_share`, `high_share`), on an axis from 0 to 100
    percent; a line between rows of different `scope`."""
    marks(axes, names, [(row[share], row["low_share"], row["high_share"]) for row in rows])
    for place, (before, row) in enumerate(pairwise(rows), 1):
        if before["scope"] != row["scope"]:
            axes.axhline(place - 0.5, color=FAINT, linewidth=0.8)
    axes.set_xlim(0, 100)


def stamped(draw: "Callable[[], Figure]", words: str) -> "Figure":
    """The picture with a warning above it."""
    figure = draw()
    figure.suptitle(words, x=0.01, ha="left", size=8, color=WARNING)
    return figure


def name_rows(axes: "Axes", names: Sequence[object]) -> None:
    """Write the names at the left, the first at the top."""
    axes.set_yticks(range(len(names)), [label(name) for name in names])
    axes.invert_yaxis()
    axes.tick_params(left=False)


def behind(axes: "Axes", text: str, number: float, place: int) -> None:
    """Write a text after the end of a bar."""
    axes.annotate(text, (number, place), xytext=(4, 0), textcoords="offset points", va="center")


def ink_on(colour: str) -> str:
    """Black or white, whichever is more legible on a colour, by its luma."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"


def whole_numbers() -> Any:
    """Ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(integer=True, nbins=6)


def percent(share: float | None) -> str:
    """A share for a label."""
    return counting.percent(share, 1, "–")
