"""Trace summaries added up over all trajectories."""

from typing import Any

import polars as pl

from openclawbench.inspect.find import has, rows_of
from openclawbench.records.session import TraceSummaryRow
from openclawbench.runtime.run import Run
from openclawbench.sources.io.usd import FIGURES

COUNTS = (
    "user_turns",
    "tool_calls",
    "replies",
    "tool_errors",
    "calls_without_result",
    "provider_errors",
    "run_errors",
    "runner_texts",
    "mirrored_replies",
    "unreported_usage",
    "unpriced_usage",
    "impossible_usage",
)
MEASURES = FIGURES  # null if no record has it
DIGITS = 6  # of sums of USD and seconds; later digits depend on the order of adding


def trace_totals(run: Run) -> list[dict[str, Any]]:
    """One row per figure over all trajectories: {what, total, trajectories}. Empty before there are summaries."""
    return add_up(rows_of(run, TraceSummaryRow)) if has(run, TraceSummaryRow) else []


def add_up(summaries: pl.LazyFrame) -> list[dict[str, Any]]:
    """Sums of COUNTS and MEASURES (tokens, USD, seconds). `trajectories` is how many have the figure; without any the
    total is null. `summaries`: TraceSummaryRow."""
    rows = summaries.select(pl.col("trace_summary").struct.unnest()).select(*COUNTS, *MEASURES)
    sums = rows.select(pl.all().sum(), pl.all().count().name.prefix("known_")).collect().row(0, named=True)
    figures = ((name, sums[name], sums[f"known_{name}"]) for name in (*COUNTS, *MEASURES))
    return [
        {"what": name, "total": round_sum(total) if counted else None, "trajectories": counted}
        for name, total, counted in figures
    ]


def round_sum(value: float) -> float:
    """A sum without the digits that depend on the order of adding. Whole numbers stay as they are."""
    return round(value, DIGITS) if isinstance(value, float) else value
