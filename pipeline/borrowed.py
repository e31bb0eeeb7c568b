"""Columns that a table has from another table of the same stage: written once, put together where they are read.

A packet that is not shortened has the texts of its evidence, which are nearly all of either: so the part of Packet has
its own only where they differ. Both parts have the same name, because the stage's key is in it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from pipeline.records.base import Record


@dataclass(frozen=True)
class Borrowed:
    """Which columns are another record's, key for key, except in rows where the column `own` is true."""

    lender: "type[Record]"
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    own: str


def without_borrowed(table: pl.DataFrame, borrowed: Borrowed) -> pl.DataFrame:
    """The table as it is written: null where the lender has the value."""
    return table.with_columns(pl.when(borrowed.own).then(name).alias(name) for name in borrowed.columns)


def with_borrowed(table: pl.LazyFrame, lender: pl.LazyFrame, borrowed: Borrowed) -> pl.LazyFrame:
    """The whole table of what was written of it and of its lender, in the order of its rows."""
    names = {name: f"lent {name}" for name in borrowed.columns}
    lent = lender.select(*borrowed.keys, *(pl.col(name).alias(alias) for name, alias in names.items()))
    columns = table.collect_schema().names()
    return (
        table.join(lent, on=list(borrowed.keys), how="left", maintain_order="left")
        .with_columns(pl.coalesce(name, alias) for name, alias in names.items())
        .select(columns)
    )
