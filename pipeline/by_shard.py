"""Rows by shard, packed: a corpus has dozens of small objects for every session, and a run looks at those of one shard
at a time. As objects they would take a kilobyte and a half a session as long as a run lasts."""

import pickle
from collections.abc import Iterator, Mapping
from typing import TypeVar

Row = TypeVar("Row")


class ByShard(Mapping[int, list[Row]]):
    """Shard -> its rows; they are unpacked anew each time that they are asked for."""

    def __init__(self, rows: Mapping[int, list[Row]]) -> None:
        self.packed = {shard: pickle.dumps(some, pickle.HIGHEST_PROTOCOL) for shard, some in rows.items()}

    def __getitem__(self, shard: int) -> list[Row]:
        found: list[Row] = pickle.loads(self.packed[shard])
        return found

    def __iter__(self) -> Iterator[int]:
        return iter(self.packed)

    def __len__(self) -> int:
        return len(self.packed)

    def only(self, shard: int) -> "ByShard[Row]":
        """The rows of one shard, left packed."""
        found: ByShard[Row] = ByShard({})
        if shard in self.packed:
            found.packed[shard] = self.packed[shard]
        return found
