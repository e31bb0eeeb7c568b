"""What is to survive a loss of power is on the disk before anything says that it is there."""

import os
from pathlib import Path

import polars as pl
import pytest

from openclawbench.records.release import SummaryCount
from openclawbench.release.files.staging_folder import StagingFolder
from openclawbench.storage.data_folder import DataFolder, write_atomic
from openclawbench.tables.schema import empty


@pytest.fixture
def happened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What was asked of the disk, in order: (synced or renamed, name; of what is synced, with its size)."""
    result: list[tuple[str, str]] = []
    rename = Path.replace

    def synced(handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        result.append(("synced", path.name if path.is_dir() else f"{path.name} {path.stat().st_size}"))

    def renamed(path: Path, target: Path) -> Path:
        result.append(("renamed", path.name))
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    return result


def test_a_file_is_on_the_disk_whole_before_it_gets_its_name_and_then_the_name(
    happened: list[tuple[str, str]], tmp_path: Path
) -> None:
    write_atomic(tmp_path / "folder" / "file", [b"one", b"two"])
    (first, temporary), second, third = happened
    name, size = temporary.split()
    assert (first, name.startswith(".tmp-"), size) == ("synced", True, "6")
    assert [second, third] == [("renamed", name), ("synced", "folder")]


def test_a_part_is_on_the_disk_whole_before_it_gets_its_name(happened: list[tuple[str, str]], tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    data.write_part(SummaryCount, 0, "key", empty(SummaryCount))
    (first, temporary), second = happened
    name, size = temporary.split()
    assert (first, second) == ("synced", ("renamed", name))
    assert int(size) == data.parts(SummaryCount, {0: "key"})[0].stat().st_size > 0
    assert pl.read_parquet(data.parts(SummaryCount, {0: "key"})[0]).height == 0


def test_every_file_of_a_release_is_on_the_disk_whole_before_the_release_is_there(
    happened: list[tuple[str, str]], tmp_path: Path
) -> None:
    staging = StagingFolder(DataFolder(tmp_path))
    staging.write("whole", b"12345")
    staging.append("folder/lines", b"123")
    staging.publish()
    assert sorted(happened[:2]) == [("synced", "lines 4"), ("synced", "whole 5")]
