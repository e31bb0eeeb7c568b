"""Published numbers: every count and share of the summaries is computed again from the released records."""

from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.records.release import LabelBasis
from openclawbench.release.keys import Key
from openclawbench.release.validate.compare import compare_file
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.slim import Slim
from openclawbench.release.writer.publish import summary
from openclawbench.release.writer.render import ROOT
from openclawbench.release.writer.summarize import summarize
from openclawbench.tables.schema import from_records


def check_numbers(root: Path, models: list[str], records: dict[Key, Slim], findings: Findings) -> None:
    """dataset_summary_all.json of each model and dataset_summary.json of the corpus."""
    rows = [one.basis for one in records.values()]
    counts: pl.DataFrame = summarize(from_records(rows, LabelBasis).lazy()).collect()
    for model in models:
        own = summary(counts.filter(pl.col("source_model") == model)) | {"source_model": model}
        check_summary(root, f"{ROOT}/{model}/dataset_summary_all.json", own, findings)
    whole = counts.group_by("group", "name").agg(pl.col("count").sum()).sort("group", "name")
    check_summary(root, "dataset_summary.json", summary(whole) | {"source_models": models}, findings)


def check_summary(root: Path, name: str, want: dict[str, Any], findings: Findings) -> None:
    """A finding for each number that is not what the records give."""
    compare_file(root, name, "numbers", want, findings, unreadable="file_missing", counted="numbers")
