"""Record -> polars schema. A table is declared once, as a pydantic record; the frame type carries it as metadata."""

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import polars as pl
from pydantic import BaseModel

if TYPE_CHECKING:
    import pyarrow as pa

SCALARS: dict[Any, pl.DataType] = {
    str: pl.String(),
    int: pl.Int64(),
    float: pl.Float64(),
    bool: pl.Boolean(),
    bytes: pl.Binary(),
}


def dtype(hint: Any) -> pl.DataType:
    """The polars type of one annotation.

    Literals become String, not Enum: an unknown value must be kept and counted, Enum raises. Dicts have no faithful
    polars type (keys get lost): use a record or a list of records. Raises TypeError for those.
    """
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return dtype(args[0])
    if origin in (Union, types.UnionType):
        inner = [arg for arg in args if arg is not type(None)]
        if len(inner) == 1:
            return dtype(inner[0])
    elif origin is Literal:
        return pl.String()
    elif origin is list:
        return pl.List(dtype(args[0]))
    elif isinstance(hint, type) and issubclass(hint, BaseModel):
        return pl.Struct(dict(schema(hint)))
    elif hint in SCALARS:
        return SCALARS[hint]
    raise TypeError(f"no polars type for {hint!r}")


@cache
def schema(record: type[BaseModel]) -> pl.Schema:
    """Columns and types of a record's table, in declared order."""
    return pl.Schema({name: dtype(field.annotation) for name, field in record.model_fields.items()})


@dataclass(frozen=True)
class StreamedTable:
    """A table that is too large for memory: plans for a few thousand rows each, collected and written one at a time. A
    stage may return it in place of a lazy frame."""

    plans: list[pl.LazyFrame]

    def collect(self) -> pl.DataFrame:
        """The whole of it."""
        return pl.concat(self.plans).collect()


def conform(frame: pl.DataFrame, record: type[BaseModel]) -> pl.DataFrame:
    """The frame with its columns in declared order, strictly cast. TypeError names a missing or an extra column."""
    want = schema(record)
    if differ := set(frame.columns) ^ set(want):
        raise TypeError(f"{record.__name__}: columns differ: {sorted(differ)}")
    return frame.select(cast_columns(record))


@cache
def cast_columns(record: type[BaseModel]) -> list[pl.Expr]:
    """Each column of a record's table, strictly cast to its type."""
    return [pl.col(name).cast(kind, strict=True) for name, kind in schema(record).items()]


@cache
def empty(record: type[BaseModel]) -> pl.DataFrame:
    """An empty table of the record's columns; always the same object, because no code changes a table in place."""
    return pl.DataFrame(schema=schema(record))


def from_records(rows: list[Any], record: type[BaseModel]) -> pl.DataFrame:
    """Records (or plain dicts of the same shape) as a table of the declared types; never inferred from the data.

    Built column by column: a key that is not there is null, a key that is not a column is left out.
    """
    if not rows:
        return empty(record)
    dicts = [row.model_dump() if isinstance(row, BaseModel) else row for row in rows]
    return pl.DataFrame([column(name, [row.get(name) for row in dicts], kind) for name, kind in schema(record).items()])


def from_columns(values: Mapping[str, Sequence[Any]], kinds: pl.Schema) -> pl.DataFrame:
    """Lists of values as a table; `kinds` gives the type of each column."""
    return pl.DataFrame([column(name, value, kinds[name]) for name, value in values.items()])


def list_column(name: str, lengths: list[int], items: pl.DataFrame) -> pl.Series:
    """A column of lists of structs: each list takes the next `lengths[i]` rows of `items`."""
    import pyarrow as pa

    starts = pl.Series([0, *accumulate(lengths)], dtype=pl.Int64).to_arrow()
    return pl.Series(name, pa.LargeListArray.from_arrays(starts, items.to_struct().to_arrow()))


def column(name: str, values: Sequence[Any], kind: pl.DataType) -> pl.Series:
    """Values as a column of a type. A value of another type is converted, or refused, by polars' row builder."""
    try:
        if isinstance(kind, pl.List | pl.Struct):  # built of flat columns in a twentieth of polars' time
            return pl.Series(name, nested_array(values, kind))
        return pl.Series(name, values, dtype=kind, strict=True)
    except (TypeError, OverflowError):
        return pl.DataFrame([{name: value} for value in values], schema={name: kind}, orient="row")[name]


def nested_array(values: Sequence[Any], kind: pl.DataType) -> "pa.Array":
    """Values of any type as an arrow array, built of flat columns.

    Arrow's own `pa.array` would take dicts and lists too, in three times as long, and it imports pandas where that is
    installed. TypeError if a value is not of the type."""
    if isinstance(kind, pl.List):
        return list_array(values, kind)
    if isinstance(kind, pl.Struct):
        return struct_array(values, kind)
    return pl.Series(values, dtype=kind, strict=True).to_arrow()


def list_array(values: Sequence[Any], kind: pl.List) -> "pa.Array":
    """Lists as one array of all items, and the offset of each list."""
    import pyarrow as pa

    if not set(map(type, values)) <= {list, tuple, types.NoneType}:
        raise TypeError("not a list")
    starts = pl.Series([0, *accumulate(len(value) if value else 0 for value in values)], dtype=pl.Int64).to_arrow()
    items = nested_array(list(chain.from_iterable(filter(None, values))), kind.inner)  # type: ignore[arg-type]
    return pa.LargeListArray.from_arrays(starts, items, mask=null_mask(values))


def struct_array(values: Sequence[Any], kind: pl.Struct) -> "pa.Array":
    """Dicts as a struct array: one array a field."""
    import pyarrow as pa

    mask = null_mask(values)
    rows = values if mask is None else [{} if value is None else value for value in values]
    columns = [nested_array([row.get(field.name) for row in rows], field.dtype) for field in kind.fields]  # type: ignore[arg-type]
    return pa.StructArray.from_arrays(columns, [field.name for field in kind.fields], mask=mask)


def null_mask(values: Sequence[Any]) -> "pa.Array | None":
    """True for each null; None if the column has no null."""
    is_null = [value is None for value in values]
    return pl.Series(is_null, dtype=pl.Boolean).to_arrow() if any(is_null) else None
