"""Raw files as a column whose large values keep the memory that they are mapped or read into."""

from collections.abc import Iterable, Iterator
from itertools import accumulate
from mmap import mmap
from typing import TYPE_CHECKING

import polars as pl

from openclawbench.tables.schema import null_mask

if TYPE_CHECKING:
    import pyarrow as pa

SMALL_BYTES = 1 << 20  # up to this size, a file is copied together with its neighbours
BATCH_BYTES = 4 << 20  # size at which such a batch is closed
LARGE_BYTES = 16 << 20  # from this size on, a file is mapped, and read as a view


def bytes_column(name: str, values: Iterable[bytes | mmap | None]) -> pl.Series:
    """A column of lists with one value each. Large values keep their memory, so that a shard holds its files once.

    Without the lists polars would copy the only value of a table each time that the table is passed on. Small values
    are copied in batches of some megabytes, which is faster than a buffer for each.
    """
    import pyarrow as pa

    chunks = [list_array(batch) for batch in batch_values(values)]
    column = pl.from_arrow(pa.chunked_array(chunks, pa.large_list(pa.large_binary())), rechunk=False)
    assert isinstance(column, pl.Series)
    return column.alias(name)


def batch_values(values: Iterable[bytes | mmap | None]) -> Iterator[list[bytes | mmap | None]]:
    """Large values alone, small ones in batches. Holds no batch after it is consumed."""
    small: list[bytes | mmap | None] = []
    size = 0
    for value in values:
        length = len(value) if value else 0
        if small and (length > SMALL_BYTES or size > BATCH_BYTES):
            yield small
            small, size = [], 0
        small.append(value)
        size += length
        if length > SMALL_BYTES:
            yield small
            small, size = [], 0
    if small:
        yield small


def list_array(values: list[bytes | mmap | None]) -> "pa.Array":
    """An array of lists with one value each. A single value is not copied."""
    import pyarrow as pa

    present = [value for value in values if value is not None]
    ends = pl.Series([0, *accumulate(map(len, present))], dtype=pl.Int64).to_arrow().buffers()[1]
    data = present[0] if len(present) == 1 else b"".join(present)
    items = pa.Array.from_buffers(pa.large_binary(), len(present), [None, ends, pa.py_buffer(data)])
    starts = pl.Series([0, *accumulate(int(value is not None) for value in values)], dtype=pl.Int64).to_arrow()
    return pa.LargeListArray.from_arrays(starts, items, mask=null_mask(values))


def iter_bytes(column: pl.Series) -> Iterator[bytes | memoryview | None]:
    """The values of a `bytes_column`, copied one batch at a time. A very large value is a view of its memory."""
    for chunk in column.get_chunks():
        if len(chunk) == 1 and (view := large_view(chunk)) is not None:
            yield view
        else:
            for cell in chunk.to_list():
                yield None if cell is None else cell[0]


def large_view(chunk: pl.Series) -> memoryview | None:
    """A view of a chunk's only value if it is very large, else None."""
    buffers = chunk.to_arrow(compat_level=pl.CompatLevel.newest()).values.buffers()
    data = buffers[-1] if len(buffers) == 3 else None  # validity, views, data; more if there are several values
    return memoryview(data) if data is not None and data.size >= LARGE_BYTES else None
