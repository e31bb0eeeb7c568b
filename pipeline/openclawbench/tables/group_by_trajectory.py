"""Group the rows of each trajectory.

In every table of steps or turns, the rows of a trajectory are consecutive. So a group is a run of equal keys, which is
found in a fifth of the time of hashing two texts for each row.
"""

import polars as pl

from openclawbench.tables.record import TRAJECTORY_KEY

RUN = "run of rows"


def group_by_trajectory(rows: pl.LazyFrame, *columns: pl.Expr, **named: pl.Expr) -> pl.LazyFrame:
    """One row a trajectory, in the order of the table: its key, and the aggregated columns."""
    runs = rows.with_columns(pl.struct(TRAJECTORY_KEY).rle_id().set_sorted().alias(RUN))
    return runs.group_by(RUN, maintain_order=True).agg(pl.col(TRAJECTORY_KEY).first(), *columns, **named).drop(RUN)
