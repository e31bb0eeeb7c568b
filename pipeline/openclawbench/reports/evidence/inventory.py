"""Event category inventory (paper T9): steps by category and source model."""

from functools import partial
from typing import TYPE_CHECKING, get_args

from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.vocabulary import EventType
from openclawbench.reports import plots
from openclawbench.reports.counting import all_models, by_model, share, with_models
from openclawbench.reports.section import BY_MODEL, Row, Section, Tables
from openclawbench.reports.settings import EvidenceReportRules

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def inventory(tables: Tables, rules: EvidenceReportRules) -> Section:
    """T9 with every category, even those without steps."""
    steps = tables(AlignedDescriptor)
    return inventory_of(by_model(steps, ["event_type"]), all_models(tables), rules)


def inventory_of(counts: list[Row], models: list[str], rules: EvidenceReportRules) -> Section:
    """T9 from rows {event_type, steps, by_model}. A category outside the closed set has a row as well."""
    counted = {row["event_type"]: row for row in counts}
    total = sum(row["steps"] for row in counted.values())
    closed = get_args(EventType)
    rows = with_models(
        [
            counted.get(name, {"event_type": name, "steps": 0, BY_MODEL: {}})
            for name in [*closed, *sorted(set(counted) - set(closed))]
        ],
        models,
    )
    for row in rows:
        row["definition"] = rules.categories.get(row["event_type"], "not in the closed set")
        row["share"] = share(row["steps"], total)
    rows.sort(key=lambda row: -row["steps"])
    return Section(
        name="inventory",
        title="Event categories (T9)",
        about="Steps by event category after alignment, over all trajectories. A step is one tool call or one text "
        "reply. Categories describe observable behaviour; none is a sign of an anomaly.",
        columns={
            "event_type": "category of the closed set (T9)",
            "definition": "the paper's definition",
            "steps": "steps of this category",
            "share": "`steps` of all steps of the corpus",
            BY_MODEL: "`steps` of that source model alone",
        },
        rows=rows,
        prose=frozenset({"definition"}),
        facts={
            "steps": total,
            "categories_without_a_step": sum(row["steps"] == 0 for row in rows),
            "outside_the_closed_set": sum(counted[n]["steps"] for n in counted if n not in closed),
        },
        definitions={
            "steps": "All steps of all trajectories.",
            "categories_without_a_step": "Categories of the closed set without a step.",
            "outside_the_closed_set": "Steps with a category outside the 13; they are kept and counted.",
        },
        plot=partial(picture, rows, models),
    )


def picture(rows: list[Row], models: list[str]) -> "Figure":
    """Counts as bars, and the distribution of each source model's steps over the categories."""
    figure, (left, right) = plots.new_figure(7 + 0.75 * len(models), 5, 2, [6, 0.5 + 0.75 * len(models)])
    names = [row["event_type"] for row in rows]
    texts = [f"{row['steps']:,} ({plots.percent(row['share'])})" for row in rows]
    plots.bars(left, names, [row["steps"] for row in rows], texts, "Steps by event category")
    left.set_xlabel("steps")
    totals = {model: sum(row[BY_MODEL][model] for row in rows) for model in models}
    shares = [[share(row[BY_MODEL][model], totals[model]) for model in models] for row in rows]
    cells = [[f"{100 * cell:.1f}" if cell else "0" for cell in line] for line in shares]
    plots.heat(right, names, models, shares, cells, "The same within each source model, % of its steps")
    right.set_yticks([])
    return figure
