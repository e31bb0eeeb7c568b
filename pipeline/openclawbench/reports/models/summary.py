"""The summary of each source model: one object each, as in OpenClaw LLM Benchmark's summary.json."""

import math
from typing import Any

import polars as pl

from openclawbench.reports.counting import share
from openclawbench.reports.models.cases import CALLS, ROWS, USED
from openclawbench.reports.section import Row
from openclawbench.reports.settings import ModelsReportRules

GROUP = ["records", "source_model", "provider", "model", "thinking_level", "mode"]
STATUSES = {  # field -> availability of the cases that it counts
    "n_ok": "ok",
    "n_skipped_unavailable": "skipped_unavailable",
    "n_rate_limited": "rate_limited",
    "n_auth_error": "auth_error",
    "n_error": "error",
}
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
CALLED = "tool calls of the session and how they ended"
FOUND = "tool_use_success of the row: a tool's name found in its words, nothing called"
FIELDS = {
    "records": "sessions, or benchmark_rows: rows of OpenClaw LLM Benchmark results, one call each",
    "source_model": "the folder below raw/",
    "provider": "of the rows; of sessions, where all of them name one alone (the part of the model's name before the "
    "first slash)",
    "model": "of the rows; of sessions, where all of them name one alone",
    "thinking_level": "of the rows; null for sessions",
    "mode": "mode of collecting, by the run manifest; null where it is not said",
    "models": "every model that the records say answered",
    "n_total": "cases: sessions (each a trajectory, those of sub-agents too) or rows (repeated ones too)",
    "n_subagents": "of these, sessions that another session started",
    "n_ok": "cases that went through. A row says it (`availability_status`); a session did unless its run ended in an "
    "error, or the evaluator says that the infrastructure failed",
    "n_success": "of n_ok, those that succeeded. A row says it (`success`); a session did if its run is completed with "
    "at least one step, which says nothing of the task",
    "n_success_unknown": "of n_ok, rows that do not say whether they succeeded",
    "n_skipped_unavailable": "cases skipped because the model was not available; null for sessions: one that was not "
    "made leaves no record",
    "n_rate_limited": "cases that ended in a rate limit; of sessions by the text of their first provider error "
    "(models.toml)",
    "n_auth_error": "cases that ended because access was refused; of sessions by the same text",
    "n_error": "cases that ended in another error",
    "n_availability_unknown": "rows without a status, or with another one",
    "success_rate_ok": "n_success of n_ok, without n_success_unknown (the benchmark's definition)",
    "n_objective": "of n_success, those with a verdict: a row's `objective_pass`, a session's oracle outcome",
    "n_objective_pass": "of these, passed",
    "n_objective_unknown": "of n_success, those without a verdict",
    "n_failures_only": "of these, failures of a category whose passes are unknown: no rate can be known of them",
    "n_objective_unsuccessful": "cases outside n_success that have a verdict all the same; in no rate",
    "objective_pass_rate": "n_objective_pass of n_objective: among the successful cases (the benchmark's definition)",
    "wall_clock_ms": "milliseconds in which at least one case ran: those that ran at once count once, pauses between "
    "them not (own choice)",
    "n_wall_clock_unknown": "cases without a begin and an end",
    "latency_ms": "p50, p95, p99 (linear between ranks) and mean of the milliseconds of a successful case: a row's "
    "`e2e_ms`; a session from its first to its last record, pauses of a user included",
    "n_latency_unknown": "of n_success, cases that do not say it",
    "input_tokens": "sum over the cases that say it, cached tokens included",
    "cached_tokens": "of input_tokens, read from the provider's cache; sum over the cases that say it",
    "cache_write_tokens": "of input_tokens, written into that cache; sum over the cases that say it",
    "output_tokens": "sum over the cases that say it",
    "reasoning_tokens": "of output_tokens, reasoning; sum over the cases that say it",
    "total_tokens": "read and written; sum over the cases that say it",
    "n_tokens_unknown": "cases that say neither input nor output",
    "cost_usd": "sum over the cases that say it; a row does not",
    "n_cost_unknown": "cases that do not say it",
    "n_cost_zero": "cases that say exactly 0; not OpenClaw sessions, which say that where no price is known",
    "tool_use_basis": "what tool use stands for in this row",
    "n_tool_use": "cases whose tool use is known: sessions in which a tool call ended ok or all of them failed; rows "
    "of n_ok that say it",
    "n_tool_use_success": "of these, sessions in which a tool call ended ok; rows with `tool_use_success`",
    "n_tool_use_unknown": "the other cases: no tool was called, or how the calls ended is not known",
    "tool_use_success_rate": "n_tool_use_success of n_tool_use. Nothing says of a session that a tool ought to have "
    "been called: those without a call are in no rate",
    "tool_use_tier": "1 from 80 %, 2 from 50 %, 3 below (the benchmark's tiers); null without a rate",
    "tool_calls": "tool calls of the sessions; null for rows",
    "tool_calls_ok": "of these, ended ok",
    "tool_calls_failed": "of these, failed: error, timeout, denied, not_found, unavailable, aborted",
    "tool_call_success_rate": "tool_calls_ok of those that ended ok or failed",
    "resources_before": "null: no record says it",
    "resources_after": "null: no record says it",
}


