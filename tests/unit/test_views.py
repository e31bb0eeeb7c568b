"""The bytes of a column's values, read where they are."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclawbench.construct.packet import views

VALUES = st.lists(st.one_of(st.binary(max_size=14), st.binary(min_size=200, max_size=300)))


@given(VALUES, VALUES, st.integers(0, 5), st.integers(0, 20))
def test_they_are_the_values(one: list[bytes], other: list[bytes], start: int, length: int) -> None:
    column = pl.concat([pl.Series(one, dtype=pl.Binary), pl.Series(other, dtype=pl.Binary)], rechunk=False)
    assert [bytes(value) for value in views(column)] == one + other
    assert [bytes(value) for value in views(column.slice(start, length))] == (one + other)[start : start + length]


@pytest.mark.parametrize("size", [1 << 20, 20 << 20])
def test_long_values_in_several_buffers_are_too(size: int) -> None:
    values = [bytes([number]) * size for number in range(3)]
    assert [bytes(value) for value in views(pl.Series(values).rechunk())] == values
