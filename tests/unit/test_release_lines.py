"""Lines of release files: the quick validator refuses what the published schema refuses."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from openclawbench.records.json_schema import json_schema
from openclawbench.records.release import LabelRow, RecordIndexRow
from openclawbench.release.validate.files.lines import quick_validator, schema_error_of
from openclawbench.tables.record import Keyed

KEY = {"source_model": "m", "trajectory_id": "a"}
ROWS: list[tuple[type[Keyed], dict[str, Any]]] = [
    (
        RecordIndexRow,
        KEY
        | {"record_sha256": "0", "partial_trial": False, "redacted": True, "text_sha256": None, "minhash": [1, 2, 3]},
    ),
    (
        LabelRow,
        KEY
        | {"task_id": None, "is_anomalous": True, "anomaly_type_l2": "x", "quality_tier": "t", "label_status": "s"}
        | {"scoreable": True, "in_calibration_pool": False},
    ),
]
VALUES = [None, True, 0, 1.0, -1.5, 2**63, -(2**70), float("nan"), float("inf"), "", "text", [], [1], ["a"], {}, [[1]]]


@pytest.mark.parametrize(("record", "row"), ROWS, ids=lambda value: getattr(value, "__name__", ""))
def test_the_quick_validator_refuses_exactly_what_the_published_schema_refuses(
    record: type[Keyed], row: dict[str, Any]
) -> None:
    published = Draft202012Validator(json_schema(record))
    rows = [row | {name: value} for name in (*row, "unknown") for value in VALUES]
    rows += [{name: value for name, value in row.items() if name != left_out} for left_out in row]
    refused = [changed for changed in rows if not published.is_valid(changed)]
    assert published.is_valid(row) and 20 < len(refused) < len(rows)
    for changed in rows:
        expected = next(published.iter_errors(changed), None)
        assert quick_validator(record).is_valid(changed) == (expected is None), changed
        found = schema_error_of(changed, record)
        assert (found and found.message) == (expected and expected.message), changed
