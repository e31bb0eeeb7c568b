"""Rows of a table as lines of canonical JSON, written by polars in a quarter of the time of writing row by row."""

import polars as pl

from openclawbench.base.canonical_json import canonical_json

EXPONENT = "[0-9]e[+][0-9]"  # polars writes numbers from 1e16 on with a sign that canonical JSON does not have


def canonical_rows(rows: pl.DataFrame) -> pl.Series:
    """canonical_json of each row, byte for byte. Rows that may hold an exponent are written one by one."""
    lines = rows.select(pl.struct(pl.all()).struct.json_encode()).to_series()
    doubtful = lines.str.contains(EXPONENT).arg_true()
    if doubtful.is_empty():
        return lines
    return lines.scatter(doubtful, [canonical_json(row) for row in rows[doubtful].iter_rows(named=True)])
