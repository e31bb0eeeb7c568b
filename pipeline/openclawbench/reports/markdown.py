"""A report as Markdown. Whatever comes from a trajectory, or from a folder's name, stands in a code span: nothing in it
can become a link, an image, mark-up or another cell."""

from typing import Any

from openclawbench.base.terminal import safe
from openclawbench.reports.section import BY_MODEL, Report, Section

LONGEST = 80  # characters of a text in a cell
WRITTEN_OUT = str.maketrans({"|": "\\x7c", "`": "\\x60", "\n": "\\n", "\t": "\\t"})


def render(report: Report, plots: dict[str, str]) -> str:
    """The whole report; plots: section -> file name of its picture."""
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
        f"- **{name.replace('_', ' ')}: {cell(name, found)}**. {section.definitions.get(name, '')}".rstrip()
        for name, found in section.facts.items()
    )


def table(section: Section) -> str:
    """The section's rows as a table: its columns, then one column a source model."""
    rows = section.rows if section.shown is None else section.rows[: section.shown]
    plain = [name for name in section.columns if name != BY_MODEL]
    models = [*rows[0][BY_MODEL]] if BY_MODEL in section.columns else []
    columns = [[row.get(name) for row in rows] for name in plain] + [[r[BY_MODEL][one] for r in rows] for one in models]
    shown = [
        [str(found) if name in section.prose else cell(name, found) for found in column]
        for name, column in zip([*plain, *models], columns, strict=True)
    ]
    numeric = [all(isinstance(found, int | float | None) for found in column) for column in columns]
    lines = [
        line([*plain, *map(code, models)]),
        line(["---:" if one else "---" for one in numeric]),
        *(line(list(cells)) for cells in zip(*shown, strict=True)),
    ]
    if len(rows) < len(section.rows):
        lines.append(f"\n… and {len(section.rows) - len(rows):,} more rows, in the JSON file.")
    return "\n".join(lines)


def meanings(section: Section) -> str:
    """What each column is; the columns of the source models are one line."""
    named = {name: "one column a source model" if name == BY_MODEL else f"`{name}`" for name in section.columns}
    return "\n".join(f"- {named[name]}: {text}" for name, text in section.columns.items())


def line(cells: list[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def cell(name: str, found: Any) -> str:
    """One value; shares are columns whose name says so, written as percentages."""
    return value(found, name == "share" or name.endswith("_share"))


def value(found: Any, is_share: bool = False) -> str:
    """A value as Markdown: numbers plain, every text in a code span, null as a dash."""
    if found is None:
        return "–"
    if isinstance(found, bool):
        return "yes" if found else "no"
    if isinstance(found, float):
        return f"{100 * found:.2f} %" if is_share else f"{found:g}"
    if isinstance(found, int):
        return f"{found:,}"
    if isinstance(found, list):
        return ", ".join(value(one) for one in found) or "–"
    return code(str(found))


def code(text: str) -> str:
    """Untrusted text as a code span of one line: what could end the span or the cell is written out as \\x60, \\x7c."""
    short = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    shown = safe(short).translate(WRITTEN_OUT)
    return f"`{shown}`" if shown.strip() else "(blank)"
