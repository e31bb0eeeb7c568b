"""A full disk, a damaged database, settings and modules of the current folder: one sentence, the right exit status,
the same bytes."""

import contextlib
import gc
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from openclawbench.cli.exit import run_program
from openclawbench.errors import UsageError
from openclawbench.reports.plots import bars, new_figure, pictures
from openclawbench.storage.spilled_values import PickleFile
from openclawbench.storage.temporary_folder import filled_whole


def raising(error: BaseException) -> Callable[[], None]:
    def program() -> None:
        raise error

    return program


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device", "work/step/0001.parquet"),
        sqlite3.OperationalError("database or disk is full"),
        sqlite3.DatabaseError("database disk image is malformed"),
        sqlite3.DatabaseError("file is not a database"),
        pl.exceptions.ComputeError("No space left on device (os error 28)"),
        pl.exceptions.ComputeError("Disk quota exceeded (os error 122)"),
    ],
    ids=lambda error: f"{type(error).__name__} {error}",
)
def test_a_full_disk_and_a_damaged_database_are_one_sentence(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run_program(raising(error))
    printed = capsys.readouterr().err
    assert ended.value.code == 2
    assert printed.count("\n") == 1
    assert printed.startswith("error: ")
    assert "Make room or give access, and run again." in printed


def test_a_defect_of_polars_stays_one() -> None:
    with pytest.raises(pl.exceptions.ComputeError):
        run_program(raising(pl.exceptions.ComputeError("column not there")))


def test_a_folder_is_filled_whole_or_not_at_all(tmp_path: Path) -> None:
    new, empty = tmp_path / "new", tmp_path / "empty"
    empty.mkdir()
    for folder in (new, empty):
        with pytest.raises(UsageError), filled_whole(folder) as inner:
            (inner / "half").write_text("x")
            raise UsageError("disk full")
    assert not new.exists()
    assert [*empty.iterdir()] == []
    for folder in (new, empty):
        with filled_whole(folder) as inner:
            (inner / "model").mkdir()
            (inner / "model" / "a").write_text("x")
        assert [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*"))] == ["model", "model/a"]


DRAW = """
import hashlib
from openclawbench.reports.plots import bars, new_figure, pictures
def draw():
    figure, (axes,) = new_figure(4, 2)
    bars(axes, ["a", "b"], [1, 2], ["1", "2"], "title")
    return figure
print({kind: hashlib.sha256(content).hexdigest() for kind, content in pictures(draw, ["png", "svg"]).items()})
"""
OF_THE_USER = "figure.facecolor: red\nlines.linewidth: 9\nsavefig.dpi: 33\naxes.grid: True\nsvg.fonttype: none\n"


def test_pictures_do_not_depend_on_the_users_settings(tmp_path: Path) -> None:
    """A matplotlibrc in the current folder, and one that the environment names."""
    here, named = tmp_path / "here", tmp_path / "named"
    for folder in (here, named):
        folder.mkdir()
        (folder / "matplotlibrc").write_text(OF_THE_USER)
    plain = {name: value for name, value in os.environ.items() if name != "MATPLOTLIBRC"}

    def drawn(folder: Path, **environment: str) -> str:
        call = [sys.executable, "-c", DRAW]
        ended = subprocess.run(call, cwd=folder, env=plain | environment, capture_output=True, text=True, check=True)
        return ended.stdout

    assert drawn(tmp_path) == drawn(here) == drawn(tmp_path, MATPLOTLIBRC=str(named / "matplotlibrc"))


def test_pictures_leave_the_settings_of_others_as_they_are() -> None:
    import matplotlib

    matplotlib.rcParams["lines.linewidth"] = 7.0

    def draw() -> Any:
        figure, (axes,) = new_figure(2, 1)
        bars(axes, ["a"], [1], ["1"], "t")
        return figure

    pictures(draw, ["png"])
    assert matplotlib.rcParams["lines.linewidth"] == 7.0


@pytest.mark.parametrize("module", ["typing", "signal", "typer", "polars", "json", "rich"])
def test_no_module_of_the_current_folder_is_imported(module: str, tmp_path: Path) -> None:
    (tmp_path / f"{module}.py").write_text("raise SystemExit('imported from the current folder')\n")
    call = [sys.executable, "-m", "openclawbench", "--version"]
    ended = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("openclawbench ")


def test_a_temporary_file_that_found_no_room_ends_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    ignored: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    values = PickleFile(Path("/dev/full").open("wb"))  # noqa: SIM115 -- closed with its last user
    with contextlib.suppress(OSError):
        values.write("a value for which there is no room")
    del values
    gc.collect()
    assert ignored == []
