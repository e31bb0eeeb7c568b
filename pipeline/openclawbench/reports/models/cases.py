"""Cases: what one session, or one row of a benchmark, says of the model that did it. One row per trajectory.

The words are those of OpenClaw LLM Benchmark results. A row of such a file says them itself. What a session
says of them is our own choice, stated at each column.
"""

import polars as pl

from openclawbench.records.evidence import Descriptor
from openclawbench.records.oracle import Fused, failures_only
from openclawbench.records.session import Trajectory
from openclawbench.reports.section import Tables
from openclawbench.reports.settings import ModelsReportRules
from openclawbench.rules.construct.describe import DescribeRules
from openclawbench.sources.io.usd import FIELDS, FIGURES
from openclawbench.tables.group_by_trajectory import group_by_trajectory
from openclawbench.tables.record import TRAJECTORY_KEY, Record

READS: list[type[Record]] = [Trajectory, Fused, Descriptor]
SESSIONS, ROWS = "sessions", "benchmark_rows"
OK, ERROR = "ok", "error"
USED = FIELDS  # tokens
CALLS = ("tool_calls", "tool_calls_ok", "tool_calls_failed")
COLUMNS = [
    *("records", "source_model", "provider", "model", "thinking_level", "mode", "models", "subagent", "availability"),
    *("success", "objective_pass", "failures_only", "latency_ms", "started_ms", "ended_ms"),
    *(*USED, "cost_usd", *CALLS, "tool_use_success"),
]
TIME = "%Y-%m-%dT%H:%M:%S%.3fZ"  # as normalize writes times


def cases(tables: Tables, rules: ModelsReportRules) -> pl.DataFrame:
    """One row per trajectory, sorted by key; small columns only, so that memory grows with trajectories and not with
    steps or texts.

    records: sessions or benchmark_rows; source_model; provider, model, thinking_level: of a benchmark row; mode;
    models: that answered; subagent: another session started it; availability: ok, skipped_unavailable, rate_limited,
    auth_error, error, another word of a row, or null; success; objective_pass; failures_only;
    latency_ms; started_ms, ended_ms: since 1970; tokens, as in a RunSummary; cost_usd; tool_calls,
    tool_calls_ok, tool_calls_failed; tool_use_success. What is not known is null.
    """
    joined = tables(Trajectory).select(of_trajectory(rules))
    for table in (outcomes(tables, rules), calls(tables)):
        joined = joined.join(table, on=TRAJECTORY_KEY, how="left")
    is_row = pl.col("records") == ROWS
    with_availability = joined.with_columns(
        pl.col(CALLS).fill_null(0),
        availability=pl.when(is_row).then("row_availability").otherwise(availability()),
    )
    ok = pl.col("availability") == OK
    return (
        with_availability.with_columns(
            success=pl.when(is_row).then(ok & pl.col("row_success")).otherwise(ok & pl.col("ended_well")),
            objective_pass=pl.when(is_row).then("row_objective_pass").otherwise("objective_pass"),
            latency_ms=pl.when(is_row).then("row_latency_ms").otherwise(pl.col("wall_time_s") * 1000),
            tool_use_success=pl.when(is_row).then("row_tool_use_success").otherwise(tool_use_success()),
            **{name: pl.when(~is_row).then(name) for name in CALLS},
        )
        .sort(TRAJECTORY_KEY)
        .select(COLUMNS)
        .collect(engine="streaming")
    )


