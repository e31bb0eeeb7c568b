"""Rows of a table as lines of JSON: to the byte what canonical_json makes of each of them."""

import polars as pl

from openclawbench.base.canonical_json import canonical_json

GREAT_NUMBER = "[0-9]e[+][0-9]"  # a number from 1e16 on as polars writes it, with a sign, or a text that looks like one


def canonical_rows(rows: pl.DataFrame) -> pl.Series:
    """canonical_json of each row, in a quarter of the time that it takes row by row."""
    texts = rows.select(pl.struct(pl.all()).struct.json_encode()).to_series()
    odd = texts.str.contains(GREAT_NUMBER).arg_true()
    if odd.is_empty():
        return texts
    return texts.scatter(odd, [canonical_json(row) for row in rows[odd].iter_rows(named=True)])
