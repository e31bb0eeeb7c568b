"""Predictions files: what is written is read back; what is wrong with a line is named, counted, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from openclawbench.detect.predictions import (
    anomaly_score,
    prediction,
    probabilities_of,
    provenance_path,
    read_predictions,
    write_predictions,
)
from openclawbench.detect.settings import LABELS, DetectRules
from openclawbench.errors import UnreadableInput
from openclawbench.records.detection.prediction import Prediction

RULES = DetectRules.load()
PROVENANCE: dict[str, Any] = {
    "detector": "a",
    "kind": "baseline",
    "protocol": None,
    "model": None,
    "endpoint": None,
    "weights_sha256": None,
    "parameters": {"seed": 1},
    "prompt": None,
    "packet_rules_sha256": "",
    "trained_on": None,
    "release_sha256": "",
    "pool": "accepted",
    "cut": "default",
    "side": "test",
    "label_judges": ["rules"],
    "label_statuses": ["baseline"],
    "program_version": "0",
}
GOOD = {"source_model": "m", "trajectory_id": "t", "label": "normal"}


def rows() -> list[Prediction]:
    return [
        prediction(("m", "b"), label="normal", probabilities=probabilities_of([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])),
        prediction(("m", "a"), label="premature_external_write", onset=2, span={"start_step": 2, "end_step": 3}),
    ]


def written(path: Path, *lines: dict[str, Any] | str) -> Path:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    record = write_predictions(path, rows(), PROVENANCE)
    read = read_predictions(path, RULES)
    assert list(read.rows.values()) == sorted(rows(), key=lambda row: row.trajectory_id)
    assert (read.faults, read.unverified, read.provenance) == ([], None, record)
    assert record.rows == 2
    assert anomaly_score(read.rows["m", "b"]) == 0.5
    before = path.read_bytes(), provenance_path(path).read_bytes()
    write_predictions(path, reversed(rows()), PROVENANCE)
    assert (path.read_bytes(), provenance_path(path).read_bytes()) == before


def test_a_file_without_provenance_or_with_another_is_unverified(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    write_predictions(path, rows(), PROVENANCE)
    path.write_bytes(path.read_bytes() + b"\n")
    assert read_predictions(path, RULES).unverified == "is not the file that its provenance describes"
    provenance_path(path).unlink()
    read = read_predictions(path, RULES)
    assert read.unverified == "has no provenance file" and read.name == "p" and len(read.rows) == 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not_json"),
        ("[1]", "no_key"),
        ({"source_model": "m", "label": "normal"}, "no_key"),
        (GOOD | {"label": "bad"}, "not_a_prediction"),
        (GOOD | {"label": None, "parse": "ok"}, "not_a_prediction"),
        (GOOD | {"label": "bad", "onset": "two"}, "not_a_prediction"),
    ],
)
def test_a_line_that_is_no_prediction_is_named_and_the_rest_goes_on(
    line: dict[str, Any] | str, reason: str, tmp_path: Path
) -> None:
    read = read_predictions(written(tmp_path / "p.jsonl", line, GOOD | {"trajectory_id": "u"}), RULES)
    assert list(read.rows) == [("m", "u")]
    assert [(fault.line, fault.reason) for fault in read.faults] == [(1, reason)]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (["NaN", 0, 0, 0, 0, 0], "not between 0 and 1"),
        ([0.5, 0.6, 0, 0, 0, 0], "sum to 1.1"),
        ([1.2, -0.2, 0, 0, 0, 0], "not between 0 and 1"),
        ([0.1, 0.1, 0.1, 0.1, 0.1], "must name"),
        (["true", 0, 0, 0, 0, 0], "must be numbers"),
    ],
)
def test_probabilities_that_are_none_are_not_used_and_the_label_is(values: list[Any], why: str, tmp_path: Path) -> None:
    named = ", ".join(f'"{name}": {value}' for name, value in zip(LABELS, values, strict=False))
    line = json.dumps(GOOD)[:-1] + f', "probabilities": {{{named}}}}}'
    read = read_predictions(written(tmp_path / "p.jsonl", line), RULES)
    assert read.rows["m", "t"].probabilities is None and read.rows["m", "t"].label == "normal"
    assert read.fault_counts == {"probabilities": 1}
    assert why in read.faults[0].message


def test_a_file_of_somebody_elses_needs_key_and_label_or_probabilities(tmp_path: Path) -> None:
    shares = dict(zip(LABELS, [0.1, 0.6, 0.1, 0.1, 0.05, 0.05], strict=True))
    lines = [
        {"source_model": "m", "trajectory_id": "a", "label": "write_amb"},
        {"source_model": "m", "trajectory_id": "b", "probabilities": shares},
        {"source_model": "m", "trajectory_id": "c", "label": None},
        {**GOOD, "colour": "red"},
    ]
    read = read_predictions(written(tmp_path / "p.jsonl", *lines), RULES)
    assert read.rows["m", "a"].label == "write_under_unresolved_ambiguity"
    assert read.rows["m", "b"].label == "capability_gap_overcommitment"
    assert read.rows["m", "c"].parse == "failed"
    assert read.fault_counts == {"unknown_field": 1} and len(read.rows) == 4


def test_a_row_that_stands_twice_counts_once_and_one_that_contradicts_never(tmp_path: Path) -> None:
    other = GOOD | {"label": "weak_ev"}
    read = read_predictions(written(tmp_path / "p.jsonl", GOOD, GOOD, GOOD | {"trajectory_id": "u"}), RULES)
    assert read.fault_counts == {"twice": 1} and len(read.rows) == 2
    for lines in ([GOOD, other], [GOOD, GOOD, other], [GOOD, other, GOOD]):
        read = read_predictions(written(tmp_path / "p.jsonl", *lines), RULES)
        assert read.rows == {} and read.fault_counts["contradicting"] >= 1


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match=r"nothing\.jsonl: cannot be read"):
        read_predictions(tmp_path / "nothing.jsonl", RULES)


def test_a_field_that_cannot_be_read_costs_itself_and_not_the_label(tmp_path: Path) -> None:
    lines = [
        GOOD | {"trajectory_id": "a", "span": [1, 2], "onset": 3},
        GOOD | {"trajectory_id": "b", "prompt_tokens": "many", "onset": "two"},
    ]
    read = read_predictions(written(tmp_path / "p.jsonl", *lines), RULES)
    first, second = read.rows["m", "a"], read.rows["m", "b"]
    assert (first.label, first.onset, first.span) == ("normal", 3, None)
    assert (second.label, second.onset, second.prompt_tokens) == ("normal", None, 0)
    assert read.fault_counts == {"field": 3}


def test_a_label_may_be_its_symbol(tmp_path: Path) -> None:
    read = read_predictions(written(tmp_path / "p.jsonl", GOOD | {"label": "⋄"}), RULES)
    assert read.rows["m", "t"].label == "weak_evidence_commitment" and not read.faults
