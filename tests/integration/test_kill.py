"""kill -9 at ten moments of a run, then a rerun: the release has the bytes of an undisturbed one, nothing is left over.

The moments are points in the run's own progress (parts written, publishing), not seconds: they are the same ones on a
slow machine.
"""

import hashlib
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from child import EXAMPLE, Ran, call, few_shards, files, start, temporary
from thorough import first

pytestmark = pytest.mark.slow

SHARES = [0.0, 0.02, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9]  # of all parts, written when the child is killed
PUBLISHING = ["release is being built", "release has taken its place"]
QUICK = [0.45, PUBLISHING[1]]  # moments that every change is tried with
MOMENTS = [*QUICK, *(moment for moment in [*SHARES, *PUBLISHING] if moment not in QUICK)]
PATIENCE = 60.0  # seconds


def parts(data: Path) -> int:
    """Parts under work/: files in the folders of tables."""
    tables = [path.path for path in os.scandir(data / "work") if path.is_dir() and path.name != "manifests"]
    names = [part.name for table in tables for part in os.scandir(table)]
    return sum(name.endswith(".parquet") and not name.startswith(".tmp-") for name in names)


def reached(moment: float | str, data: Path, all_parts: int) -> bool:
    """True where a run is at this moment or past it."""
    if moment == PUBLISHING[0]:
        return (data / ".tmp-release").exists()
    if moment == PUBLISHING[1]:
        return (data / "release").exists()
    assert isinstance(moment, float)
    if moment == 0.0:
        return (data / "work" / ".lock").exists()
    return parts(data) >= max(1, round(moment * all_parts))


def arguments(data: Path, raw: Path) -> list[str | Path]:
    return ["run", "--data", data, "--raw", raw, "--oracle", EXAMPLE / "oracle"]


def killed(moment: float | str, data: Path, raw: Path, all_parts: int) -> bool:
    """Start a run and kill it at the moment; false where it had ended before."""
    child = start(*arguments(data, raw))
    limit = time.monotonic() + PATIENCE
    while not reached(moment, data, all_parts):
        assert not child.has_ended(), (moment, child.wait())
        assert time.monotonic() < limit, moment
        time.sleep(0.003)
    child.send(signal.SIGKILL)
    return child.wait().status == -signal.SIGKILL


def is_whole(release: Path) -> bool:
    """True where every file of a release has the checksum that stands in it."""
    sums = dict(reversed(line.split("  ", 1)) for line in (release / "CHECKSUMS.sha256").read_text().splitlines())
    digests = {path: hashlib.sha256(content).hexdigest() for path, content in files(release).items()}
    return {**sums, "CHECKSUMS.sha256": digests["CHECKSUMS.sha256"]} == digests


def kill_and_rerun(moment: float | str, folder: Path, ran: Ran) -> dict[str, object]:
    """What a killed and resumed run came to."""
    data = few_shards(folder / "data")
    was_killed = killed(moment, data, ran.raw, parts(ran.data))
    release = data / "release"
    complete = not release.exists() or is_whole(release)
    ended = call(*arguments(data, ran.raw))
    return {
        "killed": was_killed,
        "whole_or_absent": complete,
        "status": ended.status,
        "same_release": files(release) == files(ran.data / "release"),
        "parts": parts(data),
        "temporary": temporary(data),
    }


@pytest.mark.parametrize("moment", first(len(QUICK), MOMENTS))
def test_a_killed_run_goes_on_to_the_same_bytes(moment: float | str, small: Ran, tmp_path: Path) -> None:
    assert kill_and_rerun(moment, tmp_path, small) == {
        "killed": True,
        "whole_or_absent": True,
        "status": 0,
        "same_release": True,
        "parts": parts(small.data),
        "temporary": [],
    }


def inode(path: Path) -> int | None:
    """The folder's inode; null while there is none (between the two renames)."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def test_a_kill_while_a_new_release_takes_an_old_ones_place(small: Ran, tmp_path: Path) -> None:
    """Back to the former input afterwards: what was published last must not pass for it."""
    data, fewer = tmp_path / "data", tmp_path / "raw"
    shutil.copytree(small.data, data)
    shutil.copytree(small.raw, fewer)
    next(fewer.rglob("*tool-errors.jsonl")).unlink()
    former = inode(data / "release")
    child = start(*arguments(data, fewer))
    limit = time.monotonic() + PATIENCE
    while inode(data / "release") in (None, former):
        assert not child.has_ended() and time.monotonic() < limit
    child.send(signal.SIGKILL)
    assert child.wait().status == -signal.SIGKILL
    assert is_whole(data / "release")
    assert files(data / "release") != files(small.data / "release")
    assert call(*arguments(data, small.raw)).status == 0
    assert files(data / "release") == files(small.data / "release")
    assert temporary(data) == []


def test_what_a_kill_left_half_written_is_removed_even_when_nothing_is_stale(small: Ran, tmp_path: Path) -> None:
    """Wherever a temporary name is used; a kill in just that moment is too rare to wait for."""
    data = tmp_path / "data"
    shutil.copytree(small.data, data)
    for name in ("work/.tmp-1-scan.parquet", "work/manifests/.tmp-1-packet.json", "work/step/.tmp-1-0000-0.parquet"):
        (data / name).write_bytes(b"half")
    for name in (".tmp-release", ".tmp-former-release"):
        (data / name).mkdir()
        (data / name / "README.md").write_bytes(b"half")
    ended = call(*arguments(data, small.raw))
    assert "nothing was redone" in ended.text
    assert temporary(data) == []
    assert files(data / "release") == files(small.data / "release")
