"""Published numbers: every count and share of the summaries is computed again from the released records."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from pipeline.records.release import LabelBasis
from pipeline.release.keys import Key
from pipeline.release.publish import summary
from pipeline.release.render import ROOT
from pipeline.release.summarize import summarize
from pipeline.release.validate.findings import Findings
from pipeline.release.validate.slim import Slim
from pipeline.tables import from_records


def check_numbers(root: Path, models: list[str], records: dict[Key, Slim], findings: Findings) -> None:
    """dataset_summary_all.json of each model and dataset_summary.json of the corpus."""
    rows = [one.basis for one in records.values()]
    counts: pl.DataFrame = summarize(from_records(rows, LabelBasis).lazy()).collect()
    for model in models:
        own = summary(counts.filter(pl.col("source_model") == model)) | {"source_model": model}
        compare(root, f"{ROOT}/{model}/dataset_summary_all.json", own, findings)
    whole = counts.group_by("group", "name").agg(pl.col("count").sum()).sort("group", "name")
    compare(root, "dataset_summary.json", summary(whole) | {"source_models": models}, findings)


def compare(root: Path, name: str, want: dict[str, Any], findings: Findings) -> None:
    """A finding for each number that is not what the records give."""
    try:
        said = json.loads((root / name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        findings.add("file_missing", name, f"cannot be read: {error}")
        return
    flat_said, flat_want = dict(flat(said)), dict(flat(want))
    for place in sorted(flat_said.keys() | flat_want.keys()):
        findings.checked["numbers"] += 1
        if flat_said.get(place) != flat_want.get(place):
            message = f"{place} is {flat_said.get(place)}, the records give {flat_want.get(place)}"
            findings.add("numbers", name, message)


def flat(value: Any, place: str = "") -> list[tuple[str, Any]]:
    """(dotted place, value) of every leaf."""
    if isinstance(value, dict):
        return [leaf for name, one in value.items() for leaf in flat(one, f"{place}.{name}" if place else str(name))]
    return [(place, value)]
