"""The summaries: every count and share is recomputed from the released records."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from openclawbench.records.release import LabelBasis
from openclawbench.release.validate.compare import compare_file
from openclawbench.release.validate.findings import Findings
from openclawbench.release.writer.summarize import summarize, summary_files
from openclawbench.tables.schema import from_records


def check_numbers(root: Path, models: list[str], records: Iterable[dict[str, Any]], findings: Findings) -> None:
    """A finding for each number of a summary that differs from the recomputed one. `records`: rows of LabelBasis."""
    basis = from_records(list(records), LabelBasis)
    for name, content in summary_files(summarize(basis.lazy()).collect(), models).items():
        compare_file(root, name, "numbers", content, findings, unreadable="file_missing", counted="numbers")
