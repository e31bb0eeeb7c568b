"""Cached values that are derived from the listing of a raw folder."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Listing = frozenset[str]  # every file below the raw folder
Made = TypeVar("Made")


def cached_by_listing(make: Callable[[Listing], Made]) -> Callable[[Listing], Made]:
    """Cache a function of a listing for the last listing, by identity. A cache by equality would compare all paths for
    every session.
    """
    last: list[tuple[Listing, Made]] = []

    @wraps(make)
    def kept(paths: Listing) -> Made:
        if not last or last[0][0] is not paths:
            last[:] = [(paths, make(paths))]
        return last[0][1]

    return kept
