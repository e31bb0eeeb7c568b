"""Tables and lines about a run."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.console import Console

from openclawbench.base.terminal import one_line, safe, table
from openclawbench.errors import NEEDS_A_PERSON
from openclawbench.records.oracle import Coverage
from openclawbench.records.packet import PacketCut, PacketIndex
from openclawbench.records.release import SummaryCount
from openclawbench.records.tiers import UNJUDGED
from openclawbench.release.baseline_notice import notice_of
from openclawbench.release.unjudged import NOT_ASKED, is_unjudged
from openclawbench.release.writer.summarize import BOUNDS
from openclawbench.reports.counting import percent
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.workspace.run_summary import shards_of_share, summarize, waiting_stages
from openclawbench.workspace.split_counts import DEFAULT_CUT
from openclawbench.workspace.update import RunReport

if TYPE_CHECKING:
    from openclawbench.api import RunResult

SLICES = [f"{outcome}_{bucket}_risk" for outcome in ("pass", "fail") for bucket in ("low", "medium", "high")]
COVERAGE_COLUMNS = {  # column of Coverage -> its title on the terminal; the report has all columns
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


def print_lines(console: Console, lines: list[str], limit: int = 20, style: str | None = None) -> None:
    """Print the first lines, and how many more there are."""
    for line in lines[:limit]:
        console.print(one_line(line), style=style)
    if len(lines) > limit:
        console.print(f"… and {len(lines) - limit} more; `openclawbench status` lists them all")


def print_inputs(console: Console, counts: list[dict[str, Any]]) -> None:
    """What came in, by source model. `counts`: count_inputs()."""
    names = ["source_model", "sessions_in", "trajectories", "copies", "quarantined", "no_sessions", "records_in"]
    rows = [[row[name] for name in names] for row in counts]
    console.print(table("sessions_in = trajectories + copies + quarantined", names, rows))


def print_coverage(console: Console, report: RunReport) -> None:
    """How outcomes were joined with sessions."""
    assert report.tables is not None
    rows = report.tables[Coverage].select(*COVERAGE_COLUMNS).collect()
    console.print(table("Fusion coverage", COVERAGE_COLUMNS.values(), rows.iter_rows()))


def print_packets(console: Console, report: RunReport) -> None:
    """How long packets are, and how many had to be shortened, in one line."""
    assert report.tables is not None
    rows = report.tables[PacketIndex].select("estimated_tokens", "fits").collect()
    shortened = report.tables[PacketCut].select(TRAJECTORY_KEY).unique().collect().height
    longest = max(rows["estimated_tokens"], default=0)
    too_long = rows["fits"].len() - rows["fits"].sum()
    console.print(
        f"packets: {rows.height}, the longest about {longest} tokens of steps and user turns; {shortened} shortened, "
        f"{too_long} too long for the budget; `openclawbench export packet-cuts` lists what was left out"
    )


def print_release(console: Console, result: "RunResult") -> None:
    """What a release holds, a line a subject: sessions, outcomes, labels, the gap, the sides of the default cut."""
    report = result.report
    assert report.tables is not None
    summary = summarize(report.tables[SummaryCount].collect())
    lines = {
        "sessions": sessions_line(report.inputs),
        "outcomes": outcomes_line(report.tables[Coverage].collect()),
        **(unjudged_lines(summary) if is_unjudged(summary) else label_lines(summary, result.splits)),
    }
    for name, line in lines.items():
        if line:
            console.print(f"{name:<9}{one_line(line)}")
    console.print(f"{'release':<9}{safe(str(result.release))}", style="green")
    if result.judging is not None:
        print_lines(console, result.judging.lines(result.data))
    if notice := notice_of(summary["judge"]):
        console.print(notice)


def label_lines(summary: dict[str, Any], splits: list[dict[str, Any]]) -> dict[str, str]:
    """What a judge made of the records, a line a subject."""
    return {
        "labels": labels_line(summary),
        "subtypes": listing(summary["anomaly_type_l2"]) or listing(summary["anomaly_type_l2_baseline"]),
        "gap": gap_line(summary["outcome_process_gap"]),
        "splits": splits_line(splits),
    }


def unjudged_lines(summary: dict[str, Any]) -> dict[str, str]:
    """What is known of records that nobody judged: their slices, and what is in review all the same."""
    line = f"none: {summary['label_status'][UNJUDGED]} unjudged, so there is no gap and no split"
    if causes := listing(summary["review_cause"]):
        line += f"; in review for a reason that no judge removes: {causes}"
    return {"slices": listing(summary["slice_label"]), "labels": line}


def listing(counts: dict[str, int]) -> str:
    """Names with their counts, most frequent first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in ordered if count)


