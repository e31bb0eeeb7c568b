"""What is made of the listing of a raw folder, once."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Listing = frozenset[str]  # every file below the raw folder
Made = TypeVar("Made")


def of_listing(make: Callable[[Listing], Made]) -> Callable[[Listing], Made]:
    """A function of a listing that keeps what it gave for the very listing it was asked about last.

    A cache that looks for an equal one would compare every path of both each time a session asks.
    """
    last: list[tuple[Listing, Made]] = []

    @wraps(make)
    def kept(paths: Listing) -> Made:
        if not last or last[0][0] is not paths:
            last[:] = [(paths, make(paths))]
        return last[0][1]

    return kept
