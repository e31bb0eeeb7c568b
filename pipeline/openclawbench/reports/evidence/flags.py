"""Automatic flags: how often each fires, and which occur on the same step."""

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.reports import plots
from openclawbench.reports.counting import share
from openclawbench.reports.section import Row, Section, Tables
from openclawbench.reports.settings import EvidenceReportRules
from openclawbench.rules.construct.flags import FlagRules
from openclawbench.tables.record import STEP_KEY

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def flags(tables: Tables, _rules: EvidenceReportRules) -> Section:
    """One row per flag: steps that carry it, and how many of them carry each other flag."""
    steps = tables(AlignedDescriptor)
    total, flagged = steps.select(pl.len(), pl.col("auto_flags").list.len().gt(0).sum()).collect().row(0)
    flagged_steps = steps.select(*STEP_KEY, flag="auto_flags").explode("flag").drop_nulls("flag")
    pairs = (
        flagged_steps.join(flagged_steps, on=STEP_KEY, suffix="_too")
        .group_by("flag", "flag_too")
        .agg(pl.len())
        .collect()
    )
    counts = {(first, second): number for first, second, number in pairs.iter_rows()}
    order = FlagRules.load().order
    names = [*order, *sorted({first for first, _ in counts} - set(order))]
    rows: list[Row] = []
    for name in names:
        own = counts.get((name, name), 0)
        rows.append(
            {
                "flag": name,
                "steps": own,
                "share": share(own, total),
                **{f"with {other}": counts.get((name, other), 0) for other in names},
            }
        )
    return Section(
        name="flags",
        title="Flags and which occur together",
        about="Steps by automatic flag. Flags are cues for an annotator, never labels. A step can carry several.",
        columns={
            "flag": "automatic flag (T12's sources)",
            "steps": "steps that carry it",
            "share": "`steps` of all steps",
            **{f"with {name}": f"of the row's steps, those that also carry {name}" for name in names},
        },
        rows=rows,
        facts={"flagged_steps": flagged, "flagged_share": share(flagged, total)},
        definitions={"flagged_steps": "Steps with at least one flag.", "flagged_share": "Of all steps."},
        plot=partial(picture, rows, names),
    )


def picture(rows: list[Row], names: list[str]) -> "Figure":
    """Share of the row's steps that carry the column's flag, with the counts."""
    figure, (axes,) = plots.new_figure(8.5, 5.2)
    shares = [[share(row[f"with {name}"], row["steps"]) for name in names] for row in rows]
    texts = [[f"{row[f'with {name}']:,}" for name in names] for row in rows]
    labels = [f"{row['flag']} ({row['steps']:,})" for row in rows]
    title = "Flags on the same step (number; darker: larger share of the row's steps)"
    plots.heat(axes, labels, names, shares, texts, title)
    return figure
