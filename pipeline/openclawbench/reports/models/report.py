"""The report on source models: the summaries of summary.py as JSON, tables and pictures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from openclawbench.reports import plots
from openclawbench.reports.counting import percent
from openclawbench.reports.measures import proportion
from openclawbench.reports.models.cases import READS, SESSIONS, USED, cases
from openclawbench.reports.models.summary import FIELDS, GROUP, QUANTILES, summaries
from openclawbench.reports.section import Report, Row, Section, Tables
from openclawbench.reports.settings import ModelsReportRules
from openclawbench.rules.construct.describe import DescribeRules

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["READS", "ModelsReport", "models_report"]
NAME = "models"
LATENCY = {"latency_p50_ms": "p50", "latency_p95_ms": "p95", "latency_p99_ms": "p99", "latency_mean_ms": "mean"}
RATES = {  # column of the picture -> part, whole
    "success": ("n_success", "n_ok"),
    "objective pass": ("n_objective_pass", "n_objective"),
    "tool use": ("n_tool_use_success", "n_tool_use"),
}
TABLES: dict[str, tuple[str, str, Sequence[str]]] = {  # section -> title, what it is about, columns
    "outcomes": (
        "What each source model did",
        "Sessions and rows of a benchmark are never added up: a session is a whole run of an agent, a row one call of "
        "a model.",
        (
            *("n_total", "n_subagents", "n_ok", "n_success", "n_success_unknown", "n_skipped_unavailable"),
            *("n_rate_limited", "n_auth_error", "n_error", "n_availability_unknown", "success_rate_ok", "n_objective"),
            *("n_objective_pass", "objective_pass_rate", "n_objective_unknown", "n_failures_only"),
            "n_objective_unsuccessful",
        ),
    ),
    "latency": (
        "Latency and wall clock",
        "Of the successful cases. A session's time includes its tools and a user's pauses; a row's is that of a call.",
        (*LATENCY, "n_latency_unknown", "wall_clock_ms", "n_wall_clock_unknown"),
    ),
    "usage": (
        "Tokens and cost",
        "As the records say it. Sums leave out the cases that say nothing; the numbers of those stand beside them.",
        (
            *(*USED, "n_tokens_unknown"),
            *("cost_usd", "n_cost_unknown", "n_cost_zero"),
        ),
    ),
    "tool_use": (
        "Tool use",
        "Of sessions: what was really called, and how it ended (`tool_status`). Of benchmark rows: the row's own "
        "`tool_use_success`, which rests on words found in the text; nothing was called. The tiers are made for "
        "routing: the benchmark recommends tier 1 alone for sub-agents with tools.",
        (
            *("n_tool_use", "n_tool_use_success", "tool_use_success_rate", "tool_use_tier", "n_tool_use_unknown"),
            *("tool_calls", "tool_calls_ok", "tool_calls_failed", "tool_call_success_rate", "tool_use_basis"),
        ),
    ),
}


@dataclass(frozen=True)
class ModelsReport(Report):
    """The report with `models`: an object of FIELDS each (source model, mode), in the shape of summary.json."""

    models: list[Row] = field(default_factory=list)

    def data(self) -> dict[str, Any]:
        """The report as plain data: the summaries, what their fields mean, and the tables made of them."""
        data = super().data()
        return data | {"definitions": FIELDS, "models": self.models, "sections": data["sections"]}


def models_report(tables: Tables) -> ModelsReport:
    """The report, from the tables of READS. Raises NotFound (from `tables`) if one is stale."""
    rules = ModelsReportRules.load()
    models = summaries(cases(tables, rules), rules)
    pictures: dict[str, Callable[[], Figure]] = {
        "outcomes": partial(rates_picture, models, rules),
        "latency": partial(latency_picture, models, rules),
    }
    describe = DescribeRules.load()
    return ModelsReport(
        name=NAME,
        title="Source models",
        about="What each source model did, by the definitions of the OpenClaw LLM Benchmark schema, each stated beside "
        "its number; none of it is a label, and no label depends on it. What no record says is null, shown as a dash, "
        "and counted. `openclawbench status` lists the files that gave no trajectory.",
        sections=[section_of(name, models, pictures.get(name)) for name in TABLES],
        rules={rules.FILE: rules.digest, describe.FILE: describe.digest},
        models=models,
    )


def section_of(name: str, models: list[Row], plot: "Callable[[], Figure] | None") -> Section:
    """One table: which source model it is, as far as that is said of any, and its columns."""
    title, about, counted = TABLES[name]
    named = [column for column in GROUP if any(row[column] is not None for row in models)]
    texts = FIELDS | {
        column: f"{part} of the milliseconds of a successful case: a row's `e2e_ms`; a session from its first to its "
        "last record" + " (linear between ranks)" * (part != "mean")
        for column, part in LATENCY.items()
    }
    return Section(
        name=name,
        title=title,
        about=about,
        columns={column: texts[column] for column in (*named, *counted)},
        rows=[{column: value_of(row, column) for column in (*named, *counted)} for row in models],
        prose=frozenset({"tool_use_basis"}),
        plot=plot,
    )


def value_of(row: Row, column: str) -> Any:
    """A column of a table; latency stands in an object of its own."""
    return row["latency_ms"][LATENCY[column]] if column in LATENCY else row[column]


def name_of(row: Row, models: list[Row]) -> str:
    """A row's name in a picture: source model, the model of a benchmark row, and the mode where it is known."""
    parts = [row["source_model"]]
    if row["records"] != SESSIONS:
        parts += [part for part in (row["provider"], row["model"], row["thinking_level"]) if part]
    if any(other["mode"] is not None for other in models):
        parts.append(row["mode"] or "mode not said")
    return " ".join(parts)


