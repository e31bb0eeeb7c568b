"""Columns of lists and structs are built of flat columns; they are what polars makes of the same values."""

from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from openclawbench.tables.schema import column, list_column

ITEM = pl.Struct({"name": pl.String(), "count": pl.Int64(), "words": pl.List(pl.String())})
ITEMS = st.fixed_dictionaries(
    {
        "name": st.none() | st.text(max_size=3),
        "count": st.none() | st.integers(-(2**63), 2**63 - 1),
        "words": st.none() | st.lists(st.none() | st.text(max_size=3), max_size=3),
    }
)


@given(st.lists(st.none() | ITEMS, max_size=5))
def test_structs(values: list[Any]) -> None:
    assert column("x", values, ITEM).to_list() == values


@given(st.lists(st.none() | st.lists(st.none() | ITEMS, max_size=3), max_size=5))
def test_lists_of_structs(values: list[Any]) -> None:
    series = column("x", values, pl.List(ITEM))
    assert series.dtype == pl.List(ITEM)
    assert series.to_list() == values


def test_what_is_not_there_is_null_and_what_is_no_column_is_left_out() -> None:
    assert column("x", [{"count": 1, "other": 2}], ITEM).to_list() == [{"name": None, "count": 1, "words": None}]


@given(st.lists(st.lists(ITEMS, max_size=3), max_size=5))
def test_lists_given_by_their_lengths(values: list[Any]) -> None:
    items = pl.DataFrame([item for value in values for item in value], schema=ITEM.to_schema())
    assert list_column("x", [len(value) for value in values], items).to_list() == values
