"""A folder for temporary files goes with the process, or with the next one after a kill."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from openclawbench.storage.temporary_folder import LOCK, temporary_folder

HOLDER = """
import sys, tempfile, time
from openclawbench.storage.temporary_folder import temporary_folder
tempfile.tempdir = sys.argv[1]
with temporary_folder("check") as folder:
    (folder / "rows").write_bytes(b"some")
    print(folder, flush=True)
    time.sleep(600)
"""


def test_the_folder_of_a_killed_process_is_removed_and_that_of_a_living_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "openclawbench-other-1").mkdir()
    (tmp_path / "openclawbench-other-1" / LOCK).touch()
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        held = Path(holder.stdout.readline().decode().rstrip("\n"))
        with temporary_folder("check") as folder:
            assert folder.is_dir() and (held / "rows").read_bytes() == b"some"
        assert not folder.exists()
        holder.send_signal(signal.SIGKILL)
    assert held.is_dir()
    with temporary_folder("check") as folder:
        assert not held.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["openclawbench-other-1"]


def test_a_link_to_another_folder_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / LOCK).touch()
    (tmp_path / "temporary" / "openclawbench-check-1").symlink_to(tmp_path / "kept")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    with temporary_folder("check"):
        pass
    assert (tmp_path / "kept" / LOCK).exists()