def rates_picture(models: list[Row], rules: ModelsReportRules) -> "Figure":
    """The three rates with their Wilson intervals, a panel each; lines at the tiers of tool use."""
    rows = models[: rules.pictured_rows]
    figure, panels = plots.new_figure(11, 1.8 + 0.34 * len(rows), len(RATES), same_rows=True)
    names = [name_of(row, models) for row in rows]
    for axes, (title, (part, base)) in zip(panels, RATES.items(), strict=True):
        counts = [(row[part], row[base]) for row in rows]
        plots.marks(axes, names, [proportion(*count, rules.confidence) for count in counts])
        for place, (number, of) in enumerate(counts):
            axes.text(103, place, f"{number:,}/{of:,}" if of else "–", va="center", size=7)
        axes.set_xlim(0, 100)
        axes.set_xlabel("%")
        axes.set_title(title, loc="left")
    for least in rules.tool_use_tiers:
        panels[-1].axvline(100 * least, color=plots.WARNING, linewidth=0.8, linestyle=":", zorder=0)
    more = f"; the first {len(rows)} of {len(models)}" if len(models) > len(rows) else ""
    figure.suptitle(f"Rates with their intervals; lines at the tiers of tool use{more}", x=0.01, ha="left", size=8)
    return figure


def latency_picture(models: list[Row], rules: ModelsReportRules) -> "Figure":
    """Median, p95 and p99 of each row on a logarithmic axis; nothing where none is known, or where one is 0."""
    rows = models[: rules.pictured_rows]
    figure, (axes,) = plots.new_figure(9, 1.8 + 0.34 * len(rows))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
    for place, row in enumerate(rows):
        seconds = [row["latency_ms"][part] / 1000 for part in QUANTILES if row["latency_ms"][part]]
        if len(seconds) == len(QUANTILES):
            axes.plot(seconds, [place] * len(seconds), "-|", color=plots.BAR, linewidth=2, markersize=8)
            axes.plot(seconds[0], place, "o", color=plots.BAR, markersize=5)
            plots.behind(axes, " / ".join(f"{second:.3g}" for second in seconds), seconds[-1], place)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.margins(x=0.25)
    plots.name_rows(axes, [f"{name_of(row, models)} ({row['n_success'] - row['n_latency_unknown']:,})" for row in rows])
    axes.grid(axis="x", linewidth=0.3)
    axes.set_xlabel("seconds of a successful case: median (dot), p95, p99; their number in brackets")
    axes.set_title("Latency", loc="left")
    return figure


HEADLINE = ["source model", "cases", "ok", "success", "objective", "median s", "tool use", "tier", "USD"]


def headline(report: Report) -> list[list[object]]:
    """A row of HEADLINE for each source model."""
    assert isinstance(report, ModelsReport)
    models = report.models
    return [
        [
            name_of(row, models),
            row["n_total"],
            row["n_ok"],
            percent(row["success_rate_ok"], 1),
            percent(row["objective_pass_rate"], 1),
            None if row["latency_ms"]["p50"] is None else round(row["latency_ms"]["p50"] / 1000, 2),
            percent(row["tool_use_success_rate"], 1),
            row["tool_use_tier"],
            row["cost_usd"],
        ]
        for row in models
    ]
