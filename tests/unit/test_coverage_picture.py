"""The picture of the coverage report: both panels have the same rows, and every subset has one."""

import io
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from openclawbench.records.oracle import Coverage
from openclawbench.reports.coverage import FATES, picture

COUNTS = dict.fromkeys((name for name in Coverage.model_fields if name not in ("source_model", "subset")), 0)


def row(subset: str, sessions: int, share: float | None) -> dict[str, Any]:
    scored = {"sessions": sessions, "matched": sessions, "scored": sessions}
    return COUNTS | scored | {"source_model": "m", "subset": subset, "pass_share": share}


def places(axes: Axes) -> list[float]:
    """Where the marks of a panel stand, in pixels from below."""
    return [float(axes.transData.transform(line.get_xydata()[0])[1]) for line in axes.lines]  # type: ignore[index]


@pytest.mark.parametrize("number", [1, 2, 33])
def test_a_mark_stands_at_the_height_of_its_bar(number: int) -> None:
    figure = picture([row(f"subset-{place}", 3, place / number) for place in range(number)])
    figure.savefig(io.BytesIO(), format="png", bbox_inches="tight")
    fates, shares = figure.axes
    bars = [patch for patch in fates.patches if isinstance(patch, Rectangle)][:number]
    middles = [float(fates.transData.transform((0, bar.get_y() + bar.get_height() / 2))[1]) for bar in bars]
    assert places(shares) == pytest.approx(middles, abs=0.01)
    assert middles == sorted(middles, reverse=True)
    assert [tick_label.get_text() for tick_label in fates.get_yticklabels()] == [
        f"m: subset-{place}" for place in range(number)
    ]
    assert not [tick_label for tick_label in shares.get_yticklabels() if tick_label.get_visible()]


def test_a_subset_that_has_records_and_no_session_has_a_row() -> None:
    figure = picture([row("here", 2, 1.0), row("nowhere", 0, None) | {"oracle_rows": 4, "unmatched_rows": 4}])
    fates, shares = figure.axes
    assert [tick_label.get_text() for tick_label in fates.get_yticklabels()] == ["m: here", "m: nowhere"]
    assert [text.get_text() for text in fates.texts] == ["no trajectory, outcome records: 4"]
    assert len(shares.lines) == 1
    assert len(fates.patches) == 2 * len(FATES)
