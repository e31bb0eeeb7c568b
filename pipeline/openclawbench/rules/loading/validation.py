"""Closed sets: the values that a rule file may have, and the message for any other."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from math import isfinite
from typing import Any

from pydantic import AfterValidator
from pydantic_core import ErrorDetails

Content = dict[str, Any]
SHOWN = 40  # values of a closed set that a sentence names


class Unfit(ValueError):
    """What is wrong with words of a rule file, and which words they are: values, under these keys (none: under any), or
    keys, that can be found in it."""

    def __init__(self, message: str, *words: str, keys: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.words, self.keys = words, keys


def none_of(value: object, allowed: Iterable[object]) -> str:
    """The message for a value outside a closed set: the set, and the value that is most likely meant."""
    names = [str(item) for item in allowed]
    close = get_close_matches(str(value), names, n=1)
    shown = ", ".join(names) if len(names) <= SHOWN else f"the {len(names)} that there are"
    return f'"{value}" is not one of {shown}' + (f'; did you mean "{close[0]}"?' if close else "")


def one_of(*allowed: str) -> AfterValidator:
    """A validator for a value of a set that no record names."""

    def checked(value: str) -> str:
        if value not in allowed:
            raise Unfit(none_of(value, allowed), value)
        return value

    return AfterValidator(checked)


def each_of(values: Iterable[str], allowed: Iterable[str]) -> None:
    """Unfit for the first value that is not one of those allowed."""
    choices = list(allowed)
    if unknown := next((value for value in values if value not in choices), None):
        raise Unfit(none_of(unknown, choices), unknown)


def each_once(values: Iterable[str], what: str, *keys: str) -> None:
    """Unfit if a value occurs twice under one of these keys."""
    items = list(values)
    if twice := sorted({value for value in items if items.count(value) > 1}):
        raise Unfit(f"{', '.join(twice)}: {what}", *twice, keys=keys)


def literal_fault(first: ErrorDetails) -> str:
    """The words for a value that is not one of a Literal's."""
    return none_of(first["input"], re.findall(r"'([^']*)'", first["ctx"]["expected"]))


def ids_of(content: Content) -> list[tuple[str, str]]:
    """(id, table) of each entry of the lists in a rule file."""
    ids = []
    for key, value in content.items():
        if isinstance(value, dict):
            ids += [(item, f"{key}.{table}") for item, table in ids_of(value)]
        elif isinstance(value, list):
            ids += [(item["id"], key) for item in value if isinstance(item, dict) and isinstance(item.get("id"), str)]
    return ids


def ids_once(content: Content, *, of_each_table: bool) -> None:
    """Unfit if two rules have the same id: one could not tell which of them fired."""
    table_of: dict[tuple[str, str], str] = {}
    for item, table in ids_of(content):
        name = (item, table if of_each_table else "")
        if name in table_of:
            tables = " and ".join(f"[[{table_name}]]" for table_name in dict.fromkeys((table_of[name], table)))
            raise Unfit(
                f'the id "{item}" is given twice, in {tables}: each rule needs an id of its own', item, keys=["id"]
            )
        table_of[name] = table


def not_finite(content: Any, place: tuple[int | str, ...] = ()) -> tuple[int | str, ...] | None:
    """The place of the first number in a rule file that is infinite or NaN; None if all are finite."""
    if isinstance(content, float):
        return None if isfinite(content) else place
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    places = (not_finite(value, (*place, key)) for key, value in inside)
    return next((item for item in places if item is not None), None)
