"""`detect train --cut hold-one-out`: an adapter for each source model that is held out, and one predictions file.

A folder holds MODEL/ for each, as `detect train --cut MODEL` makes it, and predictions.jsonl with its provenance: each
model's trajectories as predicted by the adapter that saw none of them (paper section 6.3, for one model of six).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from openclawbench.base.canonical_json import canonical_json, sha256_text
from openclawbench.detect.labels import LabelSelection, LabelSet, held_out_models, read_labels
from openclawbench.detect.pools import EACH_HELD_OUT
from openclawbench.detect.predictions import read_predictions, write_predictions
from openclawbench.detect.training.plan import TrainingRun
from openclawbench.detect.training.rows import refuse_human
from openclawbench.detect.training.run import PREDICTIONS_FILE, Report, TrainingResult, predict_with, train_adapter
from openclawbench.records.detection.prediction import PredictionProvenance


def held_out_sides(root: Path, pool: str) -> Iterator[tuple[LabelSet, LabelSet]]:
    """Train and test side for each source model that is held out. Raises UsageError for a pool without sides, and for
    an empty one."""
    refuse_human(pool)
    for model in held_out_models(root, pool):
        yield (
            read_labels(root, LabelSelection(pool, model, "train")),
            read_labels(root, LabelSelection(pool, model, "test")),
        )


def train_each(runs: Sequence[TrainingRun], folder: Path, report: Report) -> list[TrainingResult]:
    """Train an adapter for each model that is held out, then predict its trajectories, and write all predictions as one
    file into `folder`. What an earlier run of the same command finished is not repeated. Raises as `train` does."""
    learned = []
    for run in runs:
        report(f"{run.test.choice.cut} is held out")
        learned.append(train_adapter(run, report))
    trained = [TrainingResult(each.adapter, predict_with(each, report)) for each in learned]
    provenances = [end.predictions for end in trained if end.predictions is not None]
    if provenances:
        files = [read_predictions(run.folder / PREDICTIONS_FILE, run.rules) for run in runs]
        write_predictions(
            folder / PREDICTIONS_FILE,
            [row for file in files for row in file.rows.values()],
            joint_provenance(provenances),
        )
    return trained


def joint_provenance(provenances: Sequence[PredictionProvenance]) -> dict[str, Any]:
    """The provenance of the file with all predictions: what the adapters have in common, and the digest of each
    adapter's weights and of all together. Counts of learned rows are sums over the adapters."""
    weights = {provenance.cut: provenance.weights_sha256 or "" for provenance in provenances}
    shared: dict[str, Any] = {
        name: value
        for name, value in provenances[0].parameters.items()
        if all(other.parameters.get(name) == value for other in provenances)
    }
    fitted = [provenance.trained_on for provenance in provenances if provenance.trained_on is not None]
    return provenances[0].model_dump() | {
        "cut": EACH_HELD_OUT,
        "weights_sha256": sha256_text(canonical_json(weights)),
        "parameters": shared | {f"weights without {model}": digest for model, digest in weights.items()},
        "trained_on": {
            "pool": provenances[0].pool,
            "cut": EACH_HELD_OUT,
            "side": "train",
            "rows": sum(data.rows for data in fitted),
            "anomalous": sum(data.anomalous for data in fitted),
        },
        "label_judges": sorted({judge for provenance in provenances for judge in provenance.label_judges}),
        "label_statuses": sorted({status for provenance in provenances for status in provenance.label_statuses}),
    }
