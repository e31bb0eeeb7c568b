"""The statistics as files of a release: statistics.json, STATISTICS.md, and a picture for each table that has one."""

import hashlib
from pathlib import Path
from typing import Any

from openclawbench.base.canonical_json import canonical_json
from openclawbench.release.settings import PublishRules
from openclawbench.release.statistics.corpus import count_corpus
from openclawbench.release.statistics.statistics import COLUMNS, TABLES, statistics
from openclawbench.reports import plots
from openclawbench.reports.files import as_json
from openclawbench.reports.markdown import render
from openclawbench.reports.section import Report, Section

DATA, TEXT, FOLDER = "statistics.json", "STATISTICS.md", "statistics"


def statistics_of(root: Path, rules: PublishRules) -> Report:
    """The statistics of the release in `root`. UsageError, UnreadableInput."""
    return statistics(count_corpus(root, COLUMNS, TABLES), rules.statistics)


def statistics_files(report: Report, rules: PublishRules) -> dict[str, bytes]:
    """Name -> bytes of every file; the same numbers give the same bytes."""
    content_by_name = {DATA: as_json(report.data()).encode(), TEXT: text(report, rules)}
    for section in drawn(report):
        label = stamp(section, report)
        content_by_kind = plots.pictures(section.plot, rules.statistics.pictures, label) if section.plot else {}
        content_by_name |= {picture_name(section, kind): content for kind, content in content_by_kind.items()}
    return content_by_name


def text(report: Report, rules: PublishRules) -> bytes:
    """STATISTICS.md."""
    kind = rules.statistics.pictures[0]
    return render(report, {section.name: picture_name(section, kind) for section in drawn(report)}).encode()


def drawn(report: Report) -> list[Section]:
    """Sections with a picture."""
    return [section for section in report.sections if section.plot is not None and section.rows]


def picture_name(section: Section, kind: str) -> str:
    """Path of a picture in the release."""
    return f"{FOLDER}/{section.name}.{kind}"


def stamp(section: Section, report: Report) -> str:
    """The source that a picture names: the digest of its table and of the notice, as in statistics.json."""
    data: dict[str, Any] = section.data() | {"notice": report.notice}
    return f"{DATA} {section.name} sha256:{hashlib.sha256(canonical_json(data).encode()).hexdigest()}"
