"""Patterns that stay ready from shard to shard: polars keeps the last 32 of each thread, and making one ready takes as
long as searching some hundred kilobytes. A group of patterns has a thread of its own, for as long as the process lives.

What a plan searches in expressions of `select_seq` or `with_columns_seq` is searched in the thread that collects it;
other expressions may go to polars' own threads, where nothing stays ready.

Such plans are carried out as they are written: to look for a better one takes polars as long as to compute over a small
shard. What it would find is written down: columns that nothing needs are left out, what is used twice is a column.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import polars as pl

MOST = 32  # patterns of a group; with more of them each is made ready again and again
AS_WRITTEN = pl.QueryOptFlags.none()
THREADS: dict[str, ThreadPoolExecutor] = {}

os.register_at_fork(after_in_child=THREADS.clear)  # a forked process has none of its parent's threads


def collect_in_pool(plan: pl.LazyFrame, group: str) -> pl.DataFrame:
    """What a plan gives, carried out where the patterns of this group are ready."""
    if group not in THREADS:
        THREADS[group] = ThreadPoolExecutor(1, thread_name_prefix=group)
    return THREADS[group].submit(collect_unoptimized, plan).result()


def collect_unoptimized(plan: pl.LazyFrame) -> pl.DataFrame:
    """What a plan gives, carried out as it is written."""
    return plan.collect(engine="in-memory", optimizations=AS_WRITTEN)
