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
from openclawbench.records.tiers import TIERS
from openclawbench.release.baseline_notice import notice_of
from openclawbench.release.writer.summarize import BOUNDS
from openclawbench.reports.counting import percent
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.workspace.run_summary import shards_of_share, summarize, waiting_stages
from openclawbench.workspace.update import RunReport

if TYPE_CHECKING:
    from openclawbench.api import RunResult

SLICES = [f"{outcome}_{bucket}_risk" for outcome in ("pass", "fail") for bucket in ("low", "medium", "high")]
SUBTYPE_TABLES = {"anomaly_type_l2": "accepted", "anomaly_type_l2_baseline": "baseline: the rules judge's"}
GAP_TABLES = {
    "Outcome-process gap (silver, uncorrected): anomalous among": {
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
OPEN_COLUMNS = ["in review", "undecided", "if all of these were normal to anomalous"]
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
    """Outcomes, tiers, slices, subtypes, the outcome-process gap, the splits and the folder of a release."""
    report = result.report
    assert report.tables is not None
    counts = report.tables[SummaryCount].collect()
    summary = summarize(counts)
    print_outcomes(console, report.tables[Coverage].collect())
    console.print()
    print_counts(console, counts)
    console.print()
    print_gap(console, summary["outcome_process_gap"])
    console.print()
    print_splits(result.splits, console)
    console.print(f"\nrelease: {safe(str(result.release))}", style="green")
    if notice := notice_of(summary["judge"]):
        console.print(notice)


def print_outcomes(console: Console, coverage: pl.DataFrame) -> None:
    """How the oracle matched the sessions, in one line."""
    count = {name: int(coverage[name].sum()) for name in coverage.columns if coverage[name].dtype.is_integer()}
    console.print(
        f"oracle: {count['matched']} of {count['sessions']} trajectories matched, {count['scored']} scored, "
        f"{count['contradictions']} contradicted, {count['unmatched_rows']} rows without a session "
        f"({count['ambiguous_basenames']} of an ambiguous basename, {count['ambiguous_attempts']} of a task with "
        f"several attempts); `openclawbench fuse` prints the table"
    )


def print_counts(console: Console, counts: pl.DataFrame) -> None:
    """Tiers, slices and subtypes, by model. `counts`: SummaryCount."""
    models = sorted(counts["source_model"].unique())

    def print_group(title: str, header: str, group: str, names: list[str]) -> None:
        rows = counts.filter(pl.col("group") == group).to_dicts()
        by_model = {(row["source_model"], row["name"]): row["count"] for row in rows}
        numbers = [[by_model.get((model, name), 0) for model in models] for name in names]
        body = [[name, *row, sum(row)] for name, row in zip(names, numbers, strict=True)]
        console.print(table(title, [header, *models, "all"], body))

    print_group("Quality tiers", "tier", "quality_tier", list(TIERS))
    console.print()
    print_group("Risk slices", "slice", "slice_label", [*SLICES, "no_outcome"])
    for group, origin in SUBTYPE_TABLES.items():
        if subtypes := sorted(counts.filter(pl.col("group") == group)["name"].unique()):
            console.print()
            print_group(f"Subtypes ({origin})", "subtype", group, subtypes)


def print_gap(console: Console, gap: dict[str, Any]) -> None:
    """The outcome-process gap with its counts; beside each share what is in review or undecided, and the bounds."""
    for title, lines in GAP_TABLES.items():
        rows = [
            [name, gap[f"{base}_anomalous"], gap[base], percent(gap[f"{base}_anomalous_rate"]), *open_cells(gap, base)]
            for name, base in lines.items()
        ]
        if any(row[2] for row in rows):
            console.print(table(title, ["trajectories", "anomalous", "of", "share", *OPEN_COLUMNS], rows))
    if not gap["passing_measured"]:
        console.print("Outcome-process gap: not measured: no judge but the rules judge decided an oracle-passing one.")


def open_cells(gap: dict[str, Any], base: str) -> list[str]:
    """OPEN_COLUMNS of the trajectories that a base counts."""
    passing = "pass_high_risk" if base.startswith("pass_high_risk") else "passing"
    bounds = dict.fromkeys(percent(gap[f"{passing}_{name}"]) for name in BOUNDS)
    return [str(gap[f"{passing}_in_review"]), str(gap[f"{passing}_undecided"]), " to ".join(bounds)]


def print_splits(rows: list[dict[str, Any]], console: Console) -> None:
    """The table of split_counts.count_splits()."""
    names = ["cut", "side", "records", "decided", "anomalous"]
    title = "Splits (decided: needs no review; anomalous: of these)"
    console.print(table(title, names, ([row[name] for name in names] for row in rows)))


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
