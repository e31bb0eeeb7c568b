"""Rows written as JSON by the table are, to the byte, what they are one by one."""

import sys
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from openclawbench.base.canonical_json import canonical_json
from openclawbench.tables.canonical_rows import canonical_rows

INNER = pl.Struct({"text": pl.String, "numbers": pl.List(pl.Float64)})
KINDS = pl.Schema(
    {"text": pl.String, "whole": pl.Int64, "real": pl.Float64, "yes": pl.Boolean, "one": INNER, "many": pl.List(INNER)}
)
text, real = st.none() | st.text(st.characters(codec="utf-8")), st.none() | st.floats()
inner = st.none() | st.fixed_dictionaries({"text": text, "numbers": st.none() | st.lists(real, max_size=3)})
row = st.fixed_dictionaries(
    {
        "text": text | st.sampled_from(["1e+5", "1e16", '"e+', "\x7f\b\f\u2028\\/"]),
        "whole": st.none() | st.integers(-(2**63), 2**63 - 1),
        "real": real | st.sampled_from([1e15, 1e16, -0.0, 1e-7, 5e-324]),
        "yes": st.none() | st.booleans(),
        "one": inner,
        "many": st.none() | st.lists(inner, max_size=3),
    }
)


def written(rows: pl.DataFrame) -> list[str]:
    return [canonical_json(record) for record in rows.iter_rows(named=True)]


@given(st.lists(row, max_size=5))
def test_rows_are_written_as_each_of_them_is(rows: list[dict[str, Any]]) -> None:
    table = pl.DataFrame(rows, schema=KINDS)
    assert canonical_rows(table).to_list() == written(table)


def test_every_character_is_escaped_alike() -> None:
    points = (point for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000)
    table = pl.DataFrame({"text": [f"a{chr(point)}b" for point in points]})
    assert canonical_rows(table).to_list() == written(table)
