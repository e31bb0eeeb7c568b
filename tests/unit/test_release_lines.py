"""What validation reads and keeps of a release: valid lines, each key once, tables by key in a file."""

import gc
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator
from jsonschema import ValidationError as SchemaError

from openclawbench.base.canonical_json import canonical_json
from openclawbench.base.gc_control import gc_disabled
from openclawbench.records.json_schema import json_schema
from openclawbench.records.release import LabelRow, RecordIndexRow
from openclawbench.release.validate.findings import KEPT, Findings
from openclawbench.release.validate.lines import quick_validator, read_lines, schema_error_of
from openclawbench.release.validate.records.key_tables import (
    KeyCounts,
    KeyTable,
    missing_keys,
    open_database,
    side_by_side,
)
from openclawbench.release.validate.records.spool import ROWS as SPOOL_ROWS
from openclawbench.release.validate.records.spool import Spool
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
        schema_error = schema_error_of(changed, record)
        assert (schema_error and schema_error.message) == (expected and expected.message), changed


@pytest.mark.parametrize("value", [[1], {"a": 1}], ids=["list", "object"])
def test_a_refused_line_is_let_go_without_the_collector(value: Any, tmp_path: Path) -> None:
    row = ROWS[1][1] | {"task_id": value}  # null or text: the schema has alternatives, and an error for each
    (tmp_path / "labels.jsonl").write_text(f"{canonical_json(row)}\n" * 10)
    gc.collect()
    with gc_disabled():
        findings = Findings()
        assert list(read_lines(tmp_path, "labels.jsonl", LabelRow, findings, unique=True)) == []
        assert [kept for kept in gc.get_objects() if isinstance(kept, SchemaError)] == []
    assert findings.counts == {"schema": 10}


@pytest.mark.parametrize(
    ("ids", "repeated"),
    [
        ("abc", []),
        ("aabcc", [2, 5]),
        ("cab", []),
        ("bcabc", [4, 5]),
        ("abcb", [4]),
        ("a!ba", [4]),  # a line that is not valid has no key
        ("ba!b", [4]),
    ],
)
def test_a_repeated_key_is_named_in_any_order_of_lines(ids: str, repeated: list[int], tmp_path: Path) -> None:
    rows = ["{}" if name == "!" else canonical_json(ROWS[1][1] | {"trajectory_id": name}) for name in ids]
    (tmp_path / "labels.jsonl").write_text("".join(f"{row}\n" for row in rows))
    findings = Findings()
    lines = list(read_lines(tmp_path, "labels.jsonl", LabelRow, findings, unique=True))
    assert [line.record.trajectory_id for line in lines] == [name for name in ids if name != "!"]
    assert [finding.line for finding in findings.kept if finding.check == "key_unique"] == repeated
    assert findings.checked["lines"] == len(ids)


def test_tables_by_key_are_mappings_in_the_order_of_keys(tmp_path: Path) -> None:
    keys = [("m", "b"), ("m", "a"), ("l", "z"), ("m", "\U0001f600"), ("m", "é"), ("m", "\uffff")]
    with open_database(tmp_path / "one.sqlite") as connection, open_database(tmp_path / "two.sqlite") as other:
        names = KeyTable(connection, "names", str.encode, bytes.decode)
        for key in keys:
            names[key] = key[1]
        assert list(names) == sorted(keys) and len(names) == len(keys)
        assert dict(names.rows()) == {key: key[1] for key in keys}
        assert ("m", "c") not in names and names.of([("m", "c"), ("m", "a")]) == {("m", "a"): "a"}
        later = KeyTable(other, "names", str.encode, bytes.decode)
        later["m", "a"], later["n", "a"] = "new", "more"
        other.commit()
        names.take_from(tmp_path / "two.sqlite")
        assert names["m", "a"] == "new" and names["n", "a"] == "more" and names["m", "b"] == "b"
        counts = KeyCounts(connection, "counts")
        assert [counts.add(key) for key in (("m", "a"), ("m", "a"), ("x", "a"))] == [0, 1, 0]
        assert list(missing_keys(names, counts)) == [key for key in sorted(names) if key != ("m", "a")]
        assert [key for key, *both in side_by_side(names, counts) if both == [False, True]] == [("x", "a")]
        assert [key for key, *both in side_by_side(names, counts) if both == [True, True]] == [("m", "a")]


def test_what_parts_found_is_what_the_whole_would_have_found() -> None:
    parts, complete_findings, together = [Findings() for _ in range(3)], Findings(), Findings()
    for number, part in enumerate(parts):
        for findings in (part, complete_findings):
            findings.checked["lines"] += number + 1
            for line in range(15):
                findings.add("tables", f"file {number}", "out of order", line)
            findings.add(f"only_{number}", "file", "wrong")
        together.absorb(part)
    assert together.as_data() == complete_findings.as_data()
    assert together.counts["tables"] == 45 and sum(f.check == "tables" for f in together.kept) == KEPT


def test_a_spool_gives_back_every_row_in_order(tmp_path: Path) -> None:
    spool, empty = Spool(tmp_path, "numbers"), pl.DataFrame(schema={"n": pl.Int64})
    assert spool.scan(empty).collect().height == 0
    for start in range(0, 2 * SPOOL_ROWS + 100, 100):
        spool.add(pl.DataFrame({"n": range(start, start + 100)}))
    assert len(spool.files) == 2  # the others wait
    assert spool.scan(empty).collect()["n"].to_list() == list(range(start + 100))
