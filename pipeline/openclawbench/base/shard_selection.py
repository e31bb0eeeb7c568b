"""The share of a corpus that one of several runs works on: `--shard i/n`, for whoever's scheduler is not ours.

A shard is chosen by a stable hash of its sessions already, so its number modulo n spreads sessions evenly and is the
same on every machine.
"""

import re
from dataclasses import dataclass
from typing import Self

from openclawbench.errors import UsageError

WRITTEN = re.compile(r"(\d{1,6})/(\d{1,6})")


@dataclass(frozen=True)
class ShardSelection:
    """ShardSelection `index` (from 0) of `of`. Shares of one `of` are disjoint and together everything."""

    index: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """`i/n` as it is written. UsageError where it is not that, or i is not below n."""
        found = WRITTEN.fullmatch(text)
        index, of = map(int, found.groups()) if found else (0, 0)
        if index >= of:
            raise UsageError(f"--shard {text}: write i/n with i from 0 to n-1, such as 0/4, 1/4, 2/4 and 3/4.")
        return cls(index, of)

    def has(self, shard: int | str) -> bool:
        """True for a shard that this share works on; never for the corpus as a whole."""
        return isinstance(shard, int) and shard % self.of == self.index

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"
