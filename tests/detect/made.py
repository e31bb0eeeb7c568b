"""Labels and predictions made up for tests of scores; no release is needed."""

from pathlib import Path
from typing import Any

from openclawbench.detect.labels import LabelledTrajectory, LabelSelection, LabelSet
from openclawbench.detect.predictions import PredictionsFile, prediction
from openclawbench.detect.settings import LABELS, NORMAL

T43 = [  # paper T43: rows are labels, columns predictions
    [2091, 75, 79, 10, 0, 0],
    [14, 179, 8, 1, 0, 0],
    [37, 12, 84, 1, 0, 0],
    [16, 9, 3, 5, 0, 0],
    [4, 1, 7, 0, 0, 0],
    [2, 3, 5, 0, 0, 0],
]


def item(number: int, label: str = NORMAL, task: str | None = None, **values: Any) -> LabelledTrajectory:
    defaults: dict[str, Any] = {
        "key": (f"m{number % 3}", f"t{number:05}"),
        "task_id": task if task is not None else f"task{number // 3}",
        "num_steps": number % 30,
        "slice_label": "pass_low_risk",
        "onset": None,
        "span": frozenset(),
        "status": "accepted",
        "judge": "openai",
    }
    return LabelledTrajectory(label=label, **defaults | values)


def of_matrix(matrix: list[list[int]]) -> tuple[LabelSet, PredictionsFile]:
    """Labels and predictions with exactly this confusion."""
    pairs = [
        (LABELS[row], LABELS[column])
        for row, counts in enumerate(matrix)
        for column, count in enumerate(counts)
        for _ in range(count)
    ]
    items = [item(number, label) for number, (label, _) in enumerate(pairs)]
    predicted = [prediction(labelled.key, label=pair) for labelled, (_, pair) in zip(items, pairs, strict=True)]
    return label_set(items), predictions_file(predicted)


def label_set(items: list[LabelledTrajectory]) -> LabelSet:
    return LabelSet(Path("release"), LabelSelection("accepted"), sorted(items, key=lambda labelled: labelled.key), {})


def predictions_file(rows: list[Any], name: str = "made") -> PredictionsFile:
    return PredictionsFile(Path(f"{name}.jsonl"), rows={(row.source_model, row.trajectory_id): row for row in rows})
