"""A dict with several values per key. Nearly every key has one value, and tuples take a third of the memory of sets."""

from collections.abc import Hashable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Multimap(dict[Key, tuple[Value, ...]]):
    """Key -> its distinct values, in the order in which they were added."""

    def add(self, key: Key, value: Value) -> None:
        """Add a value to a key unless the key has it already."""
        values = self.get(key, ())
        if value not in values:
            self[key] = (*values, value)
