"""What datapackage.json says of inputs: what rows say, not where they were found."""

import json
from pathlib import Path
from typing import Any

import pytest

from openclawbench.release.provenance import input_table, program_digest
from openclawbench.release.validate.data_package import read_package
from openclawbench.release.validate.findings import Findings

ROWS: list[dict[str, Any]] = [
    {"source_model": "m", "native_session_basename": name, "success": success, "row_id": f"outcomes.jsonl:{number}"}
    for number, (name, success) in enumerate([("a", True), ("b", False), ("b", False)], start=1)
]


def renamed(rows: list[dict[str, Any]], file: str) -> list[dict[str, Any]]:
    return [row | {"row_id": f"{file}:{number}"} for number, row in enumerate(rows, start=1)]


def test_an_outcome_file_that_is_renamed_or_reordered_says_the_same() -> None:
    table = input_table("outcomes", [ROWS])
    assert table == input_table("outcomes", [renamed(ROWS, "other/scores.jsonl")])
    assert table == input_table("outcomes", [renamed(list(reversed(ROWS)), "outcomes.jsonl")])
    assert table == input_table("outcomes", [ROWS[:1], renamed(ROWS[1:], "second.jsonl")])
    assert table.rows == 3


def test_a_row_of_several_shards_counts_once_and_another_row_is_another_table() -> None:
    table = input_table("outcomes", [ROWS])
    assert table == input_table("outcomes", [ROWS, ROWS[:1]])
    other = [ROWS[0] | {"success": False}, *ROWS[1:]]
    assert table.sha256 != input_table("outcomes", [other]).sha256
    assert table.sha256 != input_table("outcomes", [ROWS[:2]]).sha256


@pytest.mark.parametrize("program, says_so", [("0" * 64, True), (program_digest(), False), (None, False)])
def test_an_unreadable_package_of_another_program_says_so(program: str | None, says_so: bool, tmp_path: Path) -> None:
    content = {"name": "n", "provenance": {"program_sha256": program, "inputs": []}}
    (tmp_path / "datapackage.json").write_text(json.dumps(content))
    findings = Findings()
    assert read_package(tmp_path, findings) is None
    (finding,) = findings.kept
    assert finding.message.startswith("cannot be read: version: Field required")
    assert ("another version of the program made this release" in finding.message) == says_so
