"""Patterns that stay ready from shard to shard: polars keeps the last 32 of each thread, and making one ready takes as
long as searching some hundred kilobytes. A group of patterns has a thread of its own, for as long as the process lives.

What a plan searches in expressions of `select_seq` or `with_columns_seq` is searched in the thread that collects it;
other expressions may go to polars' own threads, where nothing stays ready.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import polars as pl

MOST = 32  # patterns of a group; with more of them each is made ready again and again
THREADS: dict[str, ThreadPoolExecutor] = {}

os.register_at_fork(after_in_child=THREADS.clear)  # a forked process has none of its parent's threads


def collected(plan: pl.LazyFrame, group: str) -> pl.DataFrame:
    """What a plan gives, carried out where the patterns of this group are ready."""
    if group not in THREADS:
        THREADS[group] = ThreadPoolExecutor(1, thread_name_prefix=group)
    return THREADS[group].submit(plan.collect, engine="in-memory").result()
