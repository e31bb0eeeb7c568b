"""Golden cases: raw sessions in, expected released records and the fate of every file out (see README.md here).

Each folder of cases/ runs through the real flow, from raw files to the release. `OPENCLAWBENCH_UPDATE_GOLDEN=1 pytest
tests/golden` writes the expectations anew; read the difference before keeping it.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from openclawbench.records.oracle import Coverage
from openclawbench.records.session import FileOutcome
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.progress import Progress
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import update

CASES = Path(__file__).parent / "cases"
UPDATE = os.environ.get("OPENCLAWBENCH_UPDATE_GOLDEN") == "1"
SHARDS = 1  # a case is small; that the number of shards changes nothing has its own test
FAST = {  # the cases of `make test`; the others are slow for their number, not one by one (`make test-slow`)
    "background-command",
    "broken-json",
    "calls-and-results",
    "killed-and-resumed",
    "oracle-rows",
    "spoofed-tool-text",
    "strange-text",
}
WRITE = 'Write it: OPENCLAWBENCH_UPDATE_GOLDEN=1 python -m pytest tests/golden/test_golden.py -m "" -k NAME'
HINT = "If the new value is right: OPENCLAWBENCH_UPDATE_GOLDEN=1 pytest tests/golden, and read the difference."

# Left out of the comparison, because they change with every edit of a rule file without the record saying more:
# the digest of all rule files, and the digest of the packet (its contents are compared field by field).
LEFT_OUT = (("provenance", "rules_version"), ("provenance", "packet_sha256"))

# What files.json says of a file; the sha256 and the sentence for people are left out.
FILE_FIELDS = (
    "source_model",
    "path",
    "disposition",
    "trajectory_id",
    "reason",
    "line",
    "warnings",
    "first_warning_line",
    "records_in",
    "record_counts",
)
TIER_FILES = (
    *("accepted_main_all.jsonl", "accepted_repaired_all.jsonl", "accepted_baseline_all.jsonl"),
    "review_or_unresolved_all.jsonl",
)


@dataclass
class Outcome:
    """What the flow made of a case."""

    records: dict[str, Any]  # trajectory id -> released record
    files: dict[str, Any]  # content of files.json
    tiers: Counter[str]  # trajectory id -> in how many tier files it stands
    messages: list[str]  # the sentence of each file that gave no trajectory of its own


def cases() -> list[Path]:
    return sorted(path for path in CASES.iterdir() if path.is_dir())


def run(case: Path, folder: Path, shards: int = SHARDS) -> Outcome:
    """Raw files of a case to a release in `folder`."""
    data = DataFolder(folder)
    data.save_layout({"shards": shards})
    oracle = case / "oracle"
    chosen = settings(data, raw=str(case / "raw"), oracle=str(oracle) if oracle.is_dir() else None, judge="rules")
    done = update(data, chosen, "release", Progress())
    assert done.tables is not None
    records: dict[str, Any] = {}
    tiers: Counter[str] = Counter()
    for model in sorted((data.release / "fulltax_prod_v1").glob("*/")):
        for record in read_jsonl(model / "master_table_all.jsonl"):
            name = record["trajectory_id"]
            assert name not in records, f"{name}: two source models have it; give the files of the case other names"
            records[name] = without(record)
        for file in TIER_FILES:
            tiers.update(record["trajectory_id"] for record in read_jsonl(model / file))
    rows = done.tables[FileOutcome].collect().sort("path").to_dicts()
    files = {
        "files": [{name: row[name] for name in FILE_FIELDS} for row in rows],
        "input_faults": [{**fault, "file": relative(fault["file"], case)} for fault in messageless(done.faults)],
        "oracle_coverage": done.tables[Coverage].sort("source_model", "subset", nulls_last=True).collect().to_dicts(),
    }
    return Outcome(records, files, tiers, [row["message"] for row in rows if row["disposition"] != "trajectory"])


def read_jsonl(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def messageless(faults: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for fault in faults:
        assert fault["message"].strip()
        yield {name: value for name, value in fault.items() if name != "message"}


def relative(file: str, case: Path) -> str:
    return Path(file).relative_to(case).as_posix()


def without(record: dict[str, Any]) -> dict[str, Any]:
    """The record without LEFT_OUT."""
    for *parents, last in LEFT_OUT:
        place = record
        for parent in parents:
            place = place[parent]
        assert place.pop(last), f"{parents}.{last} is empty"
    return record


def first_difference(expected: Any, actual: Any, path: str = "") -> str | None:
    """Path and values of the first field that differs, in the order of the expectation; None where nothing does."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in [*expected, *(name for name in actual if name not in expected)]:
            here = f"{path}.{name}" if path else name
            if name not in actual:
                return f"{here}: expected {shown(expected[name])}, but there is no such field"
            if name not in expected:
                return f"{here}: {shown(actual[name])}, but the expectation has no such field"
            if text := first_difference(expected[name], actual[name], here):
                return text
        return None
    if isinstance(expected, list) and isinstance(actual, list):
        for index, (entry, other) in enumerate(zip(expected, actual, strict=False)):
            if text := first_difference(entry, other, f"{path}[{index}]"):
                return text
        if len(expected) != len(actual):
            return f"{path}: expected {len(expected)} members, got {len(actual)}: {shown(actual[len(expected) :])}"
        return None
    if type(expected) is type(actual) and expected == actual:
        return None
    return f"{path}: expected {shown(expected)}, got {shown(actual)}"


def shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:300]} … ({len(text)} characters)"


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def update_expected(case: Path, outcome: Outcome) -> None:
    """Write expected/ anew."""
    folder = case / "expected"
    for path in folder.glob("*.json"):
        path.unlink()
    for name, record in outcome.records.items():
        write(folder / f"{name}.json", record)
    write(folder / "files.json", outcome.files)


def marked(case: Path) -> object:
    """A case as a test parameter."""
    return pytest.param(case, id=case.name, marks=[] if case.name in FAST else [pytest.mark.slow])


@pytest.mark.parametrize("case", [marked(case) for case in cases()])
def test_golden(case: Path, tmp_path: Path) -> None:
    outcome = run(case, tmp_path / "data")
    if UPDATE:
        update_expected(case, outcome)
    assert (case / "expected" / "files.json").is_file(), f"{case.name}: there is no expected/files.json. {WRITE}"
    expected = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (case / "expected").glob("*.json")}
    files = expected.pop("files")
    assert sorted(outcome.records) == sorted(expected), f"{case.name}: other trajectories than expected. {HINT}"
    for name, record in sorted(expected.items()):
        if difference := first_difference(record, outcome.records[name]):
            pytest.fail(f"{case.name}/expected/{name}.json: {difference}\n{HINT}", pytrace=False)
    if difference := first_difference(files, outcome.files):
        pytest.fail(f"{case.name}/expected/files.json: {difference}\n{HINT}", pytrace=False)
    check_accounting(outcome)


def test_outcomes_alone_in_a_shard_are_no_records(tmp_path: Path) -> None:
    """An outcome lies in the shard of its task's name, which may hold no session."""
    as_one, divided = (run(CASES / "oracle-rows", tmp_path / str(shards), shards) for shards in (SHARDS, 16))
    assert as_one.records == divided.records


def check_accounting(outcome: Outcome) -> None:
    """What holds for every case, whatever is expected: each trajectory in one tier, each file and record counted."""
    assert outcome.tiers == Counter(dict.fromkeys(outcome.records, 1))
    kept = [row["trajectory_id"] for row in outcome.files["files"] if row["disposition"] == "trajectory"]
    assert sorted(kept) == sorted(outcome.records)
    for row in outcome.files["files"]:
        assert row["records_in"] == sum(record_count["count"] for record_count in row["record_counts"]), row["path"]
        assert row["disposition"] in ("trajectory", "copy", "sidecar", "quarantined")
        assert (row["disposition"] == "trajectory") == (row["reason"] is None)
    assert all(outcome.messages)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_case_is_whole(case: Path) -> None:
    """A case says what it shows, has input, and its files are written as the update writes them."""
    assert (case / "case.md").is_file(), f"{case.name}: write case.md: a title, what the case shows, what to check."
    assert (case / "expected").is_dir(), f"{case.name}: there is no expected/. {WRITE}"
    title, _, text = (case / "case.md").read_text(encoding="utf-8").partition("\n")
    assert title.startswith("# ")
    assert text.strip(), "say what to check against the raw lines"
    assert [path for path in (case / "raw").rglob("*") if path.is_file()]
    for path in (case / "expected").iterdir():
        text = path.read_text(encoding="utf-8")
        assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n", f"{path.name}: other layout"


def named_by_the_rules() -> list[str]:
    """What the table of rules in README.md names."""
    table = (CASES.parent / "README.md").read_text(encoding="utf-8").split("| rule | shown by |")[1]
    rows = [line.rstrip(" |") for line in table.splitlines() if line.startswith("| ") and "`" in line]
    cells = [row.rsplit(" | ", 1)[1] for row in rows]
    return [name for cell in cells for name in re.findall("`([^`]+)`", cell)]


@pytest.mark.parametrize("name", sorted(set(named_by_the_rules())))
def test_what_shows_a_rule_is_there(name: str) -> None:
    path, _, function = name.partition("::")
    there = CASES / path if (CASES / path).is_dir() else CASES.parents[1] / path
    assert there.exists(), f"{name}: the table in README.md names what is not there"
    if function:
        assert f"\ndef {function}(" in there.read_text(encoding="utf-8"), f"{name}: no such test"


def test_a_difference_is_found_wherever_it_is() -> None:
    record = {"a": [{"b": 1, "c": None}], "d": True}
    assert first_difference(record, {"a": [{"b": 1, "c": None}], "d": True}) is None
    assert first_difference(record, {"a": [{"b": 2, "c": None}], "d": True}) == "a[0].b: expected 1, got 2"
    assert first_difference(record, {"a": [], "d": True}) == "a: expected 1 members, got 0: []"
    assert first_difference(record, {"a": [{"b": 1, "c": None}], "d": 1}) == "d: expected true, got 1"
    assert first_difference({"a": 1}, {"a": 1, "b": 2}) == "b: 2, but the expectation has no such field"
    assert first_difference({"a": 1}, {}) == "a: expected 1, but there is no such field"
    assert first_difference({"a": 0}, {"a": False}) == "a: expected 0, got false"
