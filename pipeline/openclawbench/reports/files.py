"""A report as files: Markdown, JSON, and each picture as PNG and SVG. The same tables give the same bytes."""

import json
from typing import Any

from openclawbench.reports import plots
from openclawbench.reports.markdown import render
from openclawbench.reports.section import Report

PICTURES = ("png", "svg")


def as_files(report: Report) -> dict[str, bytes]:
    """File name -> bytes."""
    files: dict[str, bytes] = {}
    for section in report.sections:
        if section.plot is not None and section.rows:
            pictures = plots.pictures(section.plot, PICTURES)
            files |= {f"{section.name}.{kind}": picture for kind, picture in pictures.items()}
    shown = {section.name: f"{section.name}.svg" for section in report.sections if f"{section.name}.svg" in files}
    files[f"{report.name}.md"] = render(report, shown).encode()
    files[f"{report.name}.json"] = as_json(report.data()).encode()
    return files


def as_json(data: Any) -> str:
    """JSON text in ASCII: text of a session cannot control the terminal on which it is printed."""
    return json.dumps(data, indent=1, ensure_ascii=True).replace("\x7f", "\\u007f") + "\n"
