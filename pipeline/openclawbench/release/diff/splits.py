"""The side of each cut that a record is on in the two releases."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openclawbench.release.diff.read import join_streams, lines, records
from openclawbench.release.diff.tally import Tally
from openclawbench.release.labels.labels import POOL_FILE
from openclawbench.release.labels.places import CUTS, SIDES
from openclawbench.release.record_key import Key
from openclawbench.release.unjudged import nobody_judged

POOL = "calibration_pool"
COLUMNS = ("from", "to")
UNCUT = "in no cut: nobody judged"


@dataclass(frozen=True)
class Side:
    """A record and its side: train, test, or `left out: <reason>`, or UNCUT."""

    key: Key
    side: str


def split_moves(before: Path, after: Path, limit: int) -> dict[str, Tally]:
    """Records whose side differs, one table per cut and one for the calibration pool; null: not in that release."""
    moves = {cut: Tally(COLUMNS, limit) for cut in (*CUTS, POOL)}
    pools = [pool_of(root) for root in (before, after)]
    for cut, folder in CUTS.items():
        for old, new in join_streams(sides(before, folder), sides(after, folder)):
            count(moves[cut], old, new)
            if cut == "default_cut":
                count(moves[POOL], pool_side(old, pools[0]), pool_side(new, pools[1]))
    return moves


def count(tally: Tally, old: Side | None, new: Side | None) -> None:
    """Count a record of a cut if its side differs."""
    was, now = (None if side is None else side.side for side in (old, new))
    known = new or old
    if known is not None and was != now:
        tally.add((was, now), known.key, ["moved" if old and new else "added or removed"])


def pool_side(side: Side | None, pool: set[Key]) -> Side | None:
    """Whether a record is in the pool."""
    return None if side is None else Side(side.key, "in" if side.key in pool else "out")


def pool_of(root: Path) -> set[Key]:
    """Keys of the calibration pool; none where nobody judged."""
    return set() if nobody_judged(root) else {line.key for line in lines(root / POOL_FILE)}


def sides(root: Path, cut: str) -> Iterator[Side]:
    """Every record of a cut, sorted by key: train, test and exclusions merged; on no side where nobody judged."""
    if nobody_judged(root):
        return (Side(line.key, UNCUT) for line in records(root))
    folder = root / cut
    streams = [read_label_file(folder / f"silver_{side}_labels.jsonl", side) for side in SIDES]
    return heapq.merge(*streams, left_out(folder / "label_exclusions.jsonl"), key=lambda side: side.key)


def read_label_file(path: Path, side: str) -> Iterator[Side]:
    """Records of one label file."""
    return (Side(line.key, side) for line in lines(path))


def left_out(path: Path) -> Iterator[Side]:
    """Records in no label file, with the reason."""
    return (Side(line.key, f"left out: {line.row().get('reason')}") for line in lines(path))
