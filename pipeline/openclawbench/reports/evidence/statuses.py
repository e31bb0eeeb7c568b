"""tool_status by tool: how the calls of each tool ended."""

from functools import partial
from typing import TYPE_CHECKING, get_args

import polars as pl

from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.vocabulary import ToolStatus
from openclawbench.reports import plots
from openclawbench.reports.counting import share
from openclawbench.reports.section import Row, Section, Tables
from openclawbench.reports.settings import EvidenceReportRules
from openclawbench.rules.construct.describe import DescribeRules

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNKNOWN = "unknown"
COLOURS = {
    "ok": "#a8d5a2",
    "unknown": "#d9d9d9",
    "error": "#d55e00",
    "timeout": "#e69f00",
    "denied": "#7b3294",
    "not_found": "#56b4e9",
    "unavailable": "#0072b2",
    "aborted": "#444444",
}


def statuses(tables: Tables, rules: EvidenceReportRules) -> Section:
    """One row per aligned tool name: its calls by tool_status, the most called tool first."""
    failures = DescribeRules.load().failure_statuses
    calls = tables(AlignedDescriptor).filter(pl.col("tool_status").is_not_null())
    counted = calls.group_by("tool_name", "tool_status").agg(pl.len()).sort("tool_name", "tool_status").collect()
    by_tool: dict[str | None, dict[str, int]] = {}
    for tool, status, number in counted.iter_rows():
        by_tool.setdefault(tool, {})[status] = number
    unlisted = sorted({status for counts in by_tool.values() for status in counts} - set(get_args(ToolStatus)))
    order = [*get_args(ToolStatus), *unlisted]
    rows: list[Row] = []
    for tool, numbers in sorted(by_tool.items(), key=lambda item: -sum(item[1].values())):
        total, failed = sum(numbers.values()), sum(numbers.get(name, 0) for name in failures)
        rows.append(
            {
                "tool_name": tool,
                "calls": total,
                **{name: numbers.get(name, 0) for name in order},
                "failed_share": share(failed, total),
            }
        )
    total = sum(row["calls"] for row in rows)
    failed = sum(row[name] for row in rows for name in failures)
    unknown = sum(row[UNKNOWN] for row in rows)
    return Section(
        name="statuses",
        title="tool_status by tool",
        about="Tool calls by aligned tool name and tool_status. Replies have no status and are left out. No status "
        "rests on `isError` alone. Unknown are calls that go on or have no result, and those of which neither a "
        "field nor an envelope of their harness says how they ended.",
        columns={
            "tool_name": "name after alignment",
            "calls": "tool calls",
            **{name: f"calls that ended `{name}`" for name in order},
            "failed_share": f"calls that ended {', '.join(failures)}, of `calls`",
        },
        rows=rows,
        facts={
            "tool_calls": total,
            "failed": failed,
            "failed_share": share(failed, total),
            "unknown": unknown,
            "unknown_share": share(unknown, total),
        },
        definitions={
            "tool_calls": "Tool calls; each has a status.",
            "failed": f"Those that ended {', '.join(failures)}.",
            "failed_share": "Failed calls of all.",
            "unknown": "Those of which nobody knows how they ended: they are neither ok nor failed.",
            "unknown_share": "Unknown calls of all.",
        },
        shown=rules.alignment_rows,
        plot=partial(picture, rows, order, rules.plotted_tools),
    )


def picture(rows: list[Row], order: list[str], most: int) -> "Figure":
    """The most called tools; all others are one bar."""
    top, rest = rows[:most], rows[most:]
    bars = [(row["tool_name"] or "(no name)", row) for row in top]
    if rest:
        summed = {name: sum(row[name] for row in rest) for name in ["calls", *order]}
        bars.append((f"{len(rest)} others", summed))
    used = [name for name in order if any(row[name] for _, row in bars)]
    figure, (axes,) = plots.new_figure(9, 1.7 + 0.27 * len(bars))
    parts = {name: [100 * row[name] / row["calls"] for _, row in bars] for name in used}
    names = [f"{name} ({row['calls']:,})" for name, row in bars]
    plots.stacked(figure, axes, names, parts, "How calls ended, by tool", COLOURS)
    plots.percentages(axes, parts, COLOURS)
    axes.set_xlabel("% of the tool's calls (their number in brackets)")
    return figure
