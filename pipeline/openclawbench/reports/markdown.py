"""A report as Markdown. Text that comes from a trajectory or from a folder's name is always a code span, so that it
cannot become a link, an image, mark-up or another cell."""

from typing import Any

from openclawbench.base.terminal import safe
from openclawbench.reports.section import BY_MODEL, Report, Section

LONGEST = 80  # characters of a text in a cell
SHARES = ("_share", "_rate", "_rate_ok")
WRITTEN_OUT = str.maketrans({"|": "\\x7c", "`": "\\x60", "\n": "\\n", "\t": "\\t"})


def render(report: Report, plots: dict[str, str]) -> str:
    """The whole report. `plots`: name of a section -> file name of its picture."""
    parts = [f"# {report.title}", *([f"> **{report.notice}**"] if report.notice else []), report.about]
    for section in report.sections:
        parts += [f"## {section.title}", section.about]
        if section.facts:
            parts.append(facts(section))
        if section.name in plots:
            parts.append(f"![{section.title}]({plots[section.name]})")
        parts += [table(section), meanings(section)] if section.rows else ["*Nothing to show.*"]
    return "\n\n".join(parts) + "\n"


def facts(section: Section) -> str:
    """The headline numbers, each with its definition."""
    return "\n".join(
        f"- **{name.replace('_', ' ')}: {cell(name, number)}**. {section.definitions.get(name, '')}".rstrip()
        for name, number in section.facts.items()
    )


def table(section: Section) -> str:
    """The section's rows as a table: its columns, then one column per source model."""
    rows = section.rows if section.shown is None else section.rows[: section.shown]
    plain = [name for name in section.columns if name != BY_MODEL]
    models = [*rows[0][BY_MODEL]] if BY_MODEL in section.columns else []
    columns = [[row.get(name) for row in rows] for name in plain] + [
        [row[BY_MODEL][model] for row in rows] for model in models
    ]
    shown = [
        [str(content) if name in section.prose else cell(name, content) for content in column]
        for name, column in zip([*plain, *models], columns, strict=True)
    ]
    numeric = [all(isinstance(content, int | float | None) for content in column) for column in columns]
    lines = [
        line([*plain, *map(code, models)]),
        line(["---:" if is_numeric else "---" for is_numeric in numeric]),
        *(line(list(cells)) for cells in zip(*shown, strict=True)),
    ]
    if len(rows) < len(section.rows):
        lines.append(f"\n… and {len(section.rows) - len(rows):,} more rows, in the JSON file.")
    return "\n".join(lines)


def meanings(section: Section) -> str:
    """The description of each column; the columns of the source models share one line."""
    named = {name: "one column per source model" if name == BY_MODEL else f"`{name}`" for name in section.columns}
    return "\n".join(f"- {named[name]}: {text}" for name, text in section.columns.items())


def line(cells: list[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def cell(name: str, content: Any) -> str:
    """One value. A column named `share`, or one whose name ends in one of SHARES, is written as a percentage."""
    return value(content, name == "share" or name.endswith(SHARES))


def value(content: Any, is_share: bool = False) -> str:
    """A value as Markdown: numbers plain, every text in a code span, None as a dash."""
    if content is None:
        return "–"
    if isinstance(content, bool):
        return "yes" if content else "no"
    if isinstance(content, float):
        return f"{100 * content:.2f} %" if is_share else f"{content:g}"
    if isinstance(content, int):
        return f"{content:,}"
    if isinstance(content, list):
        return ", ".join(value(entry) for entry in content) or "–"
    return code(str(content))


def code(text: str) -> str:
    """Untrusted text as a code span on one line. Characters that could end the span or the cell are escaped, as
    \\x60."""
    short = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    shown = safe(short).translate(WRITTEN_OUT)
    return f"`{shown}`" if shown.strip() else "(blank)"
