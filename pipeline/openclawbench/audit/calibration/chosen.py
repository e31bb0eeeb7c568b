"""Verdicts on trajectories that a reviewer chose, as opposed to those of a drawn sample.

They are ordinary review records, in a growing sample of their own. People choose what looks wrong, so no share of this
sample estimates a rate: the report says so, and neither a release nor the corrected gap uses them.
"""

from collections.abc import Mapping
from typing import Any

from openclawbench.audit.calibration.form import CALIBRATION
from openclawbench.audit.calibration.sample import NO_SLICE, sample_row
from openclawbench.audit.review_folder import line, records
from openclawbench.base.canonical_json import canonical_json, sha256_text
from openclawbench.errors import UsageError
from openclawbench.records.calibration import CHOSEN, CalibrationSample, CalibrationSampleRow
from openclawbench.storage.data_folder import DataFolder

ROWS_FILE = f"samples/{CHOSEN}.rows.jsonl"
SILVER = ("silver_anomaly_label", "silver_subtype", "silver_onset", "silver_evidence")


def chosen_row(record: Mapping[str, Any]) -> CalibrationSampleRow:
    """A trajectory as a row of the sample of chosen ones. `record`: the fields of Master, with a decided label. A
    changed label makes a new row. Raises UsageError if the label is undecided, because a verdict could not agree or
    disagree with it."""
    if record["is_anomalous"] is None:
        raise UsageError(
            f"{record['trajectory_id']}: its label is undecided, so no verdict can agree or disagree with it. "
            "Its review cause says what is missing."
        )
    row = sample_row(dict(record), blind=False)
    label = canonical_json({name: row[name] for name in SILVER})
    row["row"] = "r-" + sha256_text(f"{row['source_model']}\0{row['trajectory_id']}\0{label}")[:10]
    row["slice_label"] = row["slice_label"] or NO_SLICE
    return CalibrationSampleRow.model_validate(row | {"sample": CHOSEN, "blind": False, "guide": ""})


def add_chosen(data: DataFolder, row: CalibrationSampleRow, judge: str | None) -> None:
    """Add the row to the sample, if it is not there. The caller holds the lock of review/."""
    path = data.review_file(ROWS_FILE)
    if path.exists() and any(known.row == row.row for known in records(path, CALIBRATION.row)):
        return
    sample = CalibrationSample(
        sample=CHOSEN,
        seed=0,
        asked=None,
        blind=False,
        drawn={},
        pool={},
        population={},
        allocation="chosen",
        failing_in_pool=0,
        judges=[judge] if judge else [],
        release="",
        rules={},
    )
    if not (described := data.review_file(f"samples/{CHOSEN}.json")).exists():
        data.write_review(f"samples/{CHOSEN}.json", line(sample))
    elif judge and judge not in (known := records(described, CalibrationSample)[0]).judges:
        judges = sorted([*known.judges, judge])
        data.replace_review(f"samples/{CHOSEN}.json", line(known.model_copy(update={"judges": judges})))
    data.append_review(ROWS_FILE, [line(row)])
