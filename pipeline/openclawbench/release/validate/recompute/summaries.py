"""The summaries: every count and share is recomputed from the released records."""

from pathlib import Path

import polars as pl

from openclawbench.release.validate.compare import compare_file
from openclawbench.release.validate.findings import Findings
from openclawbench.release.writer.summarize import count, summarize, summary_files


def check_numbers(root: Path, models: list[str], basis: pl.LazyFrame, findings: Findings) -> None:
    """A finding for each number of a summary that differs from the recomputed one. `basis`: LabelBasis."""
    for name, content in summary_files(summarize(count(basis)).collect(), models).items():
        compare_file(root, name, "numbers", content, findings, unreadable="file_missing", counted="numbers")
