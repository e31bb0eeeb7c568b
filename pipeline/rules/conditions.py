"""Conditions of rule files: SQL over the columns of a record, checked when the file is read."""

from collections.abc import Callable

import polars as pl
from pydantic import BaseModel

from pipeline.tables import schema


def condition_over(record: type[BaseModel]) -> Callable[[str], str]:
    """A validator for a condition over the columns of `record`, to be used as pl.sql_expr(text)."""

    def checked(text: str) -> str:
        """ValueError where the text is no SQL condition, names another column, or is neither true nor false."""
        try:
            columns = pl.sql_expr(text).meta.root_names()
        except (pl.exceptions.PolarsError, ValueError) as error:
            raise ValueError(f"not an SQL condition: {text!r}: {error}") from error
        if unknown := sorted(set(columns) - set(record.model_fields)):
            raise ValueError(f"{text!r} names {', '.join(unknown)}; there is {', '.join(record.model_fields)}")
        try:
            kind = pl.DataFrame(schema=schema(record)).select(pl.sql_expr(text)).dtypes[0]
        except pl.exceptions.PolarsError as error:
            raise ValueError(f"{text!r} cannot be computed: {str(error).splitlines()[0]}") from error
        if kind != pl.Boolean:
            raise ValueError(f"{text!r} is neither true nor false")
        return text

    return checked


def holds(condition: str) -> pl.Expr:
    """True where a condition holds; null counts as false."""
    return pl.sql_expr(condition).fill_null(False)
