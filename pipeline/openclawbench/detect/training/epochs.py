"""Which rows an epoch of training has: all anomalous ones, and of the normal ones a part that is drawn anew each time.

Draws are sorted digests, so that the same seed gives the same rows in the same order on any machine and with any
library (own choice; paper T42: "random per-epoch downsample").
"""

from collections.abc import Callable, Sequence
from hashlib import sha256
from math import floor

from openclawbench.detect.labels import LabelledTrajectory
from openclawbench.detect.settings import NORMAL
from openclawbench.errors import UsageError
from openclawbench.release.record_key import Key

BUCKETS = 2**32


class EpochDraws:
    """The draws of the epochs of some rows. `rows`: key and label of each row, in order."""

    def __init__(self, rows: Sequence[tuple[Key, str]], normal_per_anomalous: float, seed: int) -> None:
        self.keys = [key for key, _ in rows]
        self.anomalous = [number for number, (_, label) in enumerate(rows) if label != NORMAL]
        self.normal = [number for number, (_, label) in enumerate(rows) if label == NORMAL]
        self.seed = seed
        most = floor(normal_per_anomalous * len(self.anomalous)) if normal_per_anomalous else len(self.normal)
        self.normal_rows = min(most, len(self.normal))

    @property
    def size(self) -> int:
        """Rows of an epoch; the same in each."""
        return len(self.anomalous) + self.normal_rows

    def draw(self, epoch: int) -> list[int]:
        """Numbers of the rows of an epoch, from 1, in the order in which they are learned."""
        drawn = sorted(self.normal, key=self.place(f"draw {epoch}"))[: self.normal_rows]
        return sorted([*self.anomalous, *drawn], key=self.place(f"order {epoch}"))

    def place(self, purpose: str) -> Callable[[int], tuple[bytes, int]]:
        """A function that gives a row's place in a random order."""

        def place_of(number: int) -> tuple[bytes, int]:
            model, trajectory = self.keys[number]
            return sha256(f"{self.seed}\0{purpose}\0{model}\0{trajectory}".encode()).digest(), number

        return place_of


def require_anomalous(draws: EpochDraws, where: str) -> None:
    """Raises UsageError where nothing anomalous can be learned."""
    if not draws.anomalous:
        raise UsageError(
            f"{where}: no trajectory is anomalous, so there is nothing to learn. Take another pool, cut or release."
        )


def is_validation(item: LabelledTrajectory, share: float, seed: int) -> bool:
    """True for the part of a train side that is set aside to choose a checkpoint: a share of the tasks."""
    number = int.from_bytes(sha256(f"{seed}\0validation\0{item.task}".encode()).digest()[:4])
    return number < share * BUCKETS
