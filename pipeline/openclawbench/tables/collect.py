"""Collecting small plans.

polars plans a query before it computes it: it pushes filters and columns down and looks for common parts. On the tables
of one shard this takes as long as the computation. Stages therefore collect their plans as they are written. What the
optimizer would do is written out: a plan selects the columns that it needs, and a value that is used twice is a column.
"""

import polars as pl


def collect_unoptimized(plan: pl.LazyFrame) -> pl.DataFrame:
    """Collect a plan as it is written, in memory."""
    return plan.collect(engine="in-memory", optimizations=pl.QueryOptFlags.none())
