"""What a function gave, kept for the next time, within bounds."""

from collections.abc import Callable, Hashable
from typing import TypeVar

MOST = 4096  # answers; of what sessions ask, names and spellings, there are some dozen to some hundred
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class MemoDict(dict[Key, Value]):
    """A dict of what a function gives for its keys, made when a key is asked for; of too many all are forgotten."""

    def __init__(self, make: Callable[[Key], Value]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, key: Key) -> Value:
        if len(self) >= MOST:
            self.clear()
        value = self[key] = self.make(key)
        return value
