"""Which shards one of several runs computes: `--shard i/n`, for schedulers such as Slurm arrays.

Sessions are assigned to shards by a stable hash, so a shard's number modulo n spreads sessions evenly and is the same
on every machine.
"""

import re
from dataclasses import dataclass
from typing import Self

from openclawbench.errors import UsageError

WRITTEN = re.compile(r"(\d{1,6})/(\d{1,6})")


@dataclass(frozen=True)
class ShardSelection:
    """Part `index` (from 0) of `of` parts. The parts are disjoint, and together they are all shards."""

    index: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `i/n`. Raises UsageError unless i is below n."""
        match = WRITTEN.fullmatch(text)
        index, of = map(int, match.groups()) if match else (0, 0)
        if index >= of:
            raise UsageError(f"--shard {text}: write i/n with i from 0 to n-1, such as 0/4, 1/4, 2/4 and 3/4.")
        return cls(index, of)

    def has(self, shard: int | str) -> bool:
        """True for a shard of this part; false for the corpus as a whole, which has no number."""
        return isinstance(shard, int) and shard % self.of == self.index

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"
