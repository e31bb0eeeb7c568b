"""Predictions files against the labels of a choice: a score card each, and the detectors against one another."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openclawbench.base.terminal import pluralize
from openclawbench.detect.labels import LabelSelection, LabelSet, human_items, read_items, require_items
from openclawbench.detect.pools import EACH_HELD_OUT, HUMAN_POOL
from openclawbench.detect.predictions import PredictionsFile, read_predictions
from openclawbench.detect.protocols import SPLIT_SYMBOLS
from openclawbench.detect.score.card import compare_detectors, score_card
from openclawbench.detect.score.comparison import digests_for
from openclawbench.detect.settings import DetectRules
from openclawbench.errors import UsageError
from openclawbench.records.detection.prediction import PredictionProvenance
from openclawbench.release.labels.places import CUT_NAMES
from openclawbench.release.release_folder import release_digest


@dataclass(frozen=True)
class Evaluation:
    """Score cards in the order of the files, and McNemar's test of each two."""

    labels: LabelSet
    cards: list[dict[str, Any]]
    compared: list[dict[str, Any]]
    rules: DetectRules

    def data(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        return {"detectors": self.cards, "mcnemar": self.compared}


def evaluate(labels: LabelSet, files: Sequence[PredictionsFile], rules: DetectRules) -> Evaluation:
    """Score files. Raises UsageError for labels without a trajectory."""
    require_items(labels)
    name_apart(files)
    human = {} if labels.choice.pool == HUMAN_POOL else human_items(labels.root)
    silver = {item.key: item for item in read_items(labels.root) if item.key in human}
    digests = digests_for(labels.root, labels.by_key.keys() | human.keys(), files)
    release = release_digest(labels.root)
    cards = [
        score_card(labels, file, digests, rules, human or None, silver)
        | {"notes": list(notes(file, labels.choice, release))}
        for file in files
    ]
    return Evaluation(labels, cards, compare_detectors(labels, files, digests), rules)


def read_files(paths: Sequence[Path], rules: DetectRules) -> list[PredictionsFile]:
    """The files. Raises UsageError for one that is named twice, UnreadableInput for one that cannot be read."""
    for path, times in Counter(path.resolve() for path in paths).items():
        if times > 1:
            raise UsageError(f"{path}: is named {times} times. Name each predictions file once.")
    return [read_predictions(path, rules) for path in paths]


def name_apart(files: Sequence[PredictionsFile]) -> None:
    """Give files of the same detector the file's name, or its whole path, beside the detector's."""
    for name_of in (lambda path: path.name, str):
        times = Counter(file.name for file in files)
        for file in files:
            if times[file.name] > 1:
                file.shown = f"{file.detector} ({name_of(file.path)})"


def choice_of(files: Sequence[PredictionsFile], pool: str | None, cut: str | None, side: str | None) -> LabelSelection:
    """The labels to score against: as stated, else those that the files were made for, by their provenance. Raises
    UsageError where these differ."""
    made_for = {made_for_of(file.provenance) for file in files if file.provenance}
    if None in (pool, cut, side) and len(made_for) > 1:
        choices = "; ".join(sorted(LabelSelection(*parts).sentence for parts in made_for))
        raise UsageError(f"the files were made for different labels ({choices}). Name --pool, --cut and --side.")
    defaults = next(iter(made_for)) if made_for else (LabelSelection.pool, LabelSelection.cut, LabelSelection.side)
    return LabelSelection(pool or defaults[0], cut or defaults[1], side or defaults[2])


def made_for_of(provenance: PredictionProvenance) -> tuple[str, str, str]:
    """Pool, cut and side that a file was made for. The human pool has no sides: its cut says what was fitted."""
    cut = LabelSelection.cut if provenance.pool == HUMAN_POOL else provenance.cut
    return provenance.pool, cut, provenance.side


def probability_notes(file: PredictionsFile) -> Iterator[str]:
    """Notices about readable answers without probabilities."""
    read = [row for row in file.rows.values() if row.label is not None]
    lacking = [row for row in read if row.probabilities is None]
    is_symbol = file.provenance is not None and file.provenance.protocol == "symbol"
    if split := sum(row.failure == SPLIT_SYMBOLS for row in lacking):
        yield (
            f"without probabilities because the model's tokenizer splits symbols: {pluralize(split, 'answer')}. Their "
            "first token does not tell the labels apart (openclawbench detect check-tokenizer)"
        )
    if read and len(lacking) == len(read):
        if is_symbol and not split:
            yield "the endpoint gave no probabilities: there are no curves, thresholds and calibration"
    elif lacking:
        yield (
            f"{pluralize(len(lacking), 'answer')} of {len(read)} without probabilities: curves, thresholds and "
            "calibration are over the others alone"
        )


def notes(file: PredictionsFile, choice: LabelSelection, release: str) -> Iterator[str]:
    """Notices about a file with provenance, to print before its numbers. They contain no text of the file."""
    yield from probability_notes(file)
    provenance = file.provenance
    if provenance is None:
        return
    if provenance.release_sha256 != release:
        yield "made over another release: trajectories that differ are left out"
    fitted = provenance.trained_on
    if fitted is None:
        return
    if choice.side == fitted.side:
        yield "fitted to the very side that is scored"
    held_out = fitted.cut == EACH_HELD_OUT and choice.cut not in CUT_NAMES
    if choice.pool != HUMAN_POOL and fitted.cut != choice.cut and not held_out:
        yield "fitted to another cut: it may have seen what is scored here"
