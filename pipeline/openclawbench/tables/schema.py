"""Record -> polars schema. A table is declared once, as a pydantic record; the frame type carries it as metadata."""

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, chain
from mmap import mmap
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import polars as pl
from pydantic import BaseModel

if (
    TYPE_CHECKING
):  # at run time where it is used: a command that redoes nothing does without it, for a quarter second less
    import pyarrow as pa

SCALARS: dict[Any, pl.DataType] = {
    str: pl.String(),
    int: pl.Int64(),
    float: pl.Float64(),
    bool: pl.Boolean(),
    bytes: pl.Binary(),
}
SMALL_BYTES, LARGE_BYTES = 1 << 20, 16 << 20  # of a file: copied with others; mapped, and read in a way of its own
TOGETHER_BYTES = 4 << 20  # of small files, after which they are copied


def dtype(hint: Any) -> pl.DataType:
    """The polars type of one annotation.

    Literals become String, not Enum: an unknown value must be kept and counted, Enum raises. Dicts have no faithful
    polars type (keys get lost): use a record or a list of records. Raises TypeError for those.
    """
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return dtype(args[0])
    if origin in (Union, types.UnionType):
        inner = [one for one in args if one is not type(None)]
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
    """A table that is too large to be held: plans for its rows, a few thousand each, that are carried out and written
    one after the other. A stage may hand one back in the place of a lazy frame."""

    plans: list[pl.LazyFrame]

    def collect(self) -> pl.DataFrame:
        """The whole of it."""
        return pl.concat(self.plans).collect()


def conform(frame: pl.DataFrame, record: type[BaseModel]) -> pl.DataFrame:
    """The frame with its columns in declared order, strictly cast. TypeError names a missing or an extra column."""
    want = schema(record)
    if differ := set(frame.columns) ^ set(want):
        raise TypeError(f"{record.__name__}: columns differ: {sorted(differ)}")
    return frame.select(declared(record))


@cache
def declared(record: type[BaseModel]) -> list[pl.Expr]:
    """Each column of a record's table, strictly cast to its type."""
    return [pl.col(name).cast(kind, strict=True) for name, kind in schema(record).items()]


@cache
def empty(record: type[BaseModel]) -> pl.DataFrame:
    """A table of the record's columns and no rows; the same one each time, for nobody changes a table in place."""
    return pl.DataFrame(schema=schema(record))


def from_records(rows: list[Any], record: type[BaseModel]) -> pl.DataFrame:
    """Records (or plain dicts of the same shape) as a table of the declared types; never inferred from the data.

    Built column by column: a key that is not there is null, a key that is no column is left out.
    """
    if not rows:
        return empty(record)
    dicts = [row.model_dump() if isinstance(row, BaseModel) else row for row in rows]
    return pl.DataFrame([column(name, [row.get(name) for row in dicts], kind) for name, kind in schema(record).items()])


def from_columns(values: Mapping[str, Sequence[Any]], kinds: pl.Schema) -> pl.DataFrame:
    """Lists of values as a table, each of the type that its name has there."""
    return pl.DataFrame([column(name, one, kinds[name]) for name, one in values.items()])


def list_column(name: str, lengths: list[int], items: pl.DataFrame) -> pl.Series:
    """Lists of structs as a column, given how many rows of a table each of them has."""
    import pyarrow as pa

    starts = pl.Series([0, *accumulate(lengths)], dtype=pl.Int64).to_arrow()
    return pl.Series(name, pa.LargeListArray.from_arrays(starts, items.to_struct().to_arrow()))


def column(name: str, values: Sequence[Any], kind: pl.DataType) -> pl.Series:
    """Values as a column of a type; where one is of another type, polars' row builder converts it or refuses it."""
    try:
        if isinstance(kind, pl.List | pl.Struct):  # built of flat columns in a twentieth of polars' time
            return pl.Series(name, nested(values, kind))
        return pl.Series(name, values, dtype=kind, strict=True)
    except (TypeError, OverflowError):
        return pl.DataFrame([{name: value} for value in values], schema={name: kind}, orient="row")[name]


def nested(values: Sequence[Any], kind: pl.DataType) -> "pa.Array":
    """Values of any type as an arrow array, built of flat columns.

    Arrow's own `pa.array` would take dicts and lists too, in three times as long, and it imports pandas where that is
    installed. TypeError where a value is not of the type."""
    if isinstance(kind, pl.List):
        return lists(values, kind)
    if isinstance(kind, pl.Struct):
        return structs(values, kind)
    return pl.Series(values, dtype=kind, strict=True).to_arrow()


