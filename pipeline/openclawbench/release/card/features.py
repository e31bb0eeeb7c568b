"""Declared columns of the Hub's card, made from the records, so that a file in which a field is always null loads."""

import json
from typing import Any

import polars as pl

from openclawbench.release.files.parquet import SCALARS, type_instance
from openclawbench.tables.record import Record
from openclawbench.tables.schema import schema

Feature = dict[str, Any]


def features(record: type[Record]) -> list[Feature]:
    """The columns of a record in the form of `dataset_info.features`, in declared order."""
    return [{"name": name, **feature_of(kind)} for name, kind in schema(record).items()]


def feature_of(kind: pl.DataType) -> Feature:
    """One type: `dtype` of a scalar, `list` of what a list holds, `struct` of the fields of a struct."""
    if isinstance(kind, pl.List):
        inner = feature_of(type_instance(kind.inner))
        return {"list": inner.get("struct", inner.get("dtype", inner))}
    if isinstance(kind, pl.Struct):
        return {"struct": [{"name": field.name, **feature_of(type_instance(field.dtype))} for field in kind.fields]}
    return {"dtype": SCALARS[type(kind)]}


def feature_lines(record: type[Record]) -> list[str]:
    """The same as lines of YAML, one column per line (JSON is YAML)."""
    return [f"  - {json.dumps(feature)}" for feature in features(record)]
