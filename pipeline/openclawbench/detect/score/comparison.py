"""Match predictions with labels: a score is over these pairs alone, and says how many they are."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from openclawbench.detect.labels import LabelledTrajectory, released_records
from openclawbench.detect.packet import trajectory_digest
from openclawbench.detect.predictions import PredictionsFile
from openclawbench.records.detection.prediction import Prediction
from openclawbench.release.record_key import Key, key_of

OTHER_KEY, OTHER_TRAJECTORY, MISSING, UNCHECKED = "other_key", "other_trajectory", "missing", "unchecked"
NAMED = 5  # keys that are named of each kind


@dataclass(frozen=True)
class Pair:
    """A label and the prediction of the same trajectory."""

    item: LabelledTrajectory
    row: Prediction


@dataclass(frozen=True)
class Comparison:
    """The pairs, sorted by key. `not_compared`: reason -> keys. `other_key`: predicted, and not among the labels;
    `other_trajectory`: the trajectory that was read is not the one of this release; `missing`: labelled, and not
    predicted. `unchecked`: pairs whose prediction does not say what was read."""

    pairs: list[Pair]
    items: int
    not_compared: dict[str, list[Key]] = field(default_factory=dict)
    unchecked: int = 0

    @property
    def coverage(self) -> float | None:
        """Share of the labelled trajectories that are compared."""
        return len(self.pairs) / self.items if self.items else None

    def counts(self) -> dict[str, int]:
        """Reason -> number."""
        return {reason: len(keys) for reason, keys in self.not_compared.items()}

    def named(self) -> dict[str, list[str]]:
        """Reason -> the first keys."""
        return {reason: ["/".join(key) for key in keys[:NAMED]] for reason, keys in self.not_compared.items() if keys}


def compare_with(
    items: Mapping[Key, LabelledTrajectory],
    file: PredictionsFile,
    digests: Mapping[Key, str],
    beside: Container[Key] = (),
) -> Comparison:
    """The comparison of a predictions file. `digests`: trajectory_sha256 of the release's trajectories; a key without
    one is not checked. `beside`: keys that are predicted for another comparison, and are not a fault here."""
    pairs, reasons, unchecked = [], dict[str, list[Key]](), 0
    for key, row in sorted(file.rows.items()):
        if key not in items:
            if key not in beside:
                reasons.setdefault(OTHER_KEY, []).append(key)
        elif row.trajectory_sha256 is not None and digests.get(key, row.trajectory_sha256) != row.trajectory_sha256:
            reasons.setdefault(OTHER_TRAJECTORY, []).append(key)
        else:
            pairs.append(Pair(items[key], row))
            unchecked += row.trajectory_sha256 is None
    if missing := sorted(items.keys() - file.rows.keys()):
        reasons[MISSING] = missing
    return Comparison(pairs, len(items), reasons, unchecked)


def digests_for(root: Path, items: Iterable[Key], files: Iterable[PredictionsFile]) -> dict[Key, str]:
    """trajectory_sha256 of the trajectories of a release that some file says it has read."""
    wanted = set(items)
    stated = {key for file in files for key, row in file.rows.items() if row.trajectory_sha256 is not None} & wanted
    return {key_of(record): trajectory_digest(record) for record in (released_records(root, stated) if stated else ())}
