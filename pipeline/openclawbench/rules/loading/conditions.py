"""Conditions of rule files: SQL over the columns of a record, checked when the file is read."""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, get_args

import polars as pl
from pydantic import BaseModel

from openclawbench.records.vocabulary import (
    ActionKind,
    AlignmentCase,
    AutoFlag,
    Behaviour,
    EventType,
    RunEnd,
    ToolStatus,
)
from openclawbench.rules.loading.validation import none_of
from openclawbench.tables.schema import schema

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
SAMPLE_VALUES: dict[Any, list[Any]] = {  # values of other columns that a condition is tested with
    pl.String: ["text"],
    pl.Int64: [0, 1],
    pl.Float64: [0.0, 1.5],
    pl.Boolean: [True, False],
}
COMPARED = ("Eq", "EqValidity", "NotEq", "NotEqValidity")  # operators that compare with a whole word
SAME_VALUE = ("Coalesce", "Contains", "IsIn")  # functions that return, or search, the words of a column
USES_OTHER_ROWS = {"Agg", "Over", "Len"}
PART_OF_TEXT = "StringExpr"  # a function that looks into a text: Contains of it is LIKE


def condition_over(*records: type[BaseModel]) -> Callable[[str], str]:
    """A validator for a condition over the columns of the records, to be used as pl.sql_expr(text)."""
    columns = pl.Schema({name: kind for record in records for name, kind in schema(record).items()})
    sample = cache(lambda: sample_table(columns))

    def checked(text: str) -> str:
        """ValueError if the text is not an SQL condition, names another column or a word that a column never holds,
        cannot be computed over some value of its column, is neither true nor false, looks at other rows, or asks a
        column of a closed set what is the same for all of its words."""
        try:
            condition = pl.sql_expr(text)
        except (pl.exceptions.PolarsError, ValueError) as error:
            raise ValueError(f"not an SQL condition: {text!r}: {str(error).splitlines()[0]}") from error
        for name in condition.meta.root_names():
            if name not in columns:
                raise ValueError(f"in {text!r} the column {none_of(name, columns)}")
        written = json.loads(condition.meta.serialize(format="json"))
        if uses_other_rows(written):
            raise ValueError(f"in {text!r} several rows are read; a condition is tested on each row by itself")
        for column, word in comparisons(written):
            if column in CLOSED and word not in CLOSED[column]:
                raise ValueError(f"in {text!r} the {column} {none_of(word, CLOSED[column])}")
        parts_of = dict(enumerate(parts_on_closed_columns(condition)))
        try:
            computed = sample().select(whole=condition, **{str(n): part for n, (_, part) in parts_of.items()})
        except pl.exceptions.PolarsError as error:
            raise ValueError(f"{text!r} cannot be computed: {str(error).splitlines()[0]}") from error
        if computed["whole"].dtype != pl.Boolean:
            raise ValueError(f"{text!r} is neither true nor false")
        for number, (column, _) in parts_of.items():
            held = computed[str(number)]
            if held.dtype == pl.Boolean and held.drop_nulls().n_unique() == 1:
                raise ValueError(f"{text!r} asks what is the same for every {column}: {', '.join(CLOSED[column])}")
        return text

    return checked


def sample_table(columns: pl.Schema) -> pl.DataFrame:
    """A table of made-up rows: nulls; each word of each closed set, alone where the column is a list; nothing and
    everything in such a list; elsewhere a value of the column's kind."""
    rows = 4 + max(map(len, CLOSED.values()))
    return pl.DataFrame([sample_column(name, kind, rows) for name, kind in columns.items()])


def sample_column(name: str, kind: pl.DataType, rows: int) -> pl.Series:
    """One column of the sample; other lists and structs are null."""
    words: Sequence[Any] = CLOSED.get(name) or SAMPLE_VALUES.get(kind.base_type()) or [None]
    if name in CLOSED and isinstance(kind, pl.List):
        words = [[], list(words), *([word] for word in words)]
    return pl.Series(name, [None, *(list(words) * rows)[: rows - 1]], dtype=kind)


def uses_other_rows(node: Any) -> bool:
    """True if a part of an expression, as polars serializes it, needs several rows: a sum, a row's number."""
    if isinstance(node, list):
        return any(map(uses_other_rows, node))
    if isinstance(node, dict):
        inside = (value for name, value in node.items() if name not in ("Literal", "Column"))
        return not USES_OTHER_ROWS.isdisjoint(node) or any(map(uses_other_rows, inside))
    return isinstance(node, str) and node in USES_OTHER_ROWS


def parts_on_closed_columns(condition: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
    """The parts of a condition that look at one column of a closed set and at nothing else, with that column."""
    columns = set(condition.meta.root_names())
    if len(columns) == 1 and not condition.meta.is_column() and not columns.isdisjoint(CLOSED):
        yield columns.pop(), condition
    for part in condition.meta.pop():
        yield from parts_on_closed_columns(part)


def holds(condition: str) -> pl.Expr:
    """True if a condition holds; null counts as false."""
    return pl.sql_expr(condition).fill_null(False)


def comparisons(node: Any) -> Iterator[tuple[str, str]]:
    """(column, word) of each comparison of a column with a word in an expression as polars serializes it."""
    if isinstance(node, list):
        for item in node:
            yield from comparisons(item)
    if not isinstance(node, dict):
        return
    yield from ((column, word) for column in columns_of(node) for word in words_of(node))
    for name, inner in node.items():
        if name != "Literal":
            yield from comparisons(inner)


def parts(node: Any) -> list[Any]:
    """What is compared with one another in a node; nothing if it is not a comparison."""
    operation, call = node.get("BinaryExpr"), node.get("Function")
    if operation is not None and operation["op"] in COMPARED:
        return [operation["left"], operation["right"]]
    function = json.dumps(call["function"]) if call is not None else ""
    if PART_OF_TEXT not in function and any(f'"{name}"' in function for name in SAME_VALUE):
        return list(call["input"])
    return []


def columns_of(node: Any) -> list[str]:
    """Columns whose words a node compares, also those that a function in it returns."""
    return [name for part in parts(node) for name in ([part["Column"]] if "Column" in part else columns_of(part))]


def words_of(node: Any) -> list[str]:
    """Words that a node compares, also in a list."""
    literals = [part["Literal"] for part in parts(node) if "Literal" in part]
    single = [literal["Scalar"]["String"] for literal in literals if "String" in literal.get("Scalar", {})]
    lists = [pl.read_ipc_stream(io.BytesIO(bytes(literal["Series"]))) for literal in literals if "Series" in literal]
    listed = [word for frame in lists for row in frame.to_series().to_list() for word in row or []]
    return single + [word for word in listed if isinstance(word, str)]
