"""Intervals by bootstrap over tasks: trajectories of one task are not independent, six models share it (own choice)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from openclawbench.detect.score.comparison import Pair
from openclawbench.detect.score.measures import BY_LABEL, WIDTH, Convention, compute_measures, matrix_cells
from openclawbench.detect.settings import ScoreRules
from openclawbench.reports.corrected_gap import percentile_interval
from openclawbench.reports.measures import NO_INTERVAL, Interval, rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray

AT_ONCE = 200  # draws; bounds the memory


def task_numbers(tasks: Sequence[str]) -> "NDArray[Any]":
    """Each name of a task as a number from 0."""
    import numpy as np

    return np.unique(np.asarray(tasks, dtype=str), return_inverse=True)[1]


def drawn_sums(values: "NDArray[Any]", tasks: Sequence[str], rules: ScoreRules) -> "NDArray[Any]":
    """Sums of `values` (one row per trajectory) over `rules.draws` draws of as many tasks as there are (with
    replacement): an array (draws, columns). The same seed gives the same draws."""
    import numpy as np

    numbers = task_numbers(tasks)
    count = int(numbers.max()) + 1
    by_task = np.zeros((count, values.shape[1]))
    np.add.at(by_task, numbers, values)
    generator = np.random.default_rng(rules.seed)
    even = np.full(count, 1 / count)
    sums = [
        generator.multinomial(count, even, size=min(AT_ONCE, rules.draws - start)) @ by_task
        for start in range(0, rules.draws, AT_ONCE)
    ]
    return np.concatenate(sums)


def drawn_matrices(pairs: Sequence[Pair], rules: ScoreRules) -> "NDArray[Any] | None":
    """Confusion matrices of the draws: (draws, 7, 7); null for fewer than two tasks."""
    import numpy as np

    tasks = [pair.item.task for pair in pairs]
    if len(set(tasks)) < 2:
        return None
    places = matrix_cells(pairs)
    values = np.zeros((len(pairs), WIDTH * WIDTH))
    values[np.arange(len(pairs)), places[:, 0] * WIDTH + places[:, 1]] = 1
    return drawn_sums(values, tasks, rules).reshape(-1, WIDTH, WIDTH)


def measure_intervals(
    matrix: "NDArray[Any]", drawn: "NDArray[Any] | None", convention: Convention, rules: ScoreRules
) -> dict[str, Interval]:
    """Each measure with its interval. Without draws (a single task) there is no interval."""
    import numpy as np

    values = compute_measures(matrix, convention)
    by_label = np.array([float(values[name]) for name in BY_LABEL.values()])
    draws = None if drawn is None else compute_measures(drawn, convention, by_label)
    return {
        name: with_interval(value, None if draws is None else draws[name], rules.confidence)
        for name, value in values.items()
    }


def with_interval(value: Any, draws: "NDArray[Any] | None", confidence: float) -> Interval:
    """A value with the percentile interval of its draws; null ends where the value or every draw is undefined."""
    import numpy as np

    estimate = rounded(value)
    if estimate is None:
        return NO_INTERVAL
    if draws is None or np.isnan(draws).all():
        return Interval(estimate, None, None)
    return percentile_interval(value, draws, confidence)


def mean_interval(sums: "NDArray[Any]", counts: "NDArray[Any]", tasks: Sequence[str], rules: ScoreRules) -> Interval:
    """The mean sum(sums) / sum(counts) over trajectories, with an interval over tasks."""
    import numpy as np

    total = counts.sum()
    if not total:
        return NO_INTERVAL
    value = sums.sum() / total
    if len(set(tasks)) < 2:
        return Interval(rounded(value), None, None)
    drawn = drawn_sums(np.column_stack([sums, counts]), tasks, rules)
    with np.errstate(invalid="ignore", divide="ignore"):
        return with_interval(value, drawn[:, 0] / drawn[:, 1], rules.confidence)
