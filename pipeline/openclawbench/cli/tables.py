"""Tables that commands print, and the same as plain data for --json."""

from typing import Any

import polars as pl
from rich.console import Console

from openclawbench.base.terminal import one_line, table
from openclawbench.cli.session import Done
from openclawbench.records.oracle import Coverage
from openclawbench.records.packet import PacketCut, PacketIndex
from openclawbench.records.release import SummaryCount
from openclawbench.records.tiers import TIERS
from openclawbench.release.notice import notice_of
from openclawbench.release.writer.summarize import summary
from openclawbench.reports.counting import percent
from openclawbench.sources.openclaw.session_index import REASON as BROKEN_CONTEXT
from openclawbench.tables.record import TRAJECTORY_KEY

SLICES = [f"{outcome}_{bucket}_risk" for outcome in ("pass", "fail") for bucket in ("low", "medium", "high")]


def accounting(files: pl.DataFrame) -> list[dict[str, Any]]:
    """Per source model: sessions_in = trajectories + copies + quarantined; files that are no sessions beside it."""
    kind = pl.col("disposition")
    counted = files.group_by("source_model").agg(
        sessions_in=(kind != "sidecar").sum(),
        trajectories=(kind == "trajectory").sum(),
        copies=(kind == "copy").sum(),
        quarantined=(kind == "quarantined").sum(),
        no_sessions=(kind == "sidecar").sum(),
        records_in=pl.col("records_in").sum(),
    )
    return counted.sort("source_model").to_dicts()


def print_accounting(console: Console, files: pl.DataFrame) -> None:
    """The accounting table."""
    rows = accounting(files)
    names = ["source_model", "sessions_in", "trajectories", "copies", "quarantined", "no_sessions", "records_in"]
    console.print(
        table("sessions_in = trajectories + copies + quarantined", names, ([r[n] for n in names] for r in rows))
    )


def complaints(done: Done) -> list[str]:
    """A sentence for each input that a person must look at."""
    quarantined = done.files.filter(pl.col("disposition") == "quarantined").sort("path")
    found = [f"{row['reason']}: {row['message']}" for row in quarantined.iter_rows(named=True)]
    if not done.sessions:
        found.append("no_sessions: no file here is a session. Put *.jsonl files under RAW/<source_model>/.")
    return found + [f"{fault['reason']}: {fault['message']}" for fault in done.faults]


def warnings(files: pl.DataFrame) -> list[str]:
    """A sentence for each fault that did not stop a file, and for each file beside sessions that is of no use."""
    beside = unusable_context(files)
    return [f"{row['reason']}: {row['message']}" for row in beside] + [
        f"{row['reason']}: {row['message']}; the session is kept" for row in warned(files)
    ]


def warned(files: pl.DataFrame) -> list[dict[str, Any]]:
    """Faults that did not stop a file, by file and reason: file, member, reason, line of the first, count, message."""
    rows = files.explode("warnings").drop_nulls("warnings").sort("path").iter_rows(named=True)
    return [warning_row(row, row["warnings"]) for row in rows]


