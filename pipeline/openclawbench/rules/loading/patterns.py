"""Patterns of rule files that run inside polars (Rust regex): ASCII word boundaries, no Unicode classes."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import accumulate
from typing import Annotated

import polars as pl
from pydantic import AfterValidator

NEVER_MATCHES = r"[^\x00-\x{10FFFF}]"
IGNORE_CASE = "(?i)"
ASCII_BOUNDARY = r"(?-u:\b)"
NO_GROUP = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)  # an escaped sign, a class
GROUPS = re.compile(r"[()]")
CAPTURING = re.compile(r"\((?!\?)")
RUST_FAULT = re.compile(r"^error: (.*)$", re.MULTILINE)
DEFERRED_PATTERNS: ContextVar[list[str] | None] = ContextVar("patterns that are compiled later", default=None)
FORBIDDEN = re.compile(r"\\[wWdDsS]|\(\?[=!<]")


def rust_pattern(pattern: str, written: str | None = None) -> str:
    r"""A pattern ready for polars: `\b` becomes the ASCII one (a Unicode `\b` is ~580 times slower on non-ASCII text).

    ValueError for `\w`, `\d`, `\s` (write the class out), look-around, and whatever Rust refuses; it shows what was
    `written`, if that is something else. Within defer_compilation Rust compiles it later.
    """
    translated = translate_for_rust(pattern, written)
    if (deferred := DEFERRED_PATTERNS.get()) is not None:
        deferred.append(translated)
        return translated
    try:
        pl.Series([""]).str.contains(translated)
    except pl.exceptions.ComputeError as error:
        why = RUST_FAULT.search(str(error))
        raise ValueError(not_a_pattern(written or pattern, why[1] if why else str(error))) from error
    return translated


def translate_for_rust(pattern: str, written: str | None = None) -> str:
    """The pattern with the ASCII word boundary, not compiled. Raises ValueError for classes and look-around."""
    if FORBIDDEN.search(pattern):
        raise ValueError(f"write classes out and use no look-around: {written or pattern!r}")
    return re.sub(r"(?<!\\)\\b", lambda _: ASCII_BOUNDARY, pattern)


@contextmanager
def defer_compilation() -> Iterator[list[str]]:
    """Collects the patterns of this context instead of compiling them; rust_accepts then compiles all of them at
    once."""
    deferred: list[str] = []
    token = DEFERRED_PATTERNS.set(deferred)
    try:
        yield deferred
    finally:
        DEFERRED_PATTERNS.reset(token)


def rust_accepts(patterns: Iterable[str]) -> bool:
    """True if Rust accepts each of these patterns. They are compiled as one pattern, which takes a third of the time,
    and without the flag for case, which doubles the time and does not affect validity."""
    distinct = list(dict.fromkeys(text.removeprefix(IGNORE_CASE) for text in patterns))
    try:
        pl.Series([""]).str.contains(union(distinct))
    except pl.exceptions.ComputeError:
        return False
    return all(map(has_balanced_groups, distinct))


def has_balanced_groups(pattern: str) -> bool:
    """True if every parenthesis of a pattern has its partner in it, so that the pattern is unchanged within a union."""
    depths = accumulate(1 if text == "(" else -1 for text in GROUPS.findall(NO_GROUP.sub("", pattern)))
    return min(last := [0, *depths]) == 0 == last[-1]


def number_of_groups(pattern: str) -> int:
    """How many groups of a pattern capture what they match; it names none."""
    return len(CAPTURING.findall(NO_GROUP.sub("", pattern)))


def python_pattern(pattern: str) -> str:
    """A pattern that Python's re accepts, unchanged. ValueError names the fault."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(not_a_pattern(pattern, str(error))) from error
    return pattern


def not_a_pattern(pattern: str, why: str) -> str:
    """One sentence on a pattern that does not compile."""
    return f"not a regular expression: {pattern!r}: {why}"


def union(patterns: Iterable[str]) -> str:
    """One pattern that is found where any of these is; nothing is found by a union of none."""
    return "|".join(f"(?:{pattern})" for pattern in patterns) or NEVER_MATCHES


RustPattern = Annotated[str, AfterValidator(rust_pattern)]  # runs inside polars
PythonPattern = Annotated[str, AfterValidator(python_pattern)]
