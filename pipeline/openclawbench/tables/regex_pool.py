"""Threads that keep compiled patterns from shard to shard.

polars caches the last 32 patterns of each thread. To compile a pattern takes as long as to search some hundred
kilobytes, so without this cache a small shard spends half of its time in `describe` on compiling. Each group of
patterns therefore has a thread of its own, which lives as long as the process.

Two rules make it work:

- Expressions that search texts go into `select_seq` or `with_columns_seq`. They run in the thread that collects the
  plan; other expressions may go to polars' own threads.
- Plans are collected as they are written (tables/collect.py).
"""

import os
from concurrent.futures import ThreadPoolExecutor

import polars as pl

from openclawbench.tables.collect import collect_unoptimized

MOST = 32  # patterns of a group; more would push one another out of the cache
THREADS: dict[str, ThreadPoolExecutor] = {}

os.register_at_fork(after_in_child=THREADS.clear)  # a forked process has none of its parent's threads


def collect_in_pool(plan: pl.LazyFrame, group: str) -> pl.DataFrame:
    """Collect a plan in the thread of this group of patterns."""
    if group not in THREADS:
        THREADS[group] = ThreadPoolExecutor(1, thread_name_prefix=group)
    return THREADS[group].submit(collect_unoptimized, plan).result()
