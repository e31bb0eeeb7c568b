"""Which files are clean UTF-8 (no invalid byte, no escaped surrogate): many at once, which takes a fifth of
the time of a check line by line."""

from collections.abc import Iterator

import polars as pl

SURROGATES = ("\\ud", "\\uD")  # how the escape of a surrogate begins; the reader tells pairs from lone ones


def are_clean_utf8(contents: pl.Series) -> Iterator[bool]:
    """For each value of a column of bytes_column(), whether it is known to be clean. The reader checks the others:
    a large value, which is alone in its chunk, and all values of a chunk that holds one that is not clean."""
    for chunk in contents.get_chunks():
        yield from [False] * len(chunk) if len(chunk) == 1 else chunk_is_clean(chunk)


def chunk_is_clean(chunk: pl.Series) -> list[bool]:
    """The same for the values of one chunk."""
    try:
        texts = chunk.list.get(0, null_on_oob=True).cast(pl.String)
    except pl.exceptions.PolarsError:  # a value is not UTF-8
        return [False] * len(chunk)
    escapes = [texts.str.contains(start, literal=True) for start in SURROGATES]
    return (texts.is_not_null() & ~escapes[0] & ~escapes[1]).fill_null(False).to_list()
