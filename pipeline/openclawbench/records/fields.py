"""What each field of a record holds: fields.toml, the one source of descriptions in schemas, card and Croissant."""

import tomllib
from functools import cache
from importlib.resources import files
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

ANY = "any"


@cache
def descriptions() -> dict[str, dict[str, str]]:
    """Record name (or `any`) -> field -> description."""
    return tomllib.loads((files("openclawbench.records") / "fields.toml").read_text(encoding="utf-8"))


@cache
def description(record: type[BaseModel], field: str) -> str:
    """The description of a field of a record. Raises KeyError if fields.toml lacks it."""
    return descriptions()[described_in(record, field)][field]


def described_in(record: type[BaseModel], field: str) -> str:
    """The table of fields.toml that describes a field: the record, one that it is derived from, or `any`. KeyError."""
    for table in (*(base.__name__ for base in record.__mro__), ANY):
        if field in descriptions().get(table, {}):
            return table
    raise KeyError(f"{record.__name__}.{field} has no description: add it to records/fields.toml")


def inner_record(record: type[BaseModel], field: str) -> type[BaseModel] | None:
    """The record that a field holds, alone or in a list; null for a field of plain values."""
    return record_in(record.model_fields[field].annotation)


def record_in(annotation: Any) -> type[BaseModel] | None:
    """The record in a type annotation; null if it holds no record."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (list, Union, UnionType, Annotated):
        inner = (record_in(argument) for argument in get_args(annotation))
        return next((record for record in inner if record is not None), None)
    return None


def allowed_values(annotation: Any) -> tuple[str, ...]:
    """The values of the Literal in a type annotation; empty if it holds no Literal."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return next((values for argument in get_args(annotation) if (values := allowed_values(argument))), ())


def reachable(record: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """Name -> record, for a record and every record inside it."""
    records = {record.__name__: record}
    waiting = [record]
    while waiting:
        outer = waiting.pop()
        for field in outer.model_fields:
            inner = inner_record(outer, field)
            if inner is not None and inner.__name__ not in records:
                records[inner.__name__] = inner
                waiting.append(inner)
    return records
