"""The settings of the ingest benchmark: its folder is made, its one large session shrinks with a small scale."""

from pathlib import Path

import pytest

from benchmarks.cli import create_scratch
from benchmarks.ingest import big_bytes_at
from openclawbench.errors import UsageError


def test_the_folder_is_made(tmp_path: Path) -> None:
    assert create_scratch(None) is None
    assert create_scratch(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match=r"--scratch .*file"):
        create_scratch(tmp_path / "file")


@pytest.mark.parametrize(
    ("scale", "size"), [(1, 200_000_000), (0.1, 200_000_000), (0.01, 20_000_000), (0.0, 1_000_000)]
)
def test_the_large_session_follows_a_small_scale(scale: float, size: int) -> None:
    assert big_bytes_at(scale) == size
