"""The state of the stages, the number of their rows, and values of the input that no rule knows."""

from typing import Any

import polars as pl

from openclawbench.audit.calibration.released_verdicts import human_verdicts
from openclawbench.flow import all_stages
from openclawbench.inspect.find import has, rows_of
from openclawbench.inspect.trace_totals import trace_totals
from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.session import FileOutcome, TraceSummaryRow, Trajectory
from openclawbench.release.provenance import made_from
from openclawbench.release.writer.publish import is_current, release_key
from openclawbench.reports.evidence.languages import step_coverage
from openclawbench.runtime.active_runs import runs
from openclawbench.runtime.run import Run
from openclawbench.runtime.shard_task import Shard
from openclawbench.runtime.stage import Stage
from openclawbench.storage.data_folder import read_json
from openclawbench.workspace.certificates import quoted_certificates
from openclawbench.workspace.file_outcomes import count_inputs, noted_files
from openclawbench.workspace.run_summary import unusable_context, warning_rows


def stages(run: Run) -> list[dict[str, Any]]:
    """One row per stage: shards done, running, failed and stale, and the rows of its tables in shards that are done."""
    in_work = [(shard, set(names)) for active in runs(run.data) for shard, names in active["shards"]]
    failed_shards = failures(run)
    rows = []
    for report, stage in zip(run.plan(flow := all_stages(run.judges[2] is not None)), flow, strict=True):
        manifest = read_json(run.data.manifest_file(report.stage)) or {}
        fresh = run.fresh(stage)
        counts = count_rows(run, stage, fresh, manifest)
        stale = run.keys[stage.writes[0]].keys() - fresh
        running = {shard for shard, names in in_work if shard in stale and report.stage in names}
        failed = {row["shard"] for row in failed_shards if row["stage"] == report.stage} - running
        rows.append(
            {
                "stage": report.stage,
                "shards": report.shards,
                "done": report.shards - len(stale),
                "running": len(running),
                "stale": len(stale) - len(running) - len(failed),
                "failed": len(failed),
                "rows": ", ".join(f"{name} {number}" for name, number in counts.items()) or None,
                "seconds": manifest.get("wall_time_s"),
            }
        )
    return rows


def count_rows(run: Run, stage: Stage, fresh: set[Shard], manifest: dict[str, Any]) -> dict[str, int | None]:
    """Rows of the stage's tables in shards that are done: from its manifest, else counted, because a run over a share
    and a stopped run leave no manifest. Null if the parts are in object storage."""
    if not fresh:
        return {}
    parts = {str(shard): key for shard, key in run.keys[stage.writes[0]].items() if shard in fresh}
    if manifest.get("parts") == parts:
        return {name: output["rows"] for name, output in manifest["outputs"].items()}
    counts: dict[str, int | None] = {}
    for record in stage.writes:
        fresh_parts = {shard: key for shard, key in run.keys[record].items() if shard in fresh}
        counts[record.__name__] = None if run.data.remote else run.data.rows(record, fresh_parts)
    return counts


def failures(run: Run) -> list[dict[str, Any]]:
    """Shards that failed and have neither been redone nor changed since: {stage, shard, error}."""
    flow = {stage.name: stage for stage in all_stages(run.judges[2] is not None)}
    rows = []
    for failure in run.data.failures():
        stage, shard = flow.get(failure["stage"]), failure["shard"]
        if stage and run.keys[stage.writes[0]].get(shard) == failure["key"] and shard not in run.fresh(stage):
            rows.append({"stage": stage.name, "shard": shard, "error": failure["error"]})
    return rows


def count_unknown(run: Run) -> list[dict[str, Any]]:
    """Counts of record types, roles, content blocks and tools that no rule knows. The data keep them."""
    stages_without: list[dict[str, Any]] = []
    if has(run, FileOutcome):
        counts = sum_counts(rows_of(run, FileOutcome), "record_counts")
        stages_without += [{"what": name, "count": count} for name, count in counts if name.startswith("unknown_")]
    if has(run, Trajectory):
        blocks = sum_counts(rows_of(run, Trajectory), "unknown_blocks")
        stages_without += [{"what": f"unknown_block:{name}", "count": count} for name, count in blocks]
    if has(run, AlignedDescriptor):
        other = rows_of(run, AlignedDescriptor).filter(pl.col("event_type") == "other")
        tools = other.group_by("tool_name_raw").agg(count=pl.len()).sort("tool_name_raw", nulls_last=True).collect()
        stages_without += [{"what": f"tool:{row['tool_name_raw']}", "count": row["count"]} for row in tools.to_dicts()]
    return stages_without


def sum_counts(rows: pl.LazyFrame, column: str) -> list[tuple[str, int]]:
    """Sums over all rows of a column of lists of {name, count}, in the order of names."""
    counts = rows.select(column).explode(column).unnest(column).drop_nulls("name")
    return counts.group_by("name").agg(pl.col("count").sum()).sort("name").collect().rows()


def behaviours(run: Run) -> list[dict[str, Any]]:
    """Trajectories and tool errors by class of behaviour and the rule that decided it."""
    if not has(run, TraceSummaryRow):
        return []
    summary = pl.col("trace_summary").struct
    groups = ["behaviour", "behaviour_rule"]
    rows = rows_of(run, TraceSummaryRow).select(
        "behaviour", summary.field("behaviour_rule"), summary.field("tool_errors")
    )
    counted = rows.group_by(groups).agg(trajectories=pl.len(), tool_errors=pl.col("tool_errors").sum())
    return counted.sort(groups).collect().to_dicts()


def languages(run: Run) -> list[dict[str, Any]]:
    """Steps by the language of the agent's own words: covered (by word lists), uncovered, unsure, no_words."""
    if not has(run, AlignedDescriptor):
        return []
    steps = rows_of(run, AlignedDescriptor).select(coverage=step_coverage())
    return steps.group_by("coverage").agg(steps=pl.len()).sort("coverage").collect().to_dicts()


def release_state(run: Run, commands: list[str]) -> str:
    """none | current | stale. `commands`: release_commands() of the settings in force."""
    if not run.data.release.is_dir():
        return "none"
    certificates = quoted_certificates(run.data, run)
    origin = made_from(run.intake, run.judges, commands, human_verdicts(run.data), run.overrides, certificates)
    key = release_key(run, origin)
    return "current" if is_current(run.data, key) else "stale"


def as_data(run: Run, commands: list[str]) -> dict[str, Any]:
    """All facts of `status`, as plain data."""
    content: dict[str, Any] = {
        "stages": stages(run),
        "release": release_state(run, commands),
        "runs": runs(run.data),
        "failed": failures(run),
        "unknown": count_unknown(run),
        "behaviours": behaviours(run),
        "languages": languages(run),
        "totals": trace_totals(run),
        "input_faults": run.intake.faults,
        "input_warnings": run.intake.warnings,
        "oracle_files": run.intake.counts,
    }
    if has(run, FileOutcome):
        files = noted_files(rows_of(run, FileOutcome))
        content["sources"] = count_inputs(rows_of(run, FileOutcome))
        content["quarantined"] = (
            files.filter(pl.col("disposition") == "quarantined").select("path", "reason", "line", "message").to_dicts()
        )
        content["unusable_context"] = unusable_context(files)
        content["input_warnings"] = [*run.intake.warnings, *warning_rows(files)]
    return content