def of_trajectory(rules: ModelsReportRules) -> list[pl.Expr]:
    """What the trajectory itself says. `ended_well`: its run is completed, was not aborted, and has a step."""
    run, row = pl.col("run").struct, pl.col("benchmark").struct
    is_row = pl.col("benchmark").is_not_null()
    is_spawned = pl.col("context").struct.field("spawned_by").is_not_null()
    is_subagent = pl.col("parent_trajectory_id").is_not_null() & (
        pl.col("continues_trajectory_id").is_null() | is_spawned
    )
    aborted = pl.col("context").struct.field("aborted_last_run").fill_null(False)
    has_span = is_row | run.field("wall_time_s").is_not_null()  # else one record alone has a time
    times = {
        f"{name}_ms": pl.when(has_span).then(
            run.field(f"{name}_at").str.to_datetime(TIME, time_unit="ms", strict=False).dt.epoch("ms")
        )
        for name in ("started", "ended")
    }
    return [
        *map(pl.col, (*TRAJECTORY_KEY, "mode", "models")),
        pl.when(is_row).then(pl.lit(ROWS)).otherwise(pl.lit(SESSIONS)).alias("records"),
        is_subagent.alias("subagent"),
        (run.field("end") == ERROR).alias("ended_in_error"),
        ((run.field("end") == "completed") & ~aborted & (pl.col("num_steps") > 0)).alias("ended_well"),
        reason(run.field("first_provider_error"), rules).alias("provider_reason"),
        *map(run.field, FIGURES),
        *(time.alias(name) for name, time in times.items()),
        *map(row.field, ("provider", "model", "thinking_level")),
        row.field("availability_status").alias("row_availability"),
        row.field("success").alias("row_success"),
        row.field("objective_pass").alias("row_objective_pass"),
        row.field("e2e_ms").alias("row_latency_ms"),
        row.field("tool_use_success").alias("row_tool_use_success"),
    ]


def outcomes(tables: Tables, rules: ModelsReportRules) -> pl.LazyFrame:
    """Key, objective_pass, failures_only, infra_error and evaluator_reason: what the oracle says. A failure of a
    category whose passes are unknown is not an objective_pass: the rate of the category would be 0 %."""
    alone, oracle = failures_only(), pl.col("oracle").struct
    return tables(Fused).select(
        *TRAJECTORY_KEY,
        objective_pass=pl.when(~alone).then(pl.col("oracle_outcome") == "pass"),
        failures_only=alone,
        infra_error=(oracle.field("status") == "infra_error").fill_null(False),
        evaluator_reason=reason(oracle.field("error_message"), rules),
    )


def reason(text: pl.Expr, rules: ModelsReportRules) -> pl.Expr:
    """What the text of an error says, by the entries of provider_failure; null where no pattern occurs."""
    statuses = (
        pl.when(text.str.contains(entry.pattern)).then(pl.lit(entry.status)) for entry in rules.provider_failures
    )
    return pl.coalesce(*statuses, pl.lit(None, pl.String))


def calls(tables: Tables) -> pl.LazyFrame:
    """Key and CALLS: the tool calls of the steps, those that ended ok, and those that ended in one of the statuses of a
    failure; the others' end is not known. A reply has no status. Words of a reply are never a call."""
    status = pl.col("tool_status")
    failures = DescribeRules.load().failure_statuses
    call_steps = tables(Descriptor).select(*TRAJECTORY_KEY, "tool_status").filter(status.is_not_null())
    counts = {
        "tool_calls": pl.len(),
        "tool_calls_ok": (status == OK).sum(),
        "tool_calls_failed": status.is_in(failures).sum(),
    }
    return group_by_trajectory(call_steps, **{name: count.cast(pl.Int64) for name, count in counts.items()})


def availability() -> pl.Expr:
    """Of a session: ok, unless its run ended in an error or the evaluator says that the infrastructure failed; then
    what the first error of its provider says, or the evaluator."""
    failed = pl.col("ended_in_error") | pl.col("infra_error").fill_null(False)
    why = pl.coalesce("provider_reason", pl.when("infra_error").then("evaluator_reason"), pl.lit(ERROR))
    return pl.when(failed).then(why).otherwise(pl.lit(OK))


def tool_use_success() -> pl.Expr:
    """Of a session: true if a tool call ended ok, false if all of them failed; null without a call, and where the end
    of one that might have is not known."""
    all_failed = (pl.col("tool_calls") > 0) & (pl.col("tool_calls_failed") == pl.col("tool_calls"))
    return pl.when(pl.col("tool_calls_ok") > 0).then(True).when(all_failed).then(False)
