"""Cross-model evidence alignment (paper T10): raw tool name -> aligned name -> category, with rule and counts."""

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.reports import plots
from openclawbench.reports.counting import all_models, by_model, share, with_models
from openclawbench.reports.section import BY_MODEL, Row, Section, Tables
from openclawbench.reports.settings import EvidenceReportRules
from openclawbench.rules.construct.align import AlignRules

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEYS = ["tool_name_raw", "tool_name", "event_type", "previous_event_type", "alignment_case", "alignment_rule"]


def alignment(tables: Tables, rules: EvidenceReportRules) -> Section:
    """Every combination of raw name, aligned name and category in tool calls."""
    align = AlignRules.load()
    steps = tables(AlignedDescriptor)
    calls = steps.filter(pl.col("alignment_case") != align.reply_case)
    models = all_models(tables)
    rows = with_models(by_model(calls, KEYS), models)
    cases = with_models(by_model(calls, ["alignment_case"]), models)
    total = sum(row["steps"] for row in rows)
    of_case = {row["alignment_case"]: row["steps"] for row in cases}
    moved = sum(row["steps"] for row in rows if row["event_type"] != row["previous_event_type"])
    return Section(
        name="alignment",
        title="Cross-model alignment (T10)",
        about="Tool calls (without replies) by the name in the session, the name after alignment, and the category. A "
        "tool that runs commands has a row per category, because its category is what the command does. Alignment adds "
        "columns; it never changes the session's text.",
        columns={
            "tool_name_raw": "the tool's name in the session",
            "tool_name": "its name after alignment; for a wrapper, the tool inside",
            "event_type": "category after alignment",
            "previous_event_type": "category before alignment",
            "alignment_case": "exact: a known alias; fuzzy: a naming rule; kept: neither, name and category stay; "
            "ambiguous: naming rules that disagree, left unresolved",
            "alignment_rule": "id of the rule, or all ids if they disagree",
            "steps": "tool calls",
            BY_MODEL: "tool calls of that source model alone",
        },
        rows=rows,
        facts={
            "tool_calls": total,
            "raw_names": len({row["tool_name_raw"] for row in rows}),
            "aligned_names": len({row["tool_name"] for row in rows}),
            "exact_share": share(of_case.get(align.exact_case, 0), total),
            "fuzzy_share": share(of_case.get(align.fuzzy_case, 0), total),
            "kept_share": share(of_case.get(align.kept_case, 0), total),
            "ambiguous_share": share(of_case.get(align.ambiguous_case, 0), total),
            "category_changed": moved,
        },
        definitions={
            "tool_calls": "Steps that are tool calls.",
            "raw_names": "Different names in the sessions.",
            "aligned_names": "Different names after alignment.",
            "exact_share": "Tool calls aligned by an exact alias, of all.",
            "fuzzy_share": "Tool calls aligned by a naming rule, of all.",
            "kept_share": "Tool calls whose name matches no rule, of all.",
            "ambiguous_share": "Tool calls left for review, of all.",
            "category_changed": "Tool calls whose category alignment changed; only `other` is ever changed.",
        },
        shown=rules.alignment_rows,
        plot=partial(picture, cases, models),
    )


def review_list(tables: Tables, rules: EvidenceReportRules) -> Section:
    """Names that alignment did not resolve, because rules disagree or no rule knows the name, with example steps."""
    align = AlignRules.load()
    open_cases = [align.ambiguous_case, align.kept_case]
    keys = ["alignment_case", "tool_name_raw", "event_type", "alignment_rule"]
    steps = tables(AlignedDescriptor).filter(pl.col("alignment_case").is_in(open_cases))
    counted = by_model(steps, keys)
    place = pl.concat_str("source_model", pl.lit("/"), "trajectory_id", pl.lit(" "), "step_id")
    first_steps = steps.group_by(keys).agg(
        place.sort_by("source_model", "trajectory_id", "step_id").head(rules.review_examples)
    )
    examples = {tuple(key): places for *key, places in first_steps.collect().iter_rows()}
    rows = [{**row, "examples": examples[tuple(row[key] for key in keys)]} for row in counted]
    rows.sort(key=lambda row: open_cases.index(row["alignment_case"]))
    return Section(
        name="alignment_review",
        title="Alignment: for review",
        about="Tool names that alignment did not resolve: first those on which naming rules disagree, then those that "
        "no rule knows. To make a name known, add a line to `align.toml`.",
        columns={
            "alignment_case": "ambiguous or kept",
            "tool_name_raw": "the tool's name in the session",
            "event_type": "category before alignment",
            "alignment_rule": "ids of the rules that disagree",
            "steps": "tool calls",
            "examples": "the first of these: source model, trajectory, step",
        },
        rows=[{name: value for name, value in row.items() if name != BY_MODEL} for row in rows],
        facts={
            "ambiguous_names": len({r["tool_name_raw"] for r in rows if r["alignment_case"] == align.ambiguous_case}),
            "unknown_names": len({r["tool_name_raw"] for r in rows if r["alignment_case"] == align.kept_case}),
        },
        definitions={
            "ambiguous_names": "Different names on which naming rules disagree.",
            "unknown_names": "Different names that neither an alias nor a naming rule knows.",
        },
        shown=rules.review_rows,
    )


def picture(cases: list[Row], models: list[str]) -> "Figure":
    """Alignment cases of each source model's tool calls."""
    figure, (axes,) = plots.new_figure(8.5, 1.5 + 0.34 * len(models))
    totals = {model: sum(row[BY_MODEL][model] for row in cases) for model in models}
    parts = {
        row["alignment_case"]: [
            100 * row[BY_MODEL][model] / totals[model] if totals[model] else 0.0 for model in models
        ]
        for row in cases
    }
    names = [f"{model} ({totals[model]:,})" for model in models]
    plots.stacked(figure, axes, names, parts, "How tool names were aligned", {})
    plots.percentages(axes, parts, {})
    axes.set_xlabel("% of the source model's tool calls (their number in brackets)")
    return figure
