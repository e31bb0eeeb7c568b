"""Conditions of rule files: SQL over the columns of a record, checked when the file is read."""

import io
import json
from collections.abc import Callable, Iterator
from typing import Any, get_args

import polars as pl
from pydantic import BaseModel

from pipeline.records.vocabulary import ActionKind, AlignmentCase, AutoFlag, Behaviour, EventType, RunEnd, ToolStatus
from pipeline.rules.closed import none_of
from pipeline.tables import schema

# Columns that hold nothing but these words.
CLOSED: dict[str, tuple[str, ...]] = {
    "event_type": get_args(EventType),
    "previous_event_type": get_args(EventType),
    "tool_status": get_args(ToolStatus),
    "resolved_status": get_args(ToolStatus),
    "auto_flags": get_args(AutoFlag),
    "alignment_case": get_args(AlignmentCase),
    "action_kind": get_args(ActionKind),
    "run_end": get_args(RunEnd),
    "end": get_args(RunEnd),
    "behaviour": get_args(Behaviour),
}
COMPARED = ("Eq", "EqValidity", "NotEq", "NotEqValidity")  # operators after which a word is looked for as it is
SAME_VALUE = ("Coalesce", "Contains", "IsIn")  # functions that hand on, or look for, the words of a column


def condition_over(*records: type[BaseModel]) -> Callable[[str], str]:
    """A validator for a condition over the columns of the records, to be used as pl.sql_expr(text)."""
    columns = pl.Schema({name: kind for record in records for name, kind in schema(record).items()})

    def checked(text: str) -> str:
        """ValueError where the text is no SQL condition, names another column or a word that a column never holds, or
        is neither true nor false."""
        try:
            condition = pl.sql_expr(text)
        except (pl.exceptions.PolarsError, ValueError) as error:
            raise ValueError(f"not an SQL condition: {text!r}: {str(error).splitlines()[0]}") from error
        for name in condition.meta.root_names():
            if name not in columns:
                raise ValueError(f"in {text!r} the column {none_of(name, columns)}")
        try:
            kind = pl.DataFrame(schema=columns).select(condition).dtypes[0]
        except pl.exceptions.PolarsError as error:
            raise ValueError(f"{text!r} cannot be computed: {str(error).splitlines()[0]}") from error
        if kind != pl.Boolean:
            raise ValueError(f"{text!r} is neither true nor false")
        for column, word in compared(json.loads(condition.meta.serialize(format="json"))):
            if column in CLOSED and word not in CLOSED[column]:
                raise ValueError(f"in {text!r} the {column} {none_of(word, CLOSED[column])}")
        return text

    return checked


def holds(condition: str) -> pl.Expr:
    """True where a condition holds; null counts as false."""
    return pl.sql_expr(condition).fill_null(False)


def compared(node: Any) -> Iterator[tuple[str, str]]:
    """(column, word) of each comparison of a column with a word in an expression as polars writes it down."""
    if isinstance(node, list):
        for one in node:
            yield from compared(one)
    if not isinstance(node, dict):
        return
    yield from ((column, word) for column in columns_of(node) for word in words_of(node))
    for name, one in node.items():
        if name != "Literal":
            yield from compared(one)


def parts(node: Any) -> list[Any]:
    """What is compared with one another in a node; nothing where it is no comparison."""
    operation, call = node.get("BinaryExpr"), node.get("Function")
    if operation is not None and operation["op"] in COMPARED:
        return [operation["left"], operation["right"]]
    if call is not None and any(f'"{name}"' in json.dumps(call["function"]) for name in SAME_VALUE):
        return list(call["input"])
    return []


def columns_of(node: Any) -> list[str]:
    """Columns whose words a node compares, also where they are handed on by what it compares."""
    return [name for one in parts(node) for name in ([one["Column"]] if "Column" in one else columns_of(one))]


def words_of(node: Any) -> list[str]:
    """Words that a node compares, also in a list."""
    literals = [one["Literal"] for one in parts(node) if "Literal" in one]
    single = [one["Scalar"]["String"] for one in literals if "String" in one.get("Scalar", {})]
    lists = [pl.read_ipc_stream(io.BytesIO(bytes(one["Series"]))) for one in literals if "Series" in one]
    listed = [word for frame in lists for row in frame.to_series().to_list() for word in row or []]
    return single + [word for word in listed if isinstance(word, str)]