def warning_row(row: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """One of them. `row`: of FileOutcome; `told`: what it has of this reason."""
    times = f"{told['count']} times, first in" if told["count"] > 1 else "in"
    return {
        "file": row["path"],
        "member": row["member"],
        "reason": told["name"],
        "line": told["line"],
        "count": told["count"],
        "message": f"{place_of(row)}: {times} line {told['line']}",
    }


def unusable_context(files: pl.DataFrame) -> list[dict[str, Any]]:
    """What lies beside sessions, or in a store of them, and is of no use for something in it is broken: path, member,
    reason, line, message."""
    columns = ["path", "member", "reason", "line", "message"]
    return files.filter(pl.col("reason") == BROKEN_CONTEXT).sort("path").select(columns).to_dicts()


def place_of(row: dict[str, Any]) -> str:
    """Which file, and which session in it."""
    return f"{row['path']}#{row['member']}" if row["member"] else str(row["path"])


def notes(done: Done) -> list[str]:
    """A sentence for each thing about the outcomes that must not pass unsaid."""
    return [f"{one['reason']}: {one['message']}" for one in done.notes]


SUBTYPE_TABLES = {"anomaly_type_l2": "accepted", "anomaly_type_l2_baseline": "baseline: the rules judge's"}
GAP_TABLES = {
    "Outcome-process gap: anomalous among": {
        "oracle-passing": "passing_measured",
        "oracle-passing, accepted only": "passing_accepted",
        "pass_high_risk": "pass_high_risk_measured",
        "pass_high_risk, accepted only": "pass_high_risk_accepted",
    },
    "Baseline, not the gap: called anomalous by the rules judge among": {
        "oracle-passing": "passing_baseline",
        "pass_high_risk": "pass_high_risk_baseline",
    },
}


def headline(counts: pl.DataFrame) -> dict[str, Any]:
    """Tiers, slices and the gap of the whole corpus."""
    return summary(counts)


def print_headline(console: Console, done: Done) -> None:
    """Tiers by model, slices by model, the outcome-process gap."""
    assert done.tables is not None
    counts = done.tables[SummaryCount].collect()
    models = sorted(counts["source_model"].unique())

    def rows(group: str, names: list[str]) -> list[list[object]]:
        found = {(r["source_model"], r["name"]): r["count"] for r in counts.filter(pl.col("group") == group).to_dicts()}
        return [[n, *(found.get((m, n), 0) for m in models), sum(found.get((m, n), 0) for m in models)] for n in names]

    console.print(table("Quality tiers", ["tier", *models, "all"], rows("quality_tier", list(TIERS))))
    console.print()
    console.print(table("Risk slices", ["slice", *models, "all"], rows("slice_label", [*SLICES, "no_outcome"])))
    for group, words in SUBTYPE_TABLES.items():
        if labels := sorted(counts.filter(pl.col("group") == group)["name"].unique()):
            console.print()
            console.print(table(f"Subtypes ({words})", ["subtype", *models, "all"], rows(group, labels)))
    console.print()
    print_gap(console, headline(counts))


def print_gap(console: Console, found: dict[str, Any]) -> None:
    """The outcome-process gap with its counts."""
    gap = found["outcome_process_gap"]
    for title, lines in GAP_TABLES.items():
        rows = [
            [name, gap[f"{base}_anomalous"], gap[base], percent(gap[f"{base}_anomalous_rate"])]
            for name, base in lines.items()
        ]
        if any(row[2] for row in rows):
            console.print(table(title, ["trajectories", "anomalous", "of", "share"], rows))


def outcome_line(done: Done) -> str:
    """How the oracle met the sessions, in one line."""
    assert done.tables is not None
    rows = done.tables[Coverage].collect()
    count = {name: int(rows[name].sum()) for name in rows.columns if rows[name].dtype.is_integer()}
    return (
        f"oracle: {count['matched']} of {count['sessions']} trajectories matched, {count['scored']} scored, "
        f"{count['contradictions']} contradicted, {count['unmatched_rows']} rows without a session "
        f"({count['ambiguous_basenames']} of an ambiguous basename, {count['ambiguous_attempts']} of a task with "
        f"several attempts); `openclawbench fuse` prints the table"
    )


COVERED = {  # column of Coverage -> its title in the terminal's table; the report has all columns
    "source_model": "source_model",
    "subset": "subset",
    "sessions": "sessions",
    "matched": "matched",
    "scored": "scored",
    "passed": "passed",
    "unmatched_sessions": "no row",
    "contradictions": "in conflict",
    "oracle_rows": "rows",
    "unmatched_rows": "no session",
    "duplicate_rows": "duplicates",
    "ambiguous_basenames": "ambiguous name",
    "ambiguous_attempts": "several attempts",
}


def packet_line(done: Done) -> str:
    """How long packets are, and how many had to be shortened."""
    assert done.tables is not None
    rows = done.tables[PacketIndex].select("estimated_tokens", "fits").collect()
    short = done.tables[PacketCut].select(TRAJECTORY_KEY).unique().collect().height
    longest = max(rows["estimated_tokens"], default=0)
    too_long = rows["fits"].len() - rows["fits"].sum()
    return (
        f"packets: {rows.height}, the longest about {longest} tokens of steps and user turns; {short} shortened, "
        f"{too_long} too long for the budget; `openclawbench export packet-cuts` lists what was left out"
    )


def print_coverage(console: Console, done: Done) -> None:
    """Fusion coverage; the report has more columns."""
    assert done.tables is not None
    rows = done.tables[Coverage].select(*COVERED).collect()
    console.print(table("Fusion coverage", COVERED.values(), rows.iter_rows()))


def notice(found: dict[str, Any]) -> str | None:
    """What must be said loudly about the labels."""
    return notice_of(found["judge"])


def say(console: Console, lines: list[str], limit: int = 20, style: str | None = None) -> None:
    """The first lines, and how many more there are."""
    for line in lines[:limit]:
        console.print(one_line(line), style=style)
    if len(lines) > limit:
        console.print(f"… and {len(lines) - limit} more; `openclawbench status` lists them all")
