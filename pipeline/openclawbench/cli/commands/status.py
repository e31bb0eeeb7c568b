"""Status: which stages are up to date, how many rows they hold, and what in the input was never seen before."""

from collections import Counter
from typing import Any

import polars as pl
from rich.console import Console

from openclawbench.audit.calibration.released_verdicts import human_verdicts
from openclawbench.base.terminal import table
from openclawbench.cli.tables import accounting, print_accounting, unusable_context, warned
from openclawbench.cli.trace_summary import totals, written
from openclawbench.flow import all_stages
from openclawbench.inspect.find import has, rows_of
from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.session import FileOutcome, TraceSummaryRow, Trajectory
from openclawbench.release.writer.provenance import made_from
from openclawbench.release.writer.publish import release_key, stands
from openclawbench.reports.evidence.languages import step_coverage
from openclawbench.runtime.active_runs import runs
from openclawbench.runtime.run import Run
from openclawbench.runtime.shard_task import Shard
from openclawbench.runtime.stage import Stage
from openclawbench.storage.data_folder import read_json

SHOWN, NAME_SHOWN = 200, 120  # names that no rule knows, and characters of each
RELEASE = {
    "none": "There is no release here.",
    "current": "The release is of what stands here: nothing has changed since it was made.",
    "stale": "The release is older than what stands here: run `openclawbench release` to make it anew.",
}


def stages(run: Run) -> list[dict[str, Any]]:
    """One row a stage: shards done, running, failed and stale, rows of its tables in those that are done."""
    under_way = [(shard, set(names)) for one in runs(run.data) for shard, names in one["shards"]]
    bad = failures(run)
    rows = []
    for report, stage in zip(run.plan(flow := all_stages(run.judges[2] is not None)), flow, strict=True):
        manifest = read_json(run.data.manifest_file(report.stage)) or {}
        fresh = run.fresh(stage)
        there = rows_there(run, stage, fresh, manifest)
        stale = run.keys[stage.writes[0]].keys() - fresh
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
                "rows": ", ".join(f"{name} {number}" for name, number in there.items()) or None,
                "seconds": manifest.get("wall_time_s"),
            }
        )
    return rows


def rows_there(run: Run, stage: Stage, fresh: set[Shard], manifest: dict[str, Any]) -> dict[str, int | None]:
    """Rows of the stage's tables in the shards that are done: as its manifest has them, and counted where a run over a
    share, or one that was stopped, left none of these; null where the parts are in an object storage, which nothing is
    fetched from for that."""
    if not fresh:
        return {}
    parts = {str(shard): key for shard, key in run.keys[stage.writes[0]].items() if shard in fresh}
    if manifest.get("parts") == parts:
        return {name: one["rows"] for name, one in manifest["outputs"].items()}
    found: dict[str, int | None] = {}
    for record in stage.writes:
        done = {shard: key for shard, key in run.keys[record].items() if shard in fresh}
        found[record.__name__] = None if run.data.remote else run.data.rows(record, done)
    return found


def failures(run: Run) -> list[dict[str, Any]]:
    """Shards that failed and have neither been redone nor changed since: {stage, shard, error}."""
    flow = {stage.name: stage for stage in all_stages(run.judges[2] is not None)}
    found = []
    for one in run.data.failures():
        stage, shard = flow.get(one["stage"]), one["shard"]
        if stage and run.keys[stage.writes[0]].get(shard) == one["key"] and shard not in run.fresh(stage):
            found.append({"stage": stage.name, "shard": shard, "error": one["error"]})
    return found


def unknown(run: Run) -> list[dict[str, Any]]:
    """Record types, roles, content blocks and tools that no rule knows, counted; kept in the data, fatal to nothing."""
    found: list[dict[str, Any]] = []
    if has(run, FileOutcome):
        counts = summed(rows_of(run, FileOutcome), "record_counts")
        found += [{"what": name, "count": count} for name, count in counts if name.startswith("unknown_")]
    if has(run, Trajectory):
        blocks = summed(rows_of(run, Trajectory), "unknown_blocks")
        found += [{"what": f"unknown_block:{name}", "count": count} for name, count in blocks]
    if has(run, AlignedDescriptor):
        other = rows_of(run, AlignedDescriptor).filter(pl.col("event_type") == "other")
        tools = other.group_by("tool_name_raw").agg(count=pl.len()).sort("tool_name_raw", nulls_last=True).collect()
        found += [{"what": f"tool:{row['tool_name_raw']}", "count": row["count"]} for row in tools.to_dicts()]
    return found


