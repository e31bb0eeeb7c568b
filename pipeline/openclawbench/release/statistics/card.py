"""The statistics in the dataset card: tables and pictures from statistics.json, definitions one click away."""

import json
from pathlib import Path
from typing import Any

from openclawbench.release.settings import PublishRules
from openclawbench.release.statistics.files import DATA, FOLDER, TEXT
from openclawbench.reports.markdown import facts, table
from openclawbench.reports.section import Section

PROSE = frozenset({"definition", "default_use"})  # columns of our own sentences
LEFT_OUT = {"anomalies", "onset_parts"}  # stand in STATISTICS.md alone
NO_FACTS = {"gap"}  # its headline numbers are the first rows of its table


def statistics_part(root: Path, rules: PublishRules) -> str:
    """Markdown for the card of the release in `root`, whose statistics are written."""
    said: dict[str, Any] = json.loads((root / DATA).read_text(encoding="utf-8"))["sections"]
    kind = rules.statistics.pictures[0]
    parts = [
        f"What each number is stands beside it in [{TEXT}]({TEXT}) and [{DATA}]({DATA}), which have a few more tables."
    ]
    for name, data in said.items():
        if name in LEFT_OUT:
            continue
        parts += [f"### {data['title']}", data["about"]]
        if (root / FOLDER / f"{name}.{kind}").is_file():
            parts.append(f"![{data['title']}]({FOLDER}/{name}.{kind})")
        one = section(name, data)
        if one.facts and name not in NO_FACTS:
            parts.append(facts(one))
        parts.append(table(one) if one.rows else "None.")
    return "\n\n".join(parts)


def section(name: str, data: dict[str, Any]) -> Section:
    """A table of statistics.json as it was before it was written."""
    return Section(
        name=name,
        title=data["title"],
        about=data["about"],
        columns=data["columns"],
        rows=data["rows"],
        facts=data["facts"],
        definitions=data["definitions"],
        prose=PROSE & data["columns"].keys(),
    )
