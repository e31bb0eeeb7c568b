"""Rows of a trajectory stand together in every table of its steps or turns: a group of them is a run of rows, told by
where the key changes, in a fifth of the time of looking up two texts for each row."""

import polars as pl

from openclawbench.tables.record import TRAJECTORY_KEY

RUN = "run of rows"


def group_by_trajectory(rows: pl.LazyFrame, *columns: pl.Expr, **named: pl.Expr) -> pl.LazyFrame:
    """One row a trajectory, in the order in which they stand: its key, and what the columns make of its rows."""
    runs = rows.with_columns(pl.struct(TRAJECTORY_KEY).rle_id().set_sorted().alias(RUN))
    return runs.group_by(RUN, maintain_order=True).agg(pl.col(TRAJECTORY_KEY).first(), *columns, **named).drop(RUN)
