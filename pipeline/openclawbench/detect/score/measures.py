"""Measures of paper F.8 from confusion matrices, one or many at once, so that a bootstrap needs no loop.

A matrix has one row per true label and one column per predicted one. Its last column counts answers that could not be
read, its last row anomalies whose subtype nobody named (verdicts of people may lack it), which only binary measures
count. A measure that is not defined is NaN here and null in every file: no F1 is invented for a side without an
anomaly.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from openclawbench.detect.score.comparison import Pair
from openclawbench.detect.settings import LABELS

if TYPE_CHECKING:
    from numpy.typing import NDArray

Convention = Literal["wrong", "left_out"]
CONVENTIONS: dict[Convention, str] = {
    "wrong": "an answer that cannot be read counts as wrong: a miss on an anomaly, a false alarm otherwise",
    "left_out": "answers that cannot be read are left out",
}
UNREADABLE = UNNAMED_ROW = len(LABELS)  # the last column, and the last row
WIDTH = len(LABELS) + 1
BINARY = ("precision", "recall", "f1", "false_alarm_rate", "true_negative_rate", "predicted_share", "accuracy")
BY_LABEL = {label: f"f1_{label}" for label in LABELS}
MEASURES = (*BINARY, "macro_f1", *BY_LABEL.values())


def matrix_cells(pairs: Sequence[Pair]) -> "NDArray[Any]":
    """(row, column) of each pair."""
    import numpy as np

    place: dict[str, int] = {label: number for number, label in enumerate(LABELS)}
    places = [
        (place.get(pair.item.label, UNNAMED_ROW), UNREADABLE if pair.row.label is None else place[pair.row.label])
        for pair in pairs
    ]
    return np.array(places, dtype=np.int64).reshape(-1, 2)


def confusion_matrix(pairs: Sequence[Pair]) -> "NDArray[Any]":
    """The matrix of the pairs: 7 x 7 counts."""
    import numpy as np

    matrix = np.zeros((WIDTH, WIDTH), dtype=np.int64)
    np.add.at(matrix, tuple(matrix_cells(pairs).T), 1)
    return matrix


def binary_counts(matrices: "NDArray[Any]", convention: Convention) -> "dict[str, NDArray[Any]]":
    """tp, fp, fn, tn of matrices (…, 7, 7): every label but the first is anomalous."""
    read = matrices[..., :UNREADABLE]
    counts = {
        "tp": read[..., 1:, 1:].sum(axis=(-2, -1)),
        "fp": read[..., 0, 1:].sum(axis=-1),
        "fn": read[..., 1:, 0].sum(axis=-1),
        "tn": read[..., 0, 0],
    }
    if convention == "wrong":
        counts["fp"] = counts["fp"] + matrices[..., 0, UNREADABLE]
        counts["fn"] = counts["fn"] + matrices[..., 1:, UNREADABLE].sum(axis=-1)
    return counts


def binary_rates(counts: "dict[str, NDArray[Any]]") -> "dict[str, NDArray[Any]]":
    """The binary measures of F.8, from counts that may be fractions. F1 is NaN if there is no anomaly."""
    import numpy as np

    tp, fp, fn, tn = (np.asarray(counts[name], dtype=float) for name in ("tp", "fp", "fn", "tn"))
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "precision": tp / (tp + fp),
            "recall": tp / (tp + fn),
            "f1": np.where(tp + fn > 0, 2 * tp / (2 * tp + fp + fn), np.nan),
            "false_alarm_rate": fp / (fp + tn),
            "true_negative_rate": tn / (fp + tn),
            "predicted_share": (tp + fp) / (tp + fp + fn + tn),
            "accuracy": (tp + tn) / (tp + fp + fn + tn),
        }


def compute_measures(
    matrices: "NDArray[Any]", convention: Convention = "wrong", absent: "NDArray[Any] | None" = None
) -> "dict[str, NDArray[Any]]":
    """MEASURES of matrices (…, 7, 7). Macro F1 is the mean over the six labels, of which one that no trajectory has
    counts 0, as the paper's vocabulary is closed; it is NaN if all trajectories have one label. `absent`: F1 to use for
    a label that does not occur in a matrix (NaN: 0), so that a bootstrap draw without a rare label averages the same
    numbers as the full sample."""
    import numpy as np

    matrices = np.asarray(matrices, dtype=float)
    named = matrices[..., :UNNAMED_ROW, :]
    read = named[..., :UNREADABLE]
    true = (named if convention == "wrong" else read).sum(axis=-1)
    predicted = read.sum(axis=-2)
    hits = np.diagonal(read, axis1=-2, axis2=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_label = np.where(true > 0, 2 * hits / (true + predicted), np.nan)
    averaged = by_label if absent is None else np.where(np.isnan(by_label), absent, by_label)
    number = (~np.isnan(averaged)).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        macro = np.where(number > 1, np.nansum(averaged, axis=-1) / len(LABELS), np.nan)
    values = {**binary_rates(binary_counts(matrices, convention)), "macro_f1": macro}
    return values | {name: by_label[..., place] for place, name in enumerate(BY_LABEL.values())}
