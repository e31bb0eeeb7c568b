"""The statistics in the dataset card: tables and pictures from statistics.json, definitions one click away."""

import json
from pathlib import Path

from openclawbench.release.settings import PublishRules
from openclawbench.release.statistics.files import DATA, FOLDER, TEXT
from openclawbench.release.statistics.statistics import STATISTICS
from openclawbench.release.unjudged import nobody_judged
from openclawbench.reports.markdown import facts, table
from openclawbench.reports.section import Section

PROSE = frozenset({"definition", "default_use"})  # columns of our own sentences


def statistics_part(root: Path, rules: PublishRules) -> str:
    """Markdown for the card of the release in `root`, whose statistics are written."""
    sections = json.loads((root / DATA).read_text(encoding="utf-8"))["sections"]
    kind, is_unjudged = rules.statistics.pictures[0], nobody_judged(root)
    parts = [
        f"What each number is stands beside it in [{TEXT}]({TEXT}) and [{DATA}]({DATA}), which have a few more tables."
    ]
    for statistic in STATISTICS:
        if not statistic.in_card or (is_unjudged and statistic.about_labels):
            continue
        data = sections[statistic.name]
        section = Section(name=statistic.name, **data, prose=PROSE & data["columns"].keys())
        parts += [f"### {section.title}", section.about]
        if (root / FOLDER / f"{section.name}.{kind}").is_file():
            parts.append(f"![{section.title}]({FOLDER}/{section.name}.{kind})")
        if section.facts and statistic.headline_in_card:
            parts.append(facts(section))
        parts.append(table(section) if section.rows else "None.")
    return "\n\n".join(parts)
