"""Patterns of rule files that run inside polars (Rust regex): ASCII word boundaries, no Unicode classes."""

import re
from collections.abc import Iterable

import polars as pl

NOTHING = r"[^\x00-\x{10FFFF}]"
FORBIDDEN = re.compile(r"\\[wWdDsS]|\(\?[=!<]")


def rust_pattern(pattern: str) -> str:
    r"""A pattern ready for polars: `\b` becomes the ASCII one (a Unicode `\b` is ~580 times slower on non-ASCII text).

    ValueError for `\w`, `\d`, `\s` (write the class out), look-around, and whatever Rust refuses.
    """
    if FORBIDDEN.search(pattern):
        raise ValueError(f"write classes out and use no look-around: {pattern!r}")
    ready = re.sub(r"(?<!\\)\\b", r"(?-u:\\b)", pattern)
    try:
        pl.Series([""]).str.contains(ready)
    except pl.exceptions.ComputeError as error:
        raise ValueError(f"bad pattern {pattern!r}: {error}") from error
    return ready


def union(patterns: Iterable[str]) -> str:
    """One pattern that is found where any of these is; nothing is found by a union of none."""
    return "|".join(f"(?:{pattern})" for pattern in patterns) or NOTHING
