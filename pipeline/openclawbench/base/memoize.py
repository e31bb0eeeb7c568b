"""Results that are kept for the next call, within bounds."""

from collections.abc import Callable, Hashable
from functools import wraps
from operator import is_
from typing import Any, ParamSpec, TypeVar

MAX_ENTRIES = 4096  # sessions have some dozens to hundreds of distinct names and spellings
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")


def memoize(function: Callable[Arguments, Value]) -> Callable[Arguments, Value]:
    """Keep the last result of a function while it is called with the same objects.

    For expressions and tables that follow from rules alone: to build them takes longer than to compute a small shard,
    and every shard of a run has the same rules.
    """
    last: list[tuple[tuple[Any, ...], Value]] = []

    @wraps(function)
    def memoized(*args: Arguments.args, **_no_keywords: Arguments.kwargs) -> Value:
        if not last or not all(map(is_, last[0][0], args)):
            last[:] = [(args, function(*args))]  # type: ignore[call-arg]
        return last[0][1]

    return memoized


class MemoDict(dict[Key, Value]):
    """A dict that computes the value of a missing key, and keeps it. At MAX_ENTRIES it is emptied."""

    def __init__(self, compute: Callable[[Key], Value]) -> None:
        super().__init__()
        self.compute = compute

    def __missing__(self, key: Key) -> Value:
        if len(self) >= MAX_ENTRIES:
            self.clear()
        value = self[key] = self.compute(key)
        return value
