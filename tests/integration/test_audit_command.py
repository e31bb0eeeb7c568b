"""`openclawbench audit`: from a sample to the table, with a spreadsheet in between."""

import csv
import io
import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from child import EXAMPLE, Ran, call, files, table

pytestmark = pytest.mark.slow

SAMPLE = ("audit", "sample-events", "--n", "20")
SIGNED = ("--reviewer", "ann", "--reviewed-at", "2026-11-21")
TOLD = "scripted-a/2026.6.11-error-escalation"
TELLING = ("  label ", "  tier ", "  severity ", "  spans ", "  why ", "  risk ", "oracle: ", "┃ step", "◀", "»")


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
    printed = call(*SAMPLE, "--data", data, "--json").json
    assert set(printed["drawn"]) == {row["event_type"] for row in table(data, "aligned_descriptor")}
    assert (sum(printed["drawn"].values()), min(printed["drawn"].values())) == (20, 1)
    before = files(data / "review")
    text = " ".join(call(*SAMPLE, "--data", data).text.split())
    assert f"Add --data {data} to the commands of the column trace" in text
    assert files(data / "review") == before
    assert call(*SAMPLE, "--data", data, "--seed", "2", "--json").json["sample"] != printed["sample"]


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
    assert (taken.json["missing"], taken.json["reviewers_alike"]) == (0, [])
    line = taken.json["faults"][0]["line"]
    assert f"{filled}:{line}: wrong_verdict: is_supported is 'perhaps'" in taken.err
    again = call("audit", "import", filled, *SIGNED, "--data", data, "--json")
    assert (again.json["added"], again.json["already_there"]) == (0, 2)
    ended = call("audit", "report", "--data", data)
    assert ended.status == 0, ended.err
    assert "supported: 50.00 % of the reviewed steps" in ended.text
    document = json.loads((data / "work" / "reports" / "event_audit" / "event_audit.json").read_bytes())
    total = document["sections"]["reviewed_1"]["rows"][-1]
    assert {name: total[name] for name in ("sampled", "reviewed", "supported", "ambiguous", "incorrect")} == {
        "sampled": 20, "reviewed": 2, "supported": 1, "ambiguous": 1, "incorrect": 0,
    }  # fmt: skip
    shown = (data / "work" / "reports" / "event_audit" / "event_audit.md").read_text()
    assert "`\\x1b[31m\\x7cunclear\\x7c`" in shown


def test_nothing_taken_over_is_said_and_one_person_under_two_names(data: Path) -> None:
    sheet = sheets(data)[".csv"]
    nothing = call("audit", "import", fill(sheet, lambda _, row: row.update(is_supported="perhaps")), *SIGNED,
                   "--data", data)  # fmt: skip
    assert nothing.status == 1
    assert nothing.text.splitlines()[-1] == "no verdict was taken over; no label was changed"
    filled = fill(sheet, lambda number, row: row.update(is_supported="" if number else "yes"))
    call("audit", "import", filled, *SIGNED, "--data", data)
    again = call("audit", "import", filled, "--reviewer", "Ann", "--reviewed-at", "2026-11-21", "--data", data)
    assert (again.status, "'ann' and 'Ann' count as different reviewers" in again.err) == (0, True)
    report = call("audit", "report", "--data", data)
    assert "Do reviewers of sample" not in " ".join(report.text.split())  # nobody agrees with himself
    people = call("audit", "report", "events", "--data", data, "--json").json["sections"]["people_1"]
    assert (people["facts"], people["rows"]) == ({"reviewers": 2, "names_alike": 1}, [])


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


@pytest.fixture
def audited(example: Ran, tmp_path: Path) -> Path:
    """A copy of a data folder whose release has a calibration pool."""
    shutil.copytree(example.data, tmp_path / "data")
    return tmp_path / "data"


def draw(data: Path, *more: str) -> dict[str, Path]:
    """Draw a calibration sample; its files by their endings."""
    ended = call("audit", "sample-calibration", "--data", data, "--json", *more)
    assert ended.status == 0, ended.err
    return {Path(path).suffix: Path(path) for path in ended.json["sheets"]}


def test_people_label_the_pool_and_no_label_of_a_release_changes(audited: Path) -> None:
    before = files(audited / "release")
    sheet = draw(audited)[".csv"]
    assert "error_ignored_escalation" not in sheet.read_text("utf-8-sig")

    def ann(number: int, row: dict[str, str]) -> None:
        row["human_anomaly_label"] = "normal" if number else "laziness"

    def bob(number: int, row: dict[str, str]) -> None:
        row["human_anomaly_label"] = "anomalous"
        row["human_onset"] = "1"

    first = call("audit", "import", fill(sheet, ann), *SIGNED, "--data", audited, "--json")
    assert (first.status, first.json["kind"], first.json["at_fault"]) == (1, "calibration", 1)
    assert "wrong_verdict: human_anomaly_label is 'laziness'; write anomalous, normal or unresolved" in first.err
    signed = ("--reviewer", "bob", "--reviewed-at", "2026-11-22")
    second = call("audit", "import", fill(sheet, bob), *signed, "--data", audited)
    assert (second.status, second.text.splitlines()[-1].startswith("verdicts stand in ")) == (0, True)
    ended = call("audit", "report", "--data", audited)
    assert ended.status == 0, ended.err
    assert "silver-human binary agreement" in ended.text
    assert "made by the rules judge" in ended.text
    folder = audited / "work" / "reports" / "calibration_audit"
    document = json.loads((folder / "calibration_audit.json").read_bytes())
    named = [row["trajectory_id"] for row in document["sections"]["calibration_disagreements_1"]["rows"]]
    assert named
    assert all(trajectory in ended.text.replace("\n", "") for trajectory in named)
    people = document["sections"]["calibration_reviewers_1"]["facts"]
    assert people["reviewers"] == 2
    assert people["to_be_adjudicated"] == people["reviewed_by_several"] > 0
    assert {path.suffix for path in folder.iterdir()} == {".md", ".json", ".png", ".svg"}
    assert files(audited / "release") == before
    assert call("validate", audited / "release").status == 0
    assert call("run", "--data", audited, "--judge", "rules").status == 0
    after = files(audited / "release")  # the verdicts stand beside the labels now
    assert after.keys() - before.keys() == {"human_audited.jsonl", "human_audited.parquet"}
    about = {"README.md", "croissant.json", "datapackage.json", "CHECKSUMS.sha256", "STATISTICS.md", "statistics.json"}
    assert {name for name in before if after[name] != before[name]} == about
    assert call("validate", audited / "release").status == 0


