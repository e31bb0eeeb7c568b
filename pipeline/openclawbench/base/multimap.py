"""Multimap values a key, nearly always one: as tuples, which take a third of the memory of sets."""

from collections.abc import Hashable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Multimap(dict[Key, tuple[Value, ...]]):
    """Key -> its values, each once, in the order in which they came."""

    def add(self, key: Key, value: Value) -> None:
        """One more value, if it is not there yet."""
        values = self.get(key, ())
        if value not in values:
            self[key] = (*values, value)
