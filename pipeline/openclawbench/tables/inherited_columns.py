"""Columns that a table has from other tables: written once, put together where they are read.

The steps and user turns of Evidence are those of normalize beside their descriptors, and a packet that is not shortened
has the evidence's: texts, nearly all that either is. The parts of a command and what fired a flag are the same before
and after alignment. So a part has its own only where they differ, and its metadata names the parts that it was made of.
What one of those holds never changes, since a key names it, and it is not swept before what was made of it is out of
date.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from openclawbench.tables.record import Record

Keys = Mapping[str, str]  # lending record's name -> key of its part of the same shard
LENDERS = "lenders"  # entry of a part's metadata


@dataclass(frozen=True)
class Borrowed:
    """Which columns are other tables', except in rows where the column `own` is true."""

    lenders: "tuple[type[Record], ...]"
    lent: Callable[..., tuple[pl.LazyFrame, ...]]  # of the lenders' tables: some with `keys` and some of `columns` each
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    own: str | None = None


def without_borrowed(table: pl.DataFrame, borrowed: Borrowed) -> pl.DataFrame:
    """The table as it is written: null where the lenders have the value."""
    if borrowed.own is None:
        schema = table.schema
        return table.with_columns(pl.lit(None, schema[name]).alias(name) for name in borrowed.columns)
    row = pl.when(borrowed.own).then(pl.int_range(pl.len()))
    return table.with_columns(pl.col(borrowed.columns).gather(row))  # leaves nothing of the others behind the lists


def with_borrowed(table: pl.LazyFrame, lenders: list[pl.LazyFrame], borrowed: Borrowed) -> pl.LazyFrame:
    """The whole table of what was written of it and of its lenders, in the order of its rows. A list of which no
    lender has an item is empty."""
    schema = table.collect_schema()
    keys, columns = list(borrowed.keys), schema.names()
    names = {name: f"lent {name}" for name in borrowed.columns}
    for lent in borrowed.lent(*lenders):
        some = [pl.col(name).alias(names[name]) for name in lent.collect_schema().names() if name in names]
        table = table.join(lent.select(*keys, *some), on=keys, how="left", maintain_order="left")
    found = {name: pl.coalesce(name, lent) for name, lent in names.items()}
    filled = [one.fill_null([]) if schema[name] == pl.List else one for name, one in found.items()]
    return table.with_columns(filled).select(columns)


def naming(lenders: Keys) -> dict[str, str]:
    """Metadata of a part that was made of these."""
    return {LENDERS: json.dumps(lenders, sort_keys=True)}


def named_in(part: Path) -> Keys:
    """The parts that a part was made of; empty where it has all of its columns itself."""
    found: Keys = json.loads(pl.read_parquet_metadata(part).get(LENDERS, "{}"))
    return found