def test_a_calibration_sample_is_the_same_for_a_seed_and_from_any_copy(audited: Path, tmp_path: Path) -> None:
    sheets = draw(audited, "--n", "3")
    copy = tmp_path / "a copy"
    shutil.copytree(audited / "release", copy)
    again = draw(tmp_path / "other", "--release", str(copy), "--n", "3")
    assert [path.name for path in again.values()] == [path.name for path in sheets.values()]
    other, own = ([row | {"show": None} for row in rows_of(part[".jsonl"])] for part in (again, sheets))
    assert other == own
    shown = draw(audited, "--show-silver")[".jsonl"]
    labels = [row["silver_anomaly_label"] for row in rows_of(shown)]
    assert all("--no-label" not in row["show"] for row in rows_of(shown))
    assert labels
    assert set(labels) <= {True, False}
    assert "calibration sample" in sheets[".md"].read_text()


def rows_of(sheet: Path) -> list[dict[str, Any]]:
    """The rows of a JSONL sheet."""
    return [json.loads(line) for line in sheet.read_bytes().splitlines()]


def test_the_command_of_a_blind_sheet_prints_the_steps_and_no_label(example: Ran, tmp_path: Path) -> None:
    data = tmp_path / "it's data"
    shutil.copytree(example.data, data)
    first = call("show", TOLD, "--data", data)
    for word in TELLING:
        assert word in first.text, word
    for folder, release in ((data, ()), (tmp_path / "other", ("--release", str(data / "release")))):
        shows = [shlex.split(row["show"]) for row in rows_of(draw(folder, *release)[".jsonl"])]
        assert all(words[:3] == ["openclawbench", "show", "--no-label"] for words in shows)
        assert {words[-1] for words in shows} == {str(data.resolve())}
        ended = call(*shows[0][1:])
        assert ended.status == 0, ended.err
        assert "step 1" in ended.text
    hidden = call("show", "--no-label", TOLD, "--data", data)
    assert "step 1" in hidden.text
    for word in TELLING:
        assert word not in hidden.text, word


def test_a_slice_that_the_pool_lacks_is_warned_of_and_a_replaced_verdict_counted(audited: Path) -> None:
    ended = call("audit", "sample-calibration", "--data", audited, "--json")
    lacking = [name for name, number in ended.json["population"].items() if number and not ended.json["pool"][name]]
    assert ended.err.count("the calibration pool has no record of") == len(lacking)
    assert all(f"no record of {name}, the release" in ended.err for name in lacking)
    text = call("audit", "sample-calibration", "--data", audited).text
    assert "openclawbench audit import FILE" in " ".join(text.split())
    sheet = draw(audited)[".csv"]
    for word, replaced in (("normal", 0), ("anomalous", 1)):
        filled = fill(sheet, lambda number, row, word=word: row.update(human_anomaly_label="" if number else word))
        taken = call("audit", "import", filled, *SIGNED, "--data", audited)
        assert f"added: 1, replaced: {replaced}" in taken.text
    report = call("audit", "report", "--data", audited)
    assert "which leaves out" in " ".join(report.text.split())
    assert "2 pictures (PNG and SVG)" in " ".join(report.text.split())


def test_both_audits_stand_beside_each_other(audited: Path) -> None:
    call("audit", "import", fill(draw(audited)[".csv"], lambda _, row: row.update(human_anomaly_label="no")), *SIGNED,
         "--data", audited)  # fmt: skip
    call("audit", "import", fill(sheets(audited)[".csv"], lambda _, row: row.update(is_supported="yes")), *SIGNED,
         "--data", audited)  # fmt: skip
    both = call("audit", "report", "--data", audited)
    assert (both.status, "event_audit report" in both.text, "calibration_audit report" in both.text) == (0, True, True)
    refused = call("audit", "report", "--data", audited, "--json")
    assert (refused.status, "Two audits have reviews" in refused.err) == (2, True)
    assert call("audit", "report", "calibration", "--data", audited, "--json").json["report"] == "calibration_audit"


def test_wrong_use_of_the_calibration_is_one_sentence(tmp_path: Path) -> None:
    nothing = call("audit", "sample-calibration", "--data", tmp_path)
    assert (nothing.status, "so it is not a release" in nothing.err) == (2, True)
    (tmp_path / "raw" / "m").mkdir(parents=True)
    shutil.copy(EXAMPLE / "raw" / "scripted-a" / "2026.4.15-unicode.jsonl", tmp_path / "raw" / "m")
    assert call("run", "--raw", tmp_path / "raw", "--data", tmp_path / "no_outcome").status == 0
    empty = call("audit", "sample-calibration", "--release", tmp_path / "no_outcome" / "release", "--data", tmp_path)
    assert (empty.status, "no trajectory has the outcome pass" in empty.err) == (2, True)
