"""human_audited.jsonl: human verdicts on records, beside their silver labels, which no verdict changes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.records.calibration import HumanAudited, HumanVerdict
from openclawbench.release.files.staging_folder import StagingFolder
from openclawbench.release.files.table_writer import typed_file
from openclawbench.release.labels.labels import as_lines
from openclawbench.release.record_key import key_of
from openclawbench.storage.parquet_io import write_parquet
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.tables.schema import from_records

HUMAN_FILE = "human_audited.jsonl"
COPIED = ("task_id", "is_anomalous", "anomaly_type_l2", "quality_tier", "label_status")
HUMAN_ROWS = f"""\
| `{HUMAN_FILE}`, `human_audited.parquet` | what people made of records, beside the silver labels, which stay |
"""


def write_human(verdicts: Sequence[HumanVerdict], assignments: pl.LazyFrame, staging: StagingFolder) -> None:
    """Write the file and its Parquet form, if there are verdicts. One on a trajectory that is not in the release is
    left out."""
    if not verdicts:
        return
    keys = [key_of(verdict.model_dump()) for verdict in verdicts]
    reviewed = pl.LazyFrame(keys, dict.fromkeys(TRAJECTORY_KEY, pl.String), orient="row").unique()
    labels = assignments.select(*TRAJECTORY_KEY, *COPIED).join(reviewed, on=TRAJECTORY_KEY, how="semi")
    assigned = {key_of(row): row for row in labels.collect(engine="streaming").iter_rows(named=True)}
    pairs = [(verdict.model_dump(), assigned.get(key_of(verdict.model_dump()))) for verdict in verdicts]
    rows = from_records([audited_row(reviewed, label) for reviewed, label in pairs if label is not None], HumanAudited)
    staging.write(HUMAN_FILE, as_lines(rows))
    write_parquet(rows, staging.path(typed_file(HUMAN_FILE)))


def audited_row(verdict: Mapping[str, Any], label: Mapping[str, Any]) -> dict[str, Any]:
    """A verdict with the silver label of the release."""
    copied = {name: label[name] for name in COPIED}
    return {**verdict, **copied, "same_label": same_label(verdict, label)}


def same_label(verdict: Mapping[str, Any], label: Mapping[str, Any]) -> bool:
    """True if the release still has the label that was reviewed."""
    reviewed = (verdict["silver_anomaly_label"], verdict["silver_subtype"])
    return reviewed == (label["is_anomalous"], label["anomaly_type_l2"])


def human_counts(root: Path) -> list[dict[str, Any]]:
    """One row per label_status of a release: audited, settled, agreeing, over-flags, misses; empty without the file.
    Verdicts on a label that the release no longer has are counted apart and are not compared."""
    path = root / typed_file(HUMAN_FILE)
    if not path.is_file():
        return []
    rows = pl.read_parquet(path, glob=False)
    human, silver = pl.col("human_anomaly_label"), pl.col("is_anomalous")
    compared = pl.col("same_label") & human.is_not_null()
    counted = rows.group_by("label_status").agg(
        audited=pl.len(),
        other_label=(~pl.col("same_label")).sum(),
        settled=compared.sum(),
        agree=(compared & (human == silver)).sum(),
        over_flags=(compared & silver & ~human).sum(),
        misses=(compared & ~silver & human).sum(),
        blind=pl.col("blind").sum(),
    )
    return counted.sort("label_status").to_dicts()