def sessions_line(counts: list[dict[str, Any]]) -> str:
    """What came in. `counts`: count_inputs()."""
    total = {
        name: sum(row[name] for row in counts) for name in ("sessions_in", "trajectories", "copies", "quarantined")
    }
    models = ", ".join(f"{row['source_model']} {row['trajectories']}" for row in counts)
    return (
        f"{total['sessions_in']} read: {total['trajectories']} trajectories ({models}), "
        f"{total['copies']} copies, {total['quarantined']} quarantined"
    )


def outcomes_line(coverage: pl.DataFrame) -> str:
    """How the oracle matched the sessions. `coverage`: Coverage."""
    count = {name: int(coverage[name].sum()) for name in coverage.columns if coverage[name].dtype.is_integer()}
    line = (
        f"{count['matched']} of {count['sessions']} trajectories have a row, {count['scored']} a score, "
        f"{count['passed']} pass"
    )
    remarks = {
        "in conflict": count["contradictions"],
        "rows without a session": count["unmatched_rows"],
        "of an ambiguous name": count["ambiguous_basenames"],
        "of a task with several attempts": count["ambiguous_attempts"],
    }
    return "; ".join([line, *(f"{number} {name}" for name, number in remarks.items() if number)])


def labels_line(summary: dict[str, Any]) -> str:
    """Who labelled, the quality tiers, and how many are anomalous."""
    totals = summary["totals"]
    judges = ", ".join(name for name in summary["judge_model"] if name != NOT_ASKED)
    accepted = f"{totals['anomalous_accepted']} of {totals['accepted']} accepted ones are anomalous"
    baseline = f"{totals['anomalous_baseline']} of {totals['baseline']} of the baseline are called anomalous"
    return (
        f"by {judges or 'nobody'}: {listing(summary['quality_tier'])}; {baseline if totals['baseline'] else accepted}"
    )


def gap_line(gap: dict[str, Any]) -> str:
    """The outcome-process gap with its counts, what is in review or undecided beside it, and the bounds."""
    if not gap["passing_measured"]:
        return "not measured: no judge but the rules judge decided an oracle-passing trajectory"
    line = (
        f"{percent(gap['passing_measured_anomalous_rate'])} (silver, uncorrected): "
        f"{gap['passing_measured_anomalous']} of {gap['passing_measured']} oracle-passing trajectories are anomalous"
    )
    in_review, undecided = gap["passing_in_review"], gap["passing_undecided"]
    if in_review or undecided:
        bounds = " to ".join(dict.fromkeys(percent(gap[f"passing_{name}"]) for name in BOUNDS))
        line += f"; {in_review} in review, {undecided} undecided: {bounds} if these were all normal, or all anomalous"
    return line


def splits_line(rows: list[dict[str, Any]]) -> str:
    """The sides of the default cut. `rows`: split_counts.count_splits()."""
    default = [row for row in rows if row["cut"] == DEFAULT_CUT]
    sides = [
        f"{row['side']} {row['records']} ({row['anomalous']} anomalous)"
        for row in default
        if not row["side"].startswith("left out: ")
    ]
    left_out = sum(row["records"] for row in default if row["side"].startswith("left out: "))
    return f"{', '.join(sides)}; {left_out} in neither" if default else ""


def print_share(console: Console, report: RunReport, verb: str, data: Path) -> None:
    """The progress of a share, the stages that wait for other shares, and the last command to run."""
    sentence = f"share {report.share}: {shards_of_share(report)} shards are up to date"
    waiting = waiting_stages(report)
    names = [*waiting, *(["the release"] if verb == "release" else [])]
    if names:
        missing = max(waiting.values(), default=0)
        wait = "waits" if len(names) == 1 else "wait"
        until = (
            f"until all shards are there; {missing} are missing"
            if missing
            else "for the last run: all shards are there"
        )
        command = f"openclawbench run --data {safe(quote(str(data)))}"
        sentence += f"; {', '.join(names)} {wait} {until}. Then one run without --shard does the rest: `{command}`"
    console.print(f"\n{sentence if names else sentence + '.'}", soft_wrap=True, highlight=False)


def exit_line(reasons: list[str], verb: str, is_released: bool, is_judged: bool = True) -> str:
    """What exit status 1 means, and where to look."""
    ending = "the release is written, without them" if is_released else f"{verb} is done, without them"
    if not is_judged:
        ending = f"{verb} is not done, and a release is as it was"
    where = "`openclawbench status` lists each with what to do."
    return f"exit status {NEEDS_A_PERSON}: {'; '.join(reasons)}; {ending}. {where}"