def summaries(cases: pl.DataFrame, rules: ModelsReportRules) -> list[Row]:
    """An object of FIELDS each (records, source_model, provider, model, thinking_level, mode), in their order. `cases`:
    as cases() gives them."""
    if cases.is_empty():
        return []
    groups = cases.group_by(GROUP, maintain_order=True).agg(aggregates())
    busy = wall_clock(cases)
    costs = {key: part["cost_usd"].drop_nulls() for key, part in cases.select(*GROUP, "cost_usd").group_by(GROUP)}
    rows = []
    for counted in groups.iter_rows(named=True):
        key = tuple(counted[name] for name in GROUP)
        rows.append(summary_of(counted, busy.get(key), total(costs[key]), rules))
    return sorted(rows, key=lambda row: [row[name] or "" for name in GROUP])


def aggregates() -> list[pl.Expr]:
    """Counts of a group of cases, under the names of FIELDS, and what the others are computed from."""
    status, success = pl.col("availability"), pl.col("success").fill_null(False)
    ok, verdict = (status == "ok").fill_null(False), pl.col("objective_pass")
    latency = pl.col("latency_ms").filter(success).drop_nulls()
    used_tool = pl.when((pl.col("records") != ROWS) | ok).then("tool_use_success")
    is_known = status.is_in([*STATUSES.values()]).fill_null(False)
    return [
        pl.len().alias("n_total"),
        pl.col("subagent").sum().alias("n_subagents"),
        *((status == word).sum().alias(name) for name, word in STATUSES.items()),
        (~is_known).sum().alias("n_availability_unknown"),
        success.sum().alias("n_success"),
        (ok & pl.col("success").is_null()).sum().alias("n_success_unknown"),
        (success & verdict.is_not_null()).sum().alias("n_objective"),
        (success & verdict).sum().alias("n_objective_pass"),
        (success & verdict.is_null()).sum().alias("n_objective_unknown"),
        (success & pl.col("failures_only")).sum().alias("n_failures_only"),
        (~success & verdict.is_not_null()).sum().alias("n_objective_unsuccessful"),
        (pl.col("started_ms").is_null() | pl.col("ended_ms").is_null()).sum().alias("n_wall_clock_unknown"),
        *(latency.quantile(part, "linear").alias(name) for name, part in QUANTILES.items()),
        latency.mean().alias("mean"),
        (success & pl.col("latency_ms").is_null()).sum().alias("n_latency_unknown"),
        *(known_sum(name) for name in (*USED, *CALLS)),
        pl.all_horizontal(pl.col("input_tokens", "output_tokens").is_null()).sum().alias("n_tokens_unknown"),
        pl.col("cost_usd").is_null().sum().alias("n_cost_unknown"),
        (pl.col("cost_usd") == 0).sum().alias("n_cost_zero"),
        used_tool.is_not_null().sum().alias("n_tool_use"),
        used_tool.sum().alias("n_tool_use_success"),
        used_tool.is_null().sum().alias("n_tool_use_unknown"),
        pl.col("models").explode().drop_nulls().unique().sort().alias("names"),
    ]


