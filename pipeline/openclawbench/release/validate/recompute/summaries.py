"""The summaries: every count and share is recomputed from the released records."""

from pathlib import Path

import polars as pl

from openclawbench.release.validate.compare import compare_file
from openclawbench.release.validate.findings import Findings
from openclawbench.release.writer.summarize import summary_files


def check_numbers(root: Path, models: list[str], counts: pl.DataFrame, findings: Findings) -> None:
    """A finding for each number of a summary that differs from the recomputed one. `counts`: SummaryCount."""
    for name, content in summary_files(counts, models).items():
        compare_file(root, name, "numbers", content, findings, unreadable="file_missing", counted="numbers")
