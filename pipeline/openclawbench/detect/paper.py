"""The paper's detector results, and which of them cannot all be right (its tables 2, 3 and 43 disagree)."""

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from openclawbench.detect.score.measures import WIDTH, binary_counts, compute_measures
from openclawbench.detect.settings import LABELS
from openclawbench.release.statistics.consistency import (
    Contradiction,
    Detector,
    Identity,
    Same,
    Share,
    Sum,
    contradictions,
    figure,
)

HEAD = 3  # normal and the two frequent subtypes


@cache
def paper() -> dict[str, Any]:
    """The figures, as printed."""
    return tomllib.loads((files("openclawbench.detect") / "paper.toml").read_text(encoding="utf-8"))


def paper_contradictions() -> list[Contradiction]:
    """Each pair of printed figures that cannot both be right; rounding is never reported."""
    return contradictions(identities())


def identities() -> Iterator[Identity]:
    """What must hold between tables 2, 3, 43 and 44."""
    figures = paper()
    for row in figures["detector"]:
        yield Detector(f"T2 {row['name']}", figures["split"] | {name: row[name] for name in BINARY})
    slices = figures["slice"]
    yield Sum("T3 n, against T2", {row["name"]: row["n"] for row in slices}, figures["split"]["n"])
    yield from of_confusion(figures)
    yield from of_balancing(figures["balancing"])


BINARY = ("f1", "precision", "recall", "predicted")


def of_confusion(figures: dict[str, Any]) -> Iterator[Identity]:
    """Table 43 within itself, and against tables 2 and 3 for the same detector."""
    import numpy as np

    printed = figures["confusion"]
    matrix = np.zeros((WIDTH, WIDTH))
    matrix[: len(LABELS), : len(LABELS)] = printed["matrix"]
    counts = {name: str(int(value)) for name, value in binary_counts(matrix, "wrong").items()}
    computed_measures = compute_measures(matrix)
    printed_row = next(row for row in figures["detector"] if row["name"] == printed["detector"])
    yield Detector("T43, against T2", figures["split"] | counts | {name: printed_row[name] for name in BINARY})
    yield compare_printed(
        "T43 macro F1, against T2", "T2", printed_row["macro_f1"], float(computed_measures["macro_f1"])
    )
    anomalous = str(int(matrix[1:].sum()))
    yield Sum("T3 label anomalies, against T43", {row["name"]: row["anomalous"] for row in figures["slice"]}, anomalous)
    for label, row, support, recall in zip(
        LABELS, printed["matrix"], printed["support"], printed["recall"], strict=True
    ):
        cells = {f"as {predicted_label}": str(count) for predicted_label, count in zip(LABELS, row, strict=True)}
        yield Sum(f"T43 row {label}", cells, support)
        yield Share(f"T43 recall of {label}", cells[f"as {label}"], support, recall)
    head = str(int(matrix[1:HEAD].sum()))
    yield Share("F.10 head classes, against T43", head, anomalous, printed["head_classes"])
    wrong = int(matrix.sum() - np.trace(matrix))
    with_normal = int(matrix[0, 1:].sum() + matrix[1:, 0].sum())
    yield Share("F.10 confusion with normal, against T43", str(with_normal), str(wrong), printed["anomaly_or_normal"])
    name = f"f1_{LABELS[1]}"
    yield compare_printed(
        "F.10 F1 of cap_gap, against T43", "F.10", printed["f1_capability_gap"], float(computed_measures[name])
    )


def compare_printed(where: str, place: str, printed: str, value: float) -> Same:
    """A printed figure and one that a table gives."""
    return Same(where, {"T43": f"{value:.6f}", place: printed})


def of_balancing(printed: dict[str, Any]) -> Iterator[Identity]:
    """Table 44: what is lost without balancing."""
    for measure in ("f1", "macro_f1"):
        first, _, last = printed[measure]
        low, high = figure(last).low - figure(first).high, figure(last).high - figure(first).low
        lost = figure(printed[f"{measure}_lost"])
        if not (low <= lost.high and lost.low <= high):
            yield Same(f"T44 {measure} lost", {"T44": f"{float(low):.6f}", "caption": printed[f"{measure}_lost"]})
