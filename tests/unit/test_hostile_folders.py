"""Folders that cannot be entered, have no end or change while they are read; a disk without room."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import polars as pl
import pytest
from normalizing import Row, normalized_folder
from privileges import one_who_may_not_read_everything

from openclawbench.construct.normalize.normalize import normalize
from openclawbench.intake.intake import Intake, take_in
from openclawbench.intake.raw_folder import LINKS, NO_FOLDER, files_below, why_unreadable
from openclawbench.records.session import RunManifestRow, SourceFile
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.storage.data_folder import DataFolder
from openclawbench.storage.parquet_io import write_parquet


def session(name: str) -> str:
    header = {"type": "session", "version": 3, "id": name, "timestamp": "2026-01-01T00:00:00.000Z"}
    return (
        json.dumps(header)
        + "\n"
        + '{"type":"message","id":"b","parentId":null,"message":{"role":"user","content":"do"}}\n'
    )


@pytest.fixture
def nobodys() -> Iterator[Path]:
    """A folder that anybody may enter, who may do no more with it than it says."""
    folder = Path(tempfile.mkdtemp(prefix="openclawbench-test-"))
    folder.chmod(0o777)
    yield folder
    for path in folder.rglob("*"):
        path.chmod(0o700)
    shutil.rmtree(folder)


def files_of(intake: Intake) -> list[Row]:
    """What becomes of every file."""
    result = []
    for shard in sorted(intake.entries):
        tables = normalize(intake.read(SourceFile, shard), intake.read(RunManifestRow, shard), NormalizeRules.load())
        result += tables[-1].collect().to_dicts()
    return result


def test_what_may_not_be_looked_at_is_told(nobodys: Path) -> None:
    raw = nobodys / "raw"
    for name in ("m/open.jsonl", "m/shut.jsonl", "m/unlisted/x.jsonl", "m/barred/x.jsonl", "m/barred/run_1.json"):
        (raw / name).parent.mkdir(parents=True, exist_ok=True)
        (raw / name).write_text(session(name))
    (raw / "m" / "barred" / "below").mkdir()
    for name, mode in (("shut.jsonl", 0), ("unlisted", 0), ("barred", 0o644)):
        (raw / "m" / name).chmod(mode)
    with one_who_may_not_read_everything():
        intake = take_in(DataFolder(nobodys / "data"), raw, None, save=False)
    rows = files_of(intake)
    by_path = {row["path"]: (row["reason"], row["message"]) for row in rows if row["reason"]}
    assert {reason for reason, _ in by_path.values()} == {"unreadable_file"}
    assert {path: message.removeprefix(f"{path}: ") for path, (_, message) in by_path.items()} == {
        "m/shut.jsonl": "Permission denied. Make it readable and run again.",
        "m/unlisted": NO_FOLDER,
        "m/barred/x.jsonl": "its folder may not be entered. Make it accessible and run again.",
        "m/barred/run_1.json": "its folder may not be entered. Make it accessible and run again.",
        "m/barred/below": "its folder may not be entered. Make it accessible and run again.",
    }
    assert [row["path"] for row in rows if not row["reason"]] == ["m/open.jsonl"]


def test_folders_in_folders_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    depth, here = 1200, tmp_path / "raw" / "m"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)  # such a path is gone step by step
    for _ in range(depth):
        Path("d").mkdir()
        os.chdir("d")
    Path("x.jsonl").write_text(session("deep"))
    try:
        _, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    finally:
        Path("x.jsonl").unlink()
        for _ in range(depth):
            os.chdir("..")
            Path("d").rmdir()
    assert [row["session_id"] for row in result.trajectories] == ["deep"]
    assert result.files[0]["path"].count("/") == depth + 1


def test_links_that_lead_to_ever_more_folders(tmp_path: Path) -> None:
    levels = 20  # two ways from each to the next: a million to the last
    for level in range(levels):
        (tmp_path / f"d{level}").mkdir()
        if level:
            for name in "ab":
                (tmp_path / f"d{level - 1}" / name).symlink_to(tmp_path / f"d{level}")
    (tmp_path / f"d{levels - 1}" / "x.jsonl").write_text(session("x"))
    result = list(files_below(str(tmp_path)))
    names = [name for name, stamp in result if stamp is not None]
    assert 1 <= len(names) <= LINKS + 1
    assert f"d{levels - 1}/x.jsonl" in names
    assert len(result) < 4 * LINKS * levels


@pytest.mark.parametrize("target", ["/proc/self", "/", "/proc", "/sys", "/dev"])
def test_a_link_to_the_systems_own_files_is_told_and_not_followed(target: str, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    (raw / "m").mkdir(parents=True)
    (raw / "m" / "x.jsonl").write_text(session("x"))
    (raw / "m" / "link").symlink_to(target)
    (raw / "m" / "own").symlink_to(raw)
    names = dict(islice(files_below(str(raw)), 50))
    assert names.keys() == {"m/x.jsonl", "m/link", "m/own"}
    assert names["m/x.jsonl"] is not None
    assert names["m/link"] is names["m/own"] is None
    assert "/proc" in why_unreadable(raw / "m" / "link")


@pytest.mark.parametrize("content", [session("x") + session("x"), session("x")[:-9], "", session("y"), None])
def test_a_file_that_changes_after_it_was_looked_at(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "raw" / "m" / "x.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(session("x"))
    intake = take_in(DataFolder(tmp_path / "data"), tmp_path / "raw", None, save=False)
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    (row,) = files_of(intake)
    assert (row["disposition"], row["reason"]) == ("quarantined", "unreadable_file")
    assert row["message"].endswith("run again.") and row["message"].count("run again") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("rows", [1, 300_000])
def test_a_full_disk_is_called_so(rows: int) -> None:
    frame = pl.DataFrame({"a": range(rows)})
    with (
        pytest.raises(OSError, match=r"^work/step/x\.parquet: cannot be written: "),
        Path("/dev/full").open("wb", buffering=0) as file,
    ):
        write_parquet(frame, Path("work/step/x.parquet"), file)
        file.flush()
