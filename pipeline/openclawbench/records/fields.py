"""What each field of a record means: fields.toml, the one source of descriptions in schemas, card and Croissant."""

import tomllib
from functools import cache
from importlib.resources import files
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

ANY = "any"


@cache
def meanings() -> dict[str, dict[str, str]]:
    """Record (or `any`) -> field -> what it means."""
    return tomllib.loads((files("openclawbench.records") / "fields.toml").read_text(encoding="utf-8"))


@cache
def meaning(record: type[BaseModel], field: str) -> str:
    """What a field of a record means. KeyError where fields.toml does not say."""
    said = meanings()
    tables = [one.__name__ for one in record.__mro__ if one.__name__ in said]
    for table in (*tables, ANY):
        if field in said[table]:
            return said[table][field]
    raise KeyError(f"{record.__name__}.{field} has no description: add it to records/fields.toml")


def inner_record(record: type[BaseModel], field: str) -> type[BaseModel] | None:
    """The record that a field holds, or a list of; null where it holds a plain value."""
    return within(record.model_fields[field].annotation)


def within(hint: Any) -> type[BaseModel] | None:
    """The record in an annotation."""
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return hint
    if get_origin(hint) in (list, Union, UnionType, Annotated):
        return next((found for one in get_args(hint) if (found := within(one)) is not None), None)
    return None


def reachable(record: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """Name -> record, of a record and of every record inside it."""
    found = {record.__name__: record}
    waiting = [record]
    while waiting:
        one = waiting.pop()
        for field in one.model_fields:
            inner = inner_record(one, field)
            if inner is not None and inner.__name__ not in found:
                found[inner.__name__] = inner
                waiting.append(inner)
    return found
