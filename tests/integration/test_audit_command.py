"""`openclawbench audit`: from a sample to the table, with a spreadsheet in between."""

import csv
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from child import Ran, call, files, table

pytestmark = pytest.mark.slow

SAMPLE = ("audit", "sample-events", "--n", "20")
SIGNED = ("--reviewer", "ann", "--reviewed-at", "2026-11-21")


@pytest.fixture
def data(small: Ran, tmp_path: Path) -> Path:
    """A copy of a data folder in which samples may be drawn."""
    shutil.copytree(small.data, tmp_path / "data")
    return tmp_path / "data"


def sheets(data: Path) -> dict[str, Path]:
    """Draw a sample; its sheets by their kind."""
    ended = call(*SAMPLE, "--data", data, "--json")
    assert ended.status == 0, ended.err
    return {Path(path).suffix: Path(path) for path in ended.json["sheets"]}


def fill(sheet: Path, change: Callable[[int, dict[str, str]], None]) -> Path:
    """The CSV sheet as an editor leaves it: semicolons, columns the other way round, no byte-order mark."""
    rows = list(csv.DictReader(io.StringIO(sheet.read_text("utf-8-sig"), newline="")))
    for number, row in enumerate(rows):
        change(number, row)
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0])[::-1], delimiter=";")
    writer.writeheader()
    writer.writerows(rows)
    filled = sheet.with_name("filled.csv")
    filled.write_text(buffer.getvalue(), newline="")
    return filled


def test_a_sample_is_the_same_for_a_seed_and_has_every_category(data: Path) -> None:
    found = call(*SAMPLE, "--data", data, "--json").json
    assert set(found["drawn"]) == {row["event_type"] for row in table(data, "aligned_descriptor")}
    assert (sum(found["drawn"].values()), min(found["drawn"].values())) == (20, 1)
    before = files(data / "review")
    assert call(*SAMPLE, "--data", data).status == 0
    assert files(data / "review") == before
    assert call(*SAMPLE, "--data", data, "--seed", "2", "--json").json["sample"] != found["sample"]


def test_a_sheet_becomes_records_and_records_a_table(data: Path) -> None:
    refused = call("audit", "report", "--data", data)
    assert (refused.status, refused.out) == (2, b"")
    assert "nothing has been reviewed" in refused.err

    def change(number: int, row: dict[str, str]) -> None:
        row["is_supported"] = ["yes", "no", "perhaps", ""][min(number, 3)]
        row["error_type"] = "ambiguous" if number == 1 else ""
        row["review_comment"] = "\x1b[31m|unclear|" if number == 1 else ""

    filled = fill(sheets(data)[".csv"], change)
    taken = call("audit", "import", filled, *SIGNED, "--data", data, "--json")
    assert taken.status == 1
    counts = {name: taken.json[name] for name in ("rows", "added", "already_there", "not_reviewed", "at_fault")}
    assert counts == {"rows": 20, "added": 2, "already_there": 0, "not_reviewed": 17, "at_fault": 1}
    line = taken.json["faults"][0]["line"]
    assert f"{filled}:{line}: wrong_verdict: is_supported is 'perhaps'" in taken.err
    again = call("audit", "import", filled, *SIGNED, "--data", data, "--json")
    assert (again.json["added"], again.json["already_there"]) == (0, 2)
    ended = call("audit", "report", "--data", data)
    assert ended.status == 0, ended.err
    assert "supported: 50.00 % of the reviewed steps" in ended.text
    found = json.loads((data / "work" / "reports" / "event_audit" / "event_audit.json").read_bytes())
    total = found["sections"]["reviewed_1"]["rows"][-1]
    assert {name: total[name] for name in ("sampled", "reviewed", "supported", "ambiguous", "incorrect")} == {
        "sampled": 20, "reviewed": 2, "supported": 1, "ambiguous": 1, "incorrect": 0,
    }  # fmt: skip
    shown = (data / "work" / "reports" / "event_audit" / "event_audit.md").read_text()
    assert "`\\x1b[31m\\x7cunclear\\x7c`" in shown


def test_a_filled_sheet_is_never_written_over(data: Path) -> None:
    sheet = sheets(data)[".csv"]
    sheet.write_bytes(sheet.read_bytes().replace(b'""', b'"yes"', 1))
    ended = call(*SAMPLE, "--data", data)
    assert ended.status == 2
    assert "may be filled in" in ended.err


def test_wrong_use_is_one_sentence(data: Path) -> None:
    few = call("audit", "sample-events", "--n", "2", "--data", data)
    assert (few.status, "each must be there" in few.err) == (2, True)
    missing = call("audit", "import", data / "nowhere.csv", "--data", data)
    assert (missing.status, "cannot read the sheet" in missing.err) == (2, True)
    when = call("audit", "import", data / "nowhere.csv", "--reviewed-at", "yesterday", "--data", data)
    assert (when.status, "write it as 2026-11-21" in when.err) == (2, True)
