"""The same inputs give the same release, byte for byte, whatever else is different about the machine and the call."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from child import EXAMPLE, ROOT, environment, few_shards, files
from conftest import Ran

pytestmark = pytest.mark.slow

# A machine that is different in everything that a program might read of it without meaning to.
ELSEWHERE = {
    "TZ": "Asia/Kathmandu",
    "LC_ALL": "C",
    "LANG": "tr_TR.UTF-8",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
    "PYTHONHASHSEED": "4242",
    "COLUMNS": "40",
    "POLARS_MAX_THREADS": "1",
    "USER": "somebody-else",
}


def moved(raw: Path, to: Path) -> Path:
    """The same sessions, written in another order at other times."""
    for number, path in enumerate(sorted(raw.rglob("*"), reverse=True)):
        if path.is_file():
            target = to / path.relative_to(raw)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            os.utime(target, (1_000_000_000 + 7919 * number,) * 2)
    return to


def test_another_machine_makes_the_same_bytes(small: Ran, tmp_path: Path) -> None:
    """Locale, time zone, hash seed, umask, working folder, shards, workers, order and times of files, a path with
    blanks: all at once, in a process of its own."""
    home = tmp_path / "a home with blanks"
    raw = moved(small.raw, home / "raw sessions")
    data = few_shards(home / "data", 5)
    where = ["--data", "data", "--raw", "raw sessions", "--oracle", os.path.relpath(EXAMPLE / "oracle", home)]
    command = [sys.executable, "-m", "openclawbench.cli.app", "run", *where, "--engine", "processes", "--workers", "2"]
    env = environment(ELSEWHERE) | {"HOME": str(home)}
    ended = subprocess.run(command, cwd=home, env=env, umask=0o077, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "/" not in str(raw.relative_to(home))
    here, there = files(small.data / "release"), files(data / "release")
    assert here.keys() == there.keys()
    assert [name for name in here if here[name] != there[name]] == []
    assert str(ROOT).encode() not in b"".join(there.values())
