"""Inputs are taken in alike in this process and in one of its own."""

import shutil
from pathlib import Path

import pytest

from openclawbench.errors import UnreadableInput
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace import inputs
from openclawbench.workspace.inputs import take_in_inputs
from openclawbench.workspace.settings import Settings, settings

EXAMPLES = sorted((Path(__file__).parents[2] / "data/example/raw/scripted-a").glob("2026.4.15-*.jsonl"))


@pytest.fixture
def chosen(tmp_path: Path) -> Settings:
    (tmp_path / "raw" / "m").mkdir(parents=True)
    for path in EXAMPLES[:6]:
        shutil.copy(path, tmp_path / "raw" / "m")
    return settings(DataFolder(tmp_path / "data"), raw=str(tmp_path / "raw"))


def test_a_process_of_its_own_gives_the_same_and_saves_the_scan(
    chosen: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = take_in_inputs(DataFolder(tmp_path / "here"), chosen, save=True)
    monkeypatch.setattr(inputs, "WORTH_A_PROCESS", len(EXAMPLES[:6]))
    monkeypatch.setattr(inputs, "take_in", None)  # of this process
    there = take_in_inputs(DataFolder(tmp_path / "there"), chosen, save=True)
    assert dict(there.entries) == dict(here.entries) and there.entries.rows() == 6
    assert (there.sizes, there.faults, there.shards) == (here.sizes, here.faults, here.shards)
    assert (tmp_path / "there/work/scan.parquet").exists()
    monkeypatch.setattr(inputs, "WORTH_A_PROCESS", 7)
    with pytest.raises(TypeError):  # it is not worth a process
        take_in_inputs(DataFolder(tmp_path / "there"), chosen, save=True)


def test_what_goes_wrong_there_is_said_here(chosen: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "has_many_files", lambda *_: True)
    shutil.rmtree(tmp_path / "raw")
    with pytest.raises(UnreadableInput, match="there is no such folder"):
        take_in_inputs(DataFolder(tmp_path / "data"), chosen, save=True)
