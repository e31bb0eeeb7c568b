"""The numbers of the front page, from the index and the release."""

from typing import Any, get_args

import polars as pl

from openclawbench.records.tiers import BASELINE_JUDGES
from openclawbench.records.vocabulary import SliceLabel
from openclawbench.release.baseline_notice import RULES_NOTICE
from openclawbench.storage.data_folder import read_json
from openclawbench.workbench.readers.data_folder import DataReader
from openclawbench.workbench.site import Site

Row = dict[str, Any]
SLICES = [*get_args(SliceLabel), None]


def overview_of(site: Site) -> Row:
    """Trajectories by tier and review cause, slice by label, judges, progress of samples, gap, warnings."""
    index = site.index()
    labelled = index.filter(pl.col("label").is_not_null())
    return {
        "trajectories": index.height,
        "steps": int(index["num_steps"].sum()),
        "models": index["source_model"].n_unique(),
        "labelled": labelled.height,
        "decided": labelled.filter(pl.col("label") != "undecided").height,
        "tiers": count_rows(labelled, "tier", "review_cause"),
        "labels": count_rows(labelled, "label", "subtype"),
        "slices": count_by_slice(labelled),
        "judges": count_rows(labelled, "judge"),
        "rules_notice": RULES_NOTICE if set(labelled["judge"].drop_nulls()) & BASELINE_JUDGES else None,
        "second": count_rows(index.filter(pl.col("second_pass").is_not_null()), "second_pass"),
        "samples": site.desk.progress() if site.desk else [],
        "gap": gap_of(site),
        "unmatched": index.filter(pl.col("oracle_outcome").is_null()).height,
    }


def count_rows(rows: pl.DataFrame, *columns: str) -> list[Row]:
    """Rows by these columns, the most frequent first."""
    return (
        rows.group_by(columns)
        .len("count")
        .sort("count", *columns, descending=[True, *[False] * len(columns)])
        .to_dicts()
    )


def count_by_slice(rows: pl.DataFrame) -> list[Row]:
    """One row per slice: how many are normal, anomalous, undecided."""
    counts = [(pl.col("label") == label).sum().alias(label) for label in ("normal", "anomalous", "undecided")]
    slices = rows.group_by("slice_label").agg(pl.len().alias("count"), *counts).to_dicts()
    return sorted(slices, key=lambda row: SLICES.index(row["slice_label"]))


def gap_of(site: Site) -> Row | None:
    """The headline facts of the outcome-process gap of the release; None without a release."""
    reader = site.reader
    root = reader.folder.release if isinstance(reader, DataReader) else reader.path
    document = read_json(root / "statistics.json")
    if not isinstance(document, dict):
        return None
    section: Any = document.get("sections", {}).get("corrected_gap") or {}
    facts = section.get("facts")
    return {"title": section.get("title"), **facts} if facts else None
