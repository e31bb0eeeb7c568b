"""A left join that copies only the columns that it adds. A join by polars copies every column, long texts too: for a
table of sixty columns that takes five times as long."""

import polars as pl


def lookup_join(rows: pl.DataFrame, table: pl.DataFrame, on: list[str]) -> pl.DataFrame:
    """The rows, in their order, with the columns of `table` for the same values of `on`; null if it lacks them.

    A null matches a null. No combination of values of `on` may occur twice in `table`. Two tables with equal columns
    `on`, row by row, are put side by side without a join.
    """
    added = [name for name in table.columns if name not in on]
    if table.is_empty():
        return rows.with_columns(pl.lit(None, table.schema[name]).alias(name) for name in added)
    if table.height != rows.height or not all(table[name].equals(rows[name]) for name in on):
        table = rows.select(on).join(table, on=on, how="left", nulls_equal=True, maintain_order="left")
    return rows.hstack([table[name] for name in added])