def lists(values: Sequence[Any], kind: pl.List) -> "pa.Array":
    """Lists as one array of all their items, and where each list begins in it."""
    import pyarrow as pa

    if not set(map(type, values)) <= {list, tuple, types.NoneType}:
        raise TypeError("not a list")
    starts = pl.Series([0, *accumulate(len(one) if one else 0 for one in values)], dtype=pl.Int64).to_arrow()
    items = nested(list(chain.from_iterable(filter(None, values))), kind.inner)  # type: ignore[arg-type]
    return pa.LargeListArray.from_arrays(starts, items, mask=absent(values))


def structs(values: Sequence[Any], kind: pl.Struct) -> "pa.Array":
    """Dicts as one array a field."""
    import pyarrow as pa

    mask = absent(values)
    rows = values if mask is None else [{} if one is None else one for one in values]
    columns = [nested([row.get(one.name) for row in rows], one.dtype) for one in kind.fields]  # type: ignore[arg-type]
    return pa.StructArray.from_arrays(columns, [one.name for one in kind.fields], mask=mask)


def absent(values: Sequence[Any]) -> "pa.Array | None":
    """True for each null; null where there is none."""
    found = [value is None for value in values]
    return pl.Series(found, dtype=pl.Boolean).to_arrow() if any(found) else None


def bytes_column(name: str, values: Iterable[bytes | mmap | None]) -> pl.Series:
    """Bytes, each in a list of its own, as a column that uses the memory in which large ones are: they are not copied.

    (Bytes outside a list would be: polars copies a lone value each time that a table of one row is passed on.) Small
    ones are copied together, some megabytes at a time, which takes less time than telling arrow where each of them is.
    """
    import pyarrow as pa

    chunks = [bytes_chunk(several) for several in together(values)]
    column = pl.from_arrow(pa.chunked_array(chunks, pa.large_list(pa.large_binary())), rechunk=False)
    assert isinstance(column, pl.Series)
    return column.alias(name)


def together(values: Iterable[bytes | mmap | None]) -> Iterator[list[bytes | mmap | None]]:
    """Each large value alone, small ones with their neighbours up to some megabytes; nothing is held any longer."""
    small: list[bytes | mmap | None] = []
    size = 0
    for value in values:
        length = len(value) if value else 0
        if small and (length > SMALL_BYTES or size > TOGETHER_BYTES):
            yield small
            small, size = [], 0
        small.append(value)
        size += length
        if length > SMALL_BYTES:
            yield small
            small, size = [], 0
    if small:
        yield small


def bytes_chunk(values: list[bytes | mmap | None]) -> "pa.Array":
    """Lists of one value; a single value stays in the memory in which it is."""
    import pyarrow as pa

    known = [value for value in values if value is not None]
    ends = pl.Series([0, *accumulate(map(len, known))], dtype=pl.Int64).to_arrow().buffers()[1]
    data = known[0] if len(known) == 1 else b"".join(known)
    items = pa.Array.from_buffers(pa.large_binary(), len(known), [None, ends, pa.py_buffer(data)])
    starts = pl.Series([0, *accumulate(int(value is not None) for value in values)], dtype=pl.Int64).to_arrow()
    return pa.LargeListArray.from_arrays(starts, items, mask=absent(values))


def iter_bytes(column: pl.Series) -> Iterator[bytes | memoryview | None]:
    """The values of a column of bytes_column, one after the other; no more than the small ones are copied at a time.
    A very large one is a view of the memory in which it is."""
    for chunk in column.get_chunks():
        if len(chunk) == 1 and (view := large_view(chunk)) is not None:
            yield view
        else:
            for cell in chunk.to_list():
                yield None if cell is None else cell[0]


def large_view(chunk: pl.Series) -> memoryview | None:
    """The memory of a chunk's only value, where it is very large; else null."""
    buffers = chunk.to_arrow(compat_level=pl.CompatLevel.newest()).values.buffers()
    data = buffers[-1] if len(buffers) == 3 else None  # validity, views, data: more where there are several values
    return memoryview(data) if data is not None and data.size >= LARGE_BYTES else None
