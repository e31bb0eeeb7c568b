"""Columns that a table inherits from other tables: stored once, restored when the table is read.

The steps and user turns of Evidence are those of normalize beside their descriptors. A packet that is not shortened
has the evidence's texts. The parts of a command and the evidence of a flag are the same before and after alignment.
Such columns make up nearly all of a table's bytes, so a part stores them only where they differ. Its metadata names the
parts that it inherits from: its origins. An origin never changes, because its key names its content, and it is swept
only when what inherits from it is out of date.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from openclawbench.tables.record import Record

OriginKeys = Mapping[str, str]  # name of the origin's record -> key of its part of the same shard
METADATA_ENTRY = "lenders"


@dataclass(frozen=True)
class InheritedColumns:
    """The columns that a table inherits, except in rows where the column `overridden_where` is true."""

    origins: "tuple[type[Record], ...]"
    select_inherited: Callable[..., tuple[pl.LazyFrame, ...]]  # origins' tables -> tables of `keys` and some `columns`
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    overridden_where: str | None = None


def drop_inherited(table: pl.DataFrame, inherited: InheritedColumns) -> pl.DataFrame:
    """The table as it is stored: None if the value is inherited."""
    if inherited.overridden_where is None:
        schema = table.schema
        return table.with_columns(pl.lit(None, schema[name]).alias(name) for name in inherited.columns)
    row = pl.when(inherited.overridden_where).then(pl.int_range(pl.len()))
    return table.with_columns(pl.col(inherited.columns).gather(row))  # unlike `when`, keeps no bytes behind null lists


def restore_inherited(table: pl.LazyFrame, origins: list[pl.LazyFrame], inherited: InheritedColumns) -> pl.LazyFrame:
    """The complete table, from the stored one and its origins, in the order of its rows. A list without items in any
    origin is empty."""
    schema = table.collect_schema()
    keys, columns = list(inherited.keys), schema.names()
    aliases = {name: f"inherited {name}" for name in inherited.columns}
    for values in inherited.select_inherited(*origins):
        present = [pl.col(name).alias(aliases[name]) for name in values.collect_schema().names() if name in aliases]
        table = table.join(values.select(*keys, *present), on=keys, how="left", maintain_order="left")
    restored = {name: pl.coalesce(name, alias) for name, alias in aliases.items()}
    return table.with_columns(
        value.fill_null([]) if schema[name] == pl.List else value for name, value in restored.items()
    ).select(columns)


def origins_metadata(keys: OriginKeys) -> dict[str, str]:
    """Parquet metadata of a part that inherits from the parts with these keys."""
    return {METADATA_ENTRY: json.dumps(keys, sort_keys=True)}


def read_origin_keys(part: Path) -> OriginKeys:
    """Keys of the parts that a part inherits from; empty if it stores all of its columns itself."""
    keys: OriginKeys = json.loads(pl.read_parquet_metadata(part).get(METADATA_ENTRY, "{}"))
    return keys
