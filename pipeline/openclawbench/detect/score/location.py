"""Localization (paper F.8): onset exact, within a step, distance; span overlap. On anomalous trajectories."""

from collections.abc import Sequence
from typing import Any

from openclawbench.detect.predictions import is_anomalous
from openclawbench.detect.score.bootstrap import mean_interval
from openclawbench.detect.score.comparison import Pair
from openclawbench.detect.settings import ScoreRules


def location_scores(pairs: Sequence[Pair], rules: ScoreRules) -> dict[str, Any] | None:
    """Onset and span scores; None where no trajectory that the detector calls anomalous has an onset or a span.
    `of_all`: over every anomalous trajectory that has the annotation, a missed one or a missing onset counts as wrong;
    `of_found`: over those that the detector also calls anomalous."""
    if not any(pair.row.onset is not None or pair.row.span is not None for pair in called_anomalous(pairs)):
        return None
    anomalous = [pair for pair in pairs if pair.item.is_anomalous]
    onsets = [pair for pair in anomalous if pair.item.onset is not None]
    spans = [pair for pair in anomalous if pair.item.span]
    return {
        "onset": {"of_all": onset_part(onsets, rules), "of_found": onset_part(called_anomalous(onsets), rules)},
        "span": {"of_all": span_part(spans, rules), "of_found": span_part(called_anomalous(spans), rules)},
    }


def called_anomalous(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs that the detector calls anomalous."""
    return [pair for pair in pairs if is_anomalous(pair.row.label)]


def onset_part(pairs: Sequence[Pair], rules: ScoreRules) -> dict[str, Any]:
    """Exact and within a step as shares of the pairs; mean distance in steps over those that name an onset."""
    distances = [onset_distance(pair) for pair in pairs]
    named = [distance is not None for distance in distances]
    return {
        "trajectories": len(pairs),
        "with_onset": sum(named),
        "exact": mean_of([float(distance == 0) for distance in distances], None, pairs, rules),
        "within_one": mean_of(
            [float(distance is not None and distance <= 1) for distance in distances], None, pairs, rules
        ),
        "mean_distance": mean_of([float(distance or 0) for distance in distances], named, pairs, rules),
    }


def span_part(pairs: Sequence[Pair], rules: ScoreRules) -> dict[str, Any]:
    """Mean intersection over union of the sets of steps; no span counts as 0."""
    return {
        "trajectories": len(pairs),
        "with_span": sum(pair.row.span is not None for pair in pairs),
        "mean_iou": mean_of([span_overlap(pair) for pair in pairs], None, pairs, rules),
    }


def onset_distance(pair: Pair) -> int | None:
    """Steps between the predicted onset and the annotated one; None where the detector sees no anomaly or names no
    onset."""
    if pair.row.onset is None or pair.item.onset is None or not is_anomalous(pair.row.label):
        return None
    return abs(pair.row.onset - pair.item.onset)


def span_overlap(pair: Pair) -> float:
    """Intersection over union of predicted and annotated steps; 0 where the detector sees no anomaly or no span."""
    if pair.row.span is None or not is_anomalous(pair.row.label):
        return 0.0
    start, end = pair.row.span.start_step, pair.row.span.end_step
    both = sum(start <= step <= end for step in pair.item.span)
    return both / (max(0, end - start + 1) + len(pair.item.span) - both)


def mean_of(
    values: Sequence[float], counted: Sequence[bool] | None, pairs: Sequence[Pair], rules: ScoreRules
) -> dict[str, float | None]:
    """The mean over the counted pairs, with an interval over tasks."""
    import numpy as np

    counts = np.ones(len(values)) if counted is None else np.array(counted, dtype=float)
    tasks = [pair.item.task for pair in pairs]
    return mean_interval(np.array(values, dtype=float) * counts, counts, tasks, rules)._asdict()
