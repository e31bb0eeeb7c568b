"""Verdicts of people in a release: beside the silver labels, compared with the label that was reviewed."""

from itertools import product
from typing import Any

import polars as pl
import pytest

from openclawbench.audit.calibration.form import status
from openclawbench.records.calibration import CalibrationSampleRow, HumanAudited, HumanVerdict, agreement_status
from openclawbench.release.human_audited import audited_row, human_counts, write_human
from openclawbench.tables.schema import from_records

SUBTYPES = ("weak_evidence_commitment", "error_ignored_escalation")
BLANK: dict[str, Any] = dict.fromkeys(HumanVerdict.model_fields) | {
    "source_model": "m",
    "trajectory_id": "t",
    "human_anomaly_label": True,
    "onset_reviewed": False,
    "settled_by": "one reviewer",
    "reviewers": 1,
    "blind": True,
    "silver_anomaly_label": True,
    "silver_subtype": SUBTYPES[0],
    "agreement_status": "agreement",
}
LABEL: dict[str, Any] = {
    "source_model": "m",
    "trajectory_id": "t",
    "task_id": None,
    "is_anomalous": True,
    "anomaly_type_l2": SUBTYPES[0],
    "quality_tier": "high_confidence_accepted",
    "label_status": "accepted",
}


@pytest.mark.parametrize(
    ("human", "silver", "subtype", "onset"),
    product((True, False, None), (True, False), (None, *SUBTYPES), (None, 2, 3)),
)
def test_the_status_of_a_verdict_is_what_the_audit_says(
    human: bool | None, silver: bool, subtype: str | None, onset: int | None
) -> None:
    """Both ways to compute it agree on every verdict that a form can hold."""
    if human is not True and (subtype or onset):
        return
    stated = {"human_anomaly_label": human, "human_subtype": subtype, "human_onset": onset}
    stated["onset_reviewed"] = onset is not None
    was = {"silver_anomaly_label": silver, "silver_subtype": SUBTYPES[0] if silver else None, "silver_onset": 2}
    drawn = CalibrationSampleRow.model_construct(**was)
    assert agreement_status(stated | was) == status(stated, drawn)


def test_a_verdict_changes_nothing_of_the_label_beside_it() -> None:
    row = audited_row(BLANK | {"human_anomaly_label": False}, LABEL)
    assert {name: row[name] for name in LABEL} == LABEL
    assert row["same_label"] is True
    HumanAudited.model_validate(row)
    assert audited_row(BLANK, LABEL | {"anomaly_type_l2": SUBTYPES[1]})["same_label"] is False


class Folder:
    """A folder that is being built."""

    def __init__(self, root: Any) -> None:
        self.root = root

    def write(self, name: str, content: bytes) -> None:
        (self.root / name).write_bytes(content)

    def path(self, name: str) -> Any:
        return self.root / name


def test_rates_are_counted_by_status_and_of_unchanged_labels_alone(tmp_path: Any) -> None:
    labels = [
        LABEL | {"trajectory_id": "agree"},
        LABEL | {"trajectory_id": "flag", "quality_tier": "baseline_accepted", "label_status": "baseline"},
        LABEL | {"trajectory_id": "moved", "anomaly_type_l2": SUBTYPES[1]},
    ]
    verdicts = [
        HumanVerdict.model_validate(BLANK | {"trajectory_id": name, "human_anomaly_label": human})
        for name, human in (("agree", True), ("flag", False), ("moved", True), ("gone", True))
    ]
    write_human(verdicts, pl.LazyFrame(labels, infer_schema_length=None), Folder(tmp_path))  # type: ignore[arg-type]
    rows = {row["label_status"]: row for row in human_counts(tmp_path)}
    assert {name: (row["audited"], row["other_label"], row["settled"], row["agree"]) for name, row in rows.items()} == {
        "accepted": (2, 1, 1, 1),
        "baseline": (1, 0, 1, 0),
    }
    assert rows["baseline"]["over_flags"] == 1
    lines = (tmp_path / "human_audited.jsonl").read_bytes().splitlines()
    assert len(lines) == 3
    assert from_records([], HumanAudited).columns == pl.read_parquet(tmp_path / "human_audited.parquet").columns


def test_without_a_verdict_there_is_no_file(tmp_path: Any) -> None:
    write_human([], pl.LazyFrame(), Folder(tmp_path))  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir()) and human_counts(tmp_path) == []
