"""What probabilities allow: threshold sweeps, PR and ROC curves, calibration (paper F.8). Over the pairs that have
them; `of` says how many these are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from openclawbench.detect.predictions import anomaly_score
from openclawbench.detect.score.bootstrap import mean_interval
from openclawbench.detect.score.comparison import Pair
from openclawbench.detect.score.measures import binary_rates
from openclawbench.detect.settings import LABELS, ScoreRules
from openclawbench.reports.measures import rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray

THRESHOLDS = tuple(number / 20 for number in range(1, 20))
MOST_POINTS = 200  # of a curve


def probability_scores(pairs: Sequence[Pair], rules: ScoreRules) -> dict[str, Any] | None:
    """Sweep, curves, areas, Brier scores and calibration; None without probabilities."""
    import numpy as np

    rated = [pair for pair in pairs if pair.row.probabilities is not None]
    if not rated:
        return None
    scores = np.array([anomaly_score(pair.row) for pair in rated], dtype=float)
    truth = np.array([pair.item.is_anomalous for pair in rated])
    tasks = [pair.item.task for pair in rated]
    ones = np.ones(len(rated))
    errors, bins = calibration_bins(scores, truth, rules.bins)
    at_threshold = sweep_row(scores, truth, rules.threshold)
    return {
        "of": len(rated),
        "threshold": rules.threshold,
        "at_threshold": at_threshold,
        "sweep": [sweep_row(scores, truth, threshold) for threshold in THRESHOLDS],
        **curves(scores, truth),
        "brier": mean_interval((scores - truth) ** 2, ones, tasks, rules)._asdict(),
        "brier_six": six_way_brier(rated, rules),
        "ece": rounded(errors),
        "calibration_bins": bins,
        "outside_mass": outside_mass(rated),
    }


def sweep_row(scores: "NDArray[Any]", truth: "NDArray[Any]", threshold: float) -> dict[str, Any]:
    """Measures where a trajectory is anomalous from a score of `threshold` on. `accuracy` is the agreement with the
    labels."""
    flagged = scores >= threshold
    counts = {
        "tp": (flagged & truth).sum(),
        "fp": (flagged & ~truth).sum(),
        "fn": (~flagged & truth).sum(),
        "tn": (~flagged & ~truth).sum(),
    }
    rounded_rates = {name: rounded(value) for name, value in binary_rates(counts).items()}
    return {"threshold": threshold, **{name: int(count) for name, count in counts.items()}, **rounded_rates}


def curves(scores: "NDArray[Any]", truth: "NDArray[Any]") -> dict[str, Any]:
    """PR and ROC curves with their areas (scikit-learn); nulls unless both kinds of trajectories are there."""
    from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

    if truth.all() or not truth.any():
        return {"average_precision": None, "roc_auc": None, "pr_curve": [], "roc_curve": []}
    precision, recall, _ = precision_recall_curve(truth, scores)
    false_alarms, hits, _ = roc_curve(truth, scores)
    return {
        "average_precision": rounded(average_precision_score(truth, scores)),
        "roc_auc": rounded(roc_auc_score(truth, scores)),
        "pr_curve": thin_curve("recall", recall, "precision", precision),
        "roc_curve": thin_curve("false_alarm_rate", false_alarms, "recall", hits),
    }


def thin_curve(x: str, xs: "NDArray[Any]", y: str, ys: "NDArray[Any]") -> list[dict[str, float | None]]:
    """Points of a curve, at most MOST_POINTS, the first and the last always."""
    import numpy as np

    places = np.unique(np.linspace(0, len(xs) - 1, min(len(xs), MOST_POINTS)).round().astype(int))
    return [{x: rounded(xs[place]), y: rounded(ys[place])} for place in places]


def calibration_bins(scores: "NDArray[Any]", truth: "NDArray[Any]", number: int) -> tuple[float, list[dict[str, Any]]]:
    """Expected calibration error over bins of equal width, and the bins that have a trajectory."""
    import numpy as np

    places = np.minimum((scores * number).astype(int), number - 1)
    error, rows = 0.0, []
    for place in range(number):
        own = places == place
        if not own.any():
            continue
        stated, observed = scores[own].mean(), truth[own].mean()
        error += own.mean() * abs(stated - observed)
        rows.append(
            {
                "low": place / number,
                "high": (place + 1) / number,
                "trajectories": int(own.sum()),
                "mean_score": rounded(stated),
                "anomalous_share": rounded(observed),
            }
        )
    return float(error), rows


def six_way_brier(rated: Sequence[Pair], rules: ScoreRules) -> dict[str, float | None]:
    """The Brier score over the six labels (sum of squares, from 0 to 2), with its interval."""
    import numpy as np

    known = [pair for pair in rated if pair.item.label in LABELS]
    losses = [
        sum(
            (value - (name == pair.item.label)) ** 2
            for name, value in (pair.row.probabilities.model_dump() if pair.row.probabilities else {}).items()
        )
        for pair in known
    ]
    tasks = [pair.item.task for pair in known]
    return mean_interval(np.array(losses, dtype=float), np.ones(len(known)), tasks, rules)._asdict()


def outside_mass(rated: Sequence[Pair]) -> dict[str, Any] | None:
    """How much probability lay outside the six symbols before scaling: mean and largest; None where it is not known."""
    masses = [pair.row.probability_mass for pair in rated if pair.row.probability_mass is not None]
    if not masses:
        return None
    return {"of": len(masses), "mean": rounded(1 - sum(masses) / len(masses)), "largest": rounded(1 - min(masses))}
