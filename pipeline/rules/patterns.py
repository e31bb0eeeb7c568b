"""Patterns of rule files that run inside polars (Rust regex): ASCII word boundaries, no Unicode classes."""

import re
from collections.abc import Iterable

import polars as pl

from pipeline.rules.literals import needed

NOTHING = r"[^\x00-\x{10FFFF}]"
ASCII_BOUNDARY = r"(?-u:\b)"
FLAGS = re.compile(r"(?<!\\)(?:\\\\)*\(\?(?!:)")  # a group that says what letters mean
FORBIDDEN = re.compile(r"\\[wWdDsS]|\(\?[=!<]")


def rust_pattern(pattern: str) -> str:
    r"""A pattern ready for polars: `\b` becomes the ASCII one (a Unicode `\b` is ~580 times slower on non-ASCII text).

    ValueError for `\w`, `\d`, `\s` (write the class out), look-around, and whatever Rust refuses.
    """
    if FORBIDDEN.search(pattern):
        raise ValueError(f"write classes out and use no look-around: {pattern!r}")
    ready = re.sub(r"(?<!\\)\\b", lambda _: ASCII_BOUNDARY, pattern)
    try:
        pl.Series([""]).str.contains(ready)
    except pl.exceptions.ComputeError as error:
        raise ValueError(f"bad pattern {pattern!r}: {error}") from error
    return ready


def needed_texts(pattern: str) -> list[str]:
    """Plain texts, in lower case, of which one stands in whatever a pattern of rust_pattern is found in; empty where
    none are known: of a pattern to which case does not matter, whose letters have more than two cases, none are."""
    written = pattern.replace(ASCII_BOUNDARY, r"\b")
    if FLAGS.search(written):
        return []
    try:
        return list(needed(written, re.ASCII))
    except re.error:  # what only Rust knows
        return []


def union(patterns: Iterable[str]) -> str:
    """One pattern that is found where any of these is; nothing is found by a union of none."""
    return "|".join(f"(?:{pattern})" for pattern in patterns) or NOTHING
