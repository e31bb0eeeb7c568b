"""Tables of columns for the card: name, type and meaning, from the records themselves."""

import polars as pl
from pydantic import BaseModel

from openclawbench.records.fields import description, inner_record
from openclawbench.records.release import LabelRow, Master, PoolRow
from openclawbench.release.files.parquet import SCALARS, type_instance
from openclawbench.tables.schema import schema

SHOWN: dict[str, type[BaseModel]] = {  # heading -> record, in the order of the card
    "A label row (`silver_*_labels`, `both_high_confidence*`)": LabelRow,
    "A record (`master_table_all` and the files of the tiers; `positives_*_all` has a part of these)": Master,
    "A row of the calibration pool": PoolRow,
}


def column_tables() -> str:
    """A table for each record of SHOWN and for each record inside one, once each."""
    parts = []
    for heading, record in SHOWN.items():
        parts += [f"#### {heading}", column_table(record)]
    for name, record in inside(Master).items():
        parts += [
            f"#### Inside a record: `{name}`",
            (record.__doc__ or "").strip().split("\n\n")[0],
            column_table(record),
        ]
    return "\n\n".join(parts)


def inside(record: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """Path -> record, for the records that columns hold; a record that several columns hold is listed at the first."""
    inner_fields: dict[str, type[BaseModel]] = {}
    waiting = [("", record)]
    while waiting:
        before, owner = waiting.pop(0)
        for field in owner.model_fields:
            inner = inner_record(owner, field)
            if inner is not None and inner not in inner_fields.values():
                inner_fields[f"{before}{field}"] = inner
                waiting.append((f"{before}{field}.", inner))
    return inner_fields


def column_table(record: type[BaseModel]) -> str:
    """The columns of a record."""
    lines = [
        f"| `{name}` | {kind_words(kind)} | {description(record, name)} |" for name, kind in schema(record).items()
    ]
    return "\n".join(["| column | type | meaning |", "| --- | --- | --- |", *lines])


def kind_words(kind: pl.DataType) -> str:
    """A type for a reader."""
    if isinstance(kind, pl.List):
        return f"list of {kind_words(type_instance(kind.inner))}"
    if isinstance(kind, pl.Struct):
        return "struct"
    return SCALARS[type(kind)]