def known_sum(name: str) -> pl.Expr:
    """The sum of a column; null where no row has a value, which is not 0."""
    return pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name)


def total(amounts: pl.Series) -> float | None:
    """The sum of amounts of USD, to a trillionth as normalize counts them: the same in any order. Null without any."""
    return round(math.fsum(amounts), 12) if len(amounts) else None


def wall_clock(cases: pl.DataFrame) -> dict[tuple[Any, ...], int]:
    """Group -> milliseconds that the union of [started_ms, ended_ms] of its cases covers."""
    reached = pl.col("ended_ms").cum_max().shift(1)
    begin = pl.max_horizontal("started_ms", reached)  # what an earlier case covers counts once
    timed = cases.select(*GROUP, "started_ms", "ended_ms").drop_nulls(["started_ms", "ended_ms"])
    covered = (pl.col("ended_ms") - begin).clip(0).sum().alias("busy")
    groups = timed.sort("started_ms", "ended_ms").group_by(GROUP, maintain_order=True).agg(covered)
    return {row[:-1]: row[-1] for row in groups.iter_rows()}


def summary_of(counted: Row, busy: int | None, cost: float | None, rules: ModelsReportRules) -> Row:
    """FIELDS of one group."""
    is_row = counted["records"] == ROWS
    provider, model = (counted["provider"], counted["model"]) if is_row else only_model(counted["names"])
    used = share(counted["n_tool_use_success"], counted["n_tool_use"])
    ended = (counted["tool_calls_ok"] or 0) + (counted["tool_calls_failed"] or 0)
    summary: Row = counted | {
        "provider": provider,
        "model": model,
        "models": counted["names"],
        "n_skipped_unavailable": counted["n_skipped_unavailable"] if is_row else None,
        "success_rate_ok": share(counted["n_success"], counted["n_ok"] - counted["n_success_unknown"]),
        "objective_pass_rate": share(counted["n_objective_pass"], counted["n_objective"]),
        "wall_clock_ms": busy,
        "latency_ms": {name: rounded(counted[name]) for name in (*QUANTILES, "mean")},
        "cost_usd": cost,
        "tool_use_basis": FOUND if is_row else CALLED,
        "tool_use_success_rate": used,
        "tool_use_tier": tier(counted["n_tool_use_success"], counted["n_tool_use"], rules),
        "tool_call_success_rate": share(counted["tool_calls_ok"] or 0, ended),
        "resources_before": None,
        "resources_after": None,
    }
    return {name: summary[name] for name in FIELDS}


def only_model(names: list[str]) -> tuple[str | None, str | None]:
    """(provider, model) of the one model that sessions name; nulls where they name none or several."""
    if len(names) != 1:
        return None, None
    provider, slash, model = names[0].partition("/")
    return (provider, model) if slash else (None, names[0])


def tier(part: int, base: int, rules: ModelsReportRules) -> int | None:
    """1, 2 or 3 by tool-use success, as the benchmark has it (>= 80 %, 50-79 %, < 50 %); null without a base. A share
    between 79 and 80 % is of tier 2."""
    if not base:
        return None
    return 1 + sum(part / base < least for least in rules.tool_use_tiers)


def rounded(milliseconds: float | None) -> float | None:
    """To the microsecond, more than any record says."""
    return None if milliseconds is None else round(milliseconds, 3)
