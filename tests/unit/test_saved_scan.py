"""The saved scan: files that have not changed are not opened again, and only what has changed is written."""

import os
import shutil
from pathlib import Path

import pytest

from openclawbench.intake.file_scanner import FileScanner
from openclawbench.intake.raw_entry import RawEntry
from openclawbench.intake.saved_scan import CHANGES, FORMER, TABLE
from openclawbench.intake.scan import scan
from openclawbench.storage.data_folder import DataFolder

EXAMPLES = sorted((Path(__file__).parents[2] / "data/example/raw/scripted-a").glob("2026.4.15-*.jsonl"))
FILES = 40


class Scans:
    """A raw folder, and scans of it into one data folder."""

    def __init__(self, folder: Path) -> None:
        self.raw, self.data = folder / "raw", DataFolder(folder / "data")
        self.opened: list[str] = []
        for number in range(FILES):
            self.put(f"m/{number % 3}/{number}.jsonl", number)

    def put(self, name: str, number: int) -> None:
        (self.raw / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(EXAMPLES[number % len(EXAMPLES)], self.raw / name)

    def scan(self, save: bool = True) -> list[RawEntry]:
        """The entries, which are those of a first scan."""
        expected = list(scan(DataFolder(self.data.root.with_name("empty")), self.raw, save=False))
        self.opened.clear()
        entries = list(scan(self.data, self.raw, save))
        assert entries == expected
        return entries

    @property
    def table(self) -> Path:
        return self.data.work / TABLE

    @property
    def changes(self) -> Path:
        return self.data.work / CHANGES


@pytest.fixture
def scans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scans:
    scans, open_file = Scans(tmp_path), FileScanner.open_file

    def noting(scanner: FileScanner, name: str) -> object:
        scans.opened.append(name)
        return open_file(scanner, name)

    monkeypatch.setattr(FileScanner, "open_file", noting)
    return scans


def test_what_has_changed_is_opened_and_written_beside_the_table(scans: Scans) -> None:
    assert len(scans.scan()) == FILES == len(scans.opened)
    table = scans.table.read_bytes()
    scans.scan()
    assert scans.opened == [] and not scans.changes.exists()
    scans.put("m/1/1.jsonl", 2)
    scans.put("m/9/new.jsonl", 3)
    (scans.raw / "m/2/2.jsonl").unlink()
    assert len(scans.scan()) == FILES
    assert scans.opened == ["m/1/1.jsonl", "m/9/new.jsonl"]
    changes = scans.changes.read_bytes()
    scans.scan()
    assert scans.opened == []
    assert (scans.table.read_bytes(), scans.changes.read_bytes()) == (table, changes)
    scans.put("m/2/2.jsonl", 2)
    scans.scan()
    assert scans.opened == ["m/2/2.jsonl"] and scans.changes.read_bytes() != changes
    scans.scan()
    assert scans.opened == []


def test_many_changes_make_a_new_table(scans: Scans) -> None:
    scans.scan()
    (scans.data.work / FORMER).write_text("{}")  # of an earlier version
    scans.put("m/1/1.jsonl", 2)
    scans.scan()
    assert scans.changes.exists()
    table = scans.table.read_bytes()
    for number in range(FILES, FILES + 6):
        scans.put(f"m/0/{number}.jsonl", number)
    scans.scan()
    assert len(scans.opened) == 6 and scans.table.read_bytes() != table
    assert [path.name for path in scans.data.work.iterdir()] == [TABLE]
    scans.scan()
    assert scans.opened == []


def test_a_scan_that_is_not_to_be_saved_writes_nothing(scans: Scans) -> None:
    scans.scan(save=False)
    assert not scans.data.work.exists()


def test_changes_of_another_table_are_not_read(scans: Scans) -> None:
    scans.scan()
    scans.put("m/1/1.jsonl", 2)
    scans.scan()
    changes = scans.changes.read_bytes()
    scans.table.unlink()
    scans.scan()
    assert len(scans.opened) == FILES
    scans.changes.write_bytes(changes)  # as if a kill had come before it was removed
    scans.put("m/1/1.jsonl", 3)
    scans.scan()
    assert scans.opened == ["m/1/1.jsonl"]


@pytest.mark.parametrize("cut", [0, 4, 100, -4, -200])
def test_a_damaged_table_is_made_again(scans: Scans, cut: int) -> None:
    scans.scan()
    scans.put("m/1/1.jsonl", 2)
    scans.scan()
    scans.table.write_bytes(scans.table.read_bytes()[:cut])
    scans.scan()
    assert len(scans.opened) == FILES
    scans.scan()
    assert scans.opened == []


def test_every_damaged_byte_of_a_table_is_survived(scans: Scans) -> None:
    scans.scan()
    table = scans.table.read_bytes()
    for place in range(0, len(table), max(1, len(table) // 60)):
        scans.table.write_bytes(table[:place] + bytes([table[place] ^ 0xFF]) + table[place + 1 :])
        assert len(scan(scans.data, scans.raw, save=False)) == FILES


def test_damaged_changes_cost_what_they_held(scans: Scans) -> None:
    scans.scan()
    scans.put("m/1/1.jsonl", 2)
    scans.scan()
    scans.changes.write_bytes(scans.changes.read_bytes()[:-8])
    scans.scan()
    assert scans.opened == ["m/1/1.jsonl"]


def test_a_name_that_is_not_utf8_is_scanned_each_time(scans: Scans) -> None:
    (scans.raw / "m" / os.fsdecode(b"\xff.jsonl")).write_bytes(EXAMPLES[0].read_bytes())
    scans.scan()
    scans.scan()
    assert len(scans.opened) == 1
    assert "not UTF-8" in next(entry.error for entry in scans.scan() if entry.error) or ""


def test_a_sidecar_that_comes_makes_its_sessions_be_read_again(scans: Scans) -> None:
    scans.scan()
    (scans.raw / "m/0/sessions.json").write_text("{}")
    scans.scan()
    assert {name.rpartition("/")[0] for name in scans.opened} == {"m/0"}