def summed(rows: pl.LazyFrame, column: str) -> list[tuple[str, int]]:
    """Sums over all rows of a column of lists of {name, count}, in the order of names."""
    counts = rows.select(column).explode(column).unnest(column).drop_nulls("name")
    return counts.group_by("name").agg(pl.col("count").sum()).sort("name").collect().rows()


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


def languages(run: Run) -> list[dict[str, Any]]:
    """Steps by what is known of the language of the agent's own words: covered, uncovered, unsure, no_words."""
    if not has(run, AlignedDescriptor):
        return []
    steps = rows_of(run, AlignedDescriptor).select(coverage=step_coverage())
    return steps.group_by("coverage").agg(steps=pl.len()).sort("coverage").collect().to_dicts()


def release_state(run: Run, commands: list[str]) -> str:
    """Of the release that stands: none | current | stale. `commands`: what makes the one of these settings."""
    if not run.data.release.is_dir():
        return "none"
    key = release_key(run, made_from(run.intake, run.judges, commands, human_verdicts(run.data)))
    return "current" if stands(run.data, key) else "stale"


def as_data(run: Run, commands: list[str]) -> dict[str, Any]:
    """Everything that status knows."""
    found: dict[str, Any] = {
        "stages": stages(run),
        "release": release_state(run, commands),
        "runs": runs(run.data),
        "failed": failures(run),
        "unknown": unknown(run),
        "behaviours": behaviours(run),
        "languages": languages(run),
        "totals": totals(run),
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
        found["unusable_context"] = unusable_context(files)
        found["input_warnings"] = [*run.intake.warnings, *warned(files)]
    return found


def print_status(run: Run, commands: list[str], console: Console) -> None:
    """Tables for people."""
    rows = stages(run)
    names = ["stage", "shards", "done", "running", "stale", "failed", "rows", "seconds"]
    console.print(table(None, names, ([row[name] for name in names] for row in rows)))
    console.print(f"\n{RELEASE[release_state(run, commands)]}")
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
        if lost := unusable_context(files):
            console.print()
            rows_of_it = ([one["reason"], one["line"], one["message"]] for one in lost)
            console.print(table("Context that cannot be used", ["reason", "line", "message"], rows_of_it))
        if told := warned(files):
            console.print()
            console.print(table("Kept with a warning", ["reason", "count", "where"], kept_with(told)))
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
    if spoken := languages(run):
        console.print()
        title = "Languages of the agents' own words (covered: in a language with word lists)"
        console.print(table(title, list(spoken[0]), (row.values() for row in spoken)))
    if added := totals(run):
        console.print()
        console.print(table("Traces added up", list(added[0]), (written(row).values() for row in added)))
    if strange := unknown(run):
        console.print()
        console.print(table("Known to no rule", ["what", "count"], most_of(strange)))


def kept_with(told: list[dict[str, Any]]) -> list[list[Any]]:
    """(reason, count, where) of the first warnings; how many there are of each reason in the others."""
    rows = [[one["reason"], one["count"], one["message"]] for one in told[:SHOWN]]
    left = Counter(dict.fromkeys(sorted({one["reason"] for one in told[SHOWN:]}), 0))
    for one in told[SHOWN:]:
        left[one["reason"]] += one["count"]
    return rows + [[reason, count, "in more files: --json"] for reason, count in left.items()]


def most_of(counted: list[dict[str, Any]]) -> list[list[Any]]:
    """(what, count) in the order of names, each cut to a length that can be read; of very many the most frequent, and
    how many the others are together."""
    most = {row["what"] for row in sorted(counted, key=lambda row: -row["count"])[:SHOWN]}
    rows = [[row["what"][:NAME_SHOWN], row["count"]] for row in counted if row["what"] in most]
    left = [row["count"] for row in counted if row["what"] not in most]
    return rows + ([[f"({len(left)} more names: --json)", sum(left)]] if left else [])


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
