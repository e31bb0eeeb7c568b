"""Status: which stages are up to date, how many rows they hold, and what in the input was never seen before."""

from typing import Any

import polars as pl
from rich.console import Console

from pipeline.console.find import has, rows_of
from pipeline.console.report import accounting, print_accounting
from pipeline.console.terminal import table
from pipeline.flow import whole
from pipeline.records.evidence import AlignedDescriptor
from pipeline.records.session import FileOutcome, TraceSummaryRow
from pipeline.run import Run
from pipeline.running import runs
from pipeline.store import read_json


def stages(run: Run) -> list[dict[str, Any]]:
    """One row a stage: shards done, running, failed and stale, rows of its tables as its last manifest has them."""
    under_way = [(shard, set(names)) for one in runs(run.data) for shard, names in one["shards"]]
    bad = failures(run)
    rows = []
    for report, stage in zip(run.plan(flow := whole(run.judges[2] is not None)), flow, strict=True):
        manifest = read_json(run.data.manifest_file(report.stage)) or {}
        outputs = manifest.get("outputs", {})
        stale = run.keys[stage.writes[0]].keys() - run.fresh(stage)
        running = {shard for shard, names in under_way if shard in stale and report.stage in names}
        failed = {one["shard"] for one in bad if one["stage"] == report.stage} - running
        rows.append(
            {
                "stage": report.stage,
                "shards": report.shards,
                "done": report.shards - len(stale),
                "running": len(running),
                "stale": len(stale) - len(running) - len(failed),
                "failed": len(failed),
                "rows": ", ".join(f"{name} {one['rows']}" for name, one in outputs.items()) or None,
                "seconds": manifest.get("wall_time_s"),
            }
        )
    return rows


def failures(run: Run) -> list[dict[str, Any]]:
    """Shards that failed and have neither been redone nor changed since: {stage, shard, error}."""
    flow = {stage.name: stage for stage in whole(run.judges[2] is not None)}
    found = []
    for one in run.data.failures():
        stage, shard = flow.get(one["stage"]), one["shard"]
        if stage and run.keys[stage.writes[0]].get(shard) == one["key"] and shard not in run.fresh(stage):
            found.append({"stage": stage.name, "shard": shard, "error": one["error"]})
    return found


def unknown(run: Run) -> list[dict[str, Any]]:
    """Record types, roles and tools that no rule knows, counted; kept in the data, fatal to nothing."""
    found: list[dict[str, Any]] = []
    if has(run, FileOutcome):
        counts = rows_of(run, FileOutcome).select("record_counts").explode("record_counts").unnest("record_counts")
        strange = counts.filter(pl.col("name").str.starts_with("unknown_")).group_by("name").agg(pl.col("count").sum())
        found += [{"what": row["name"], "count": row["count"]} for row in strange.sort("name").collect().to_dicts()]
    if has(run, AlignedDescriptor):
        other = rows_of(run, AlignedDescriptor).filter(pl.col("event_type") == "other")
        tools = other.group_by("tool_name_raw").agg(count=pl.len()).sort("tool_name_raw", nulls_last=True).collect()
        found += [{"what": f"tool:{row['tool_name_raw']}", "count": row["count"]} for row in tools.to_dicts()]
    return found


def behaviours(run: Run) -> list[dict[str, Any]]:
    """How runs went, counted by class and the rule that decided it."""
    if not has(run, TraceSummaryRow):
        return []
    summary = pl.col("trace_summary").struct
    by = ["behaviour", "behaviour_rule"]
    rows = rows_of(run, TraceSummaryRow).select(
        "behaviour", summary.field("behaviour_rule"), summary.field("tool_errors")
    )
    counted = rows.group_by(by).agg(trajectories=pl.len(), tool_errors=pl.col("tool_errors").sum())
    return counted.sort(by).collect().to_dicts()


def as_data(run: Run) -> dict[str, Any]:
    """Everything that status knows."""
    found: dict[str, Any] = {
        "stages": stages(run),
        "runs": runs(run.data),
        "failed": failures(run),
        "unknown": unknown(run),
        "behaviours": behaviours(run),
        "input_faults": run.intake.faults,
        "input_warnings": run.intake.warnings,
        "oracle_files": run.intake.counts,
    }
    if has(run, FileOutcome):
        files = rows_of(run, FileOutcome).collect()
        found["sources"] = accounting(files)
        found["quarantined"] = (
            files.filter(pl.col("disposition") == "quarantined").select("path", "reason", "line", "message").to_dicts()
        )
    return found


def print_status(run: Run, console: Console) -> None:
    """Tables for people."""
    rows = stages(run)
    names = ["stage", "shards", "done", "running", "stale", "failed", "rows", "seconds"]
    console.print(table(None, names, ([row[name] for name in names] for row in rows)))
    print_runs(run, console)
    if has(run, FileOutcome):
        console.print()
        files = rows_of(run, FileOutcome).collect()
        print_accounting(console, files)
        bad = files.filter(pl.col("disposition") == "quarantined").sort("path")
        if bad.height:
            console.print()
            columns = ["reason", "line", "message"]
            console.print(table("Quarantined", columns, bad.select(columns).iter_rows()))
    for title, found in (("Faults of the inputs", run.intake.faults), ("Of the oracle", run.intake.warnings)):
        if found:
            console.print()
            console.print(table(title, ["reason", "message"], ([one["reason"], one["message"]] for one in found)))
    if any(run.intake.counts.values()):
        console.print()
        counts = [[kind, count] for kind, count in run.intake.counts.items()]
        console.print(table("Oracle and run manifest", ["what", "count"], counts))
    if went := behaviours(run):
        console.print()
        console.print(table("How runs went", list(went[0]), (row.values() for row in went)))
    strange = unknown(run)
    if strange:
        console.print()
        console.print(table("Known to no rule", ["what", "count"], ([row["what"], row["count"]] for row in strange)))


def print_runs(run: Run, console: Console) -> None:
    """What is at work in this data folder, and which shards failed."""
    if alive := runs(run.data):
        console.print()
        columns = ["host", "process", "share", "shards under way"]
        rows = ([one["host"], one["pid"], one["share"], len(one["shards"])] for one in alive)
        console.print(table("Runs", columns, rows))
    if bad := failures(run):
        console.print()
        columns = ["stage", "shard", "error"]
        console.print(table("Failed shards", columns, ([one[name] for name in columns] for one in bad)))
